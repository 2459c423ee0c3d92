/* SPDX-License-Identifier: Apache-2.0 */
/* What a shared object exports, read from the file: none of its code runs. */
#pragma once

#include <glib.h>

/* Names (char *) of the dynamic symbols that the file defines and others can see. NULL
 * and an error if it is not a 64-bit ELF shared object. */
GPtrArray *elf_file_exports(const char *path, GError **error);
