/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "ens1f0#0-3,7": the functions 0 to 3 and 7 of a PF. Without '#': all of them.
 */
#pragma once

#include <glib.h>

/* Bytes of 'entry' before the '#', or all. */
gsize vf_range_name_length(const char *entry);

/* 'range' is what follows the name: "" or "#0-3,7". A function without a number
 * (index -1) is in "" only. What is no range contains nothing. */
gboolean vf_range_contains(const char *range, int index);

/* NULL, or what is wrong with the entry, as a phrase: "the range '3-1' is empty". */
char *vf_range_problem(const char *entry);
