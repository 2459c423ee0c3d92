/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts one device of the contract together. Calls may go on after a failure: the first
 * one is kept, and report_emit returns it.
 */
#pragma once

#include "common/adapter.h"

struct report {
	struct scan *scan;
	struct rdmadp_device device;
	struct list attributes;
	int error;
};

void report_begin(struct report *report, struct scan *scan, const char *id, const char *identity);
/* A value of NULL is left out. */
void report_attribute(struct report *report, const char *key, const char *value);
/* The attribute <dir>/<file> as it is written, left out where it cannot be read. */
void report_text(struct report *report, const char *dir, const char *file, const char *key);
/* The same for a hexadecimal id, in the contract's spelling. One that is there but cannot
 * be read is said once. */
void report_id(struct report *report, const char *dir, const char *file, const char *key);
void report_id_value(struct report *report, const char *file, const char *key,
		     const struct sysfs_value *value);
/* <dir>/numa_node; what is not a node is not known. */
void report_numa(struct report *report, const char *dir);
void report_numa_value(struct report *report, const struct sysfs_value *value);
void report_adapter(struct report *report, const struct adapter *adapter);
int report_emit(struct report *report, rdmadp_emit_fn emit, void *sink);
