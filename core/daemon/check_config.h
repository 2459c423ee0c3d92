/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command 'rdmadp check-config': says everything that is wrong with both files, and
 * what they mean on this node.
 */
#pragma once

#include "daemon/options.h"

/* Checks and prints to stdout; the exit status: 0 without errors, else 1. Without a file
 * as the command's word it is the one that the settings name. The node is looked at
 * where there are a backend directory and a sysfs, and unless the options forbid it. */
int check_config_run(const Options *options);

/* Prints the resource file that a configuration of the SR-IOV network device plugin
 * makes, and to stderr what could not be carried over; the exit status as above. */
int check_config_from_sriov(const char *path);
