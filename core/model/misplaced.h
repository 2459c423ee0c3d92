/* SPDX-License-Identifier: Apache-2.0 */
/* Names that stand in the wrong list of a selector: another one would know them. Pure. */
#pragma once

#include "model/selector_list.h"

/* "; 'ens1f0' is a value for pfNames", for each value that no device (Device *) knows by
 * the list's own key, and one does by another; NULL if there is none. */
char *misplaced_remark(GPtrArray *devices, const struct selector_list *list);
