/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns a configuration of the SR-IOV network device plugin into a resource file of ours.
 */
#pragma once

#include <glib.h>

/* The resource file, indented, with those resources that mean the same here. 'findings'
 * gets what could not be carried over (errors: a resource was left out) and what will be
 * different (warnings). NULL if the text is no such configuration, or nothing is left. */
char *sriov_file_convert(const char *text, gsize length, GPtrArray *findings);
