/* SPDX-License-Identifier: Apache-2.0 */
/* Notices that one resource mixes adapters that cannot stand for each other. */
#pragma once

#include <glib.h>

/* What is mixed among the HCAs (Device *) and what to do, or NULL: of devices that can be
 * used, several vendors or several link types. */
char *mixture_remark(GPtrArray *devices);
