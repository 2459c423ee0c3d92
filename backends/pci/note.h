/* SPDX-License-Identifier: Apache-2.0 */
/* Why a function cannot be used now, and what to do about it. */
#pragma once

#include "pci/function.h"

/* NULL: nothing is in the way. Also NULL when out of memory. */
const char *function_note(struct pci_scan *pci, const struct function *function);
