/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A backend on a fake machine: fixture, instance, log and the devices of the last scan.
 * What cannot be done ends the test with a message.
 */
#pragma once

#include <glib.h>

#include "model/device.h"

#define MACHINES SOURCE_DIR "/test/fixtures/machines/"

struct machine {
	struct rdmadp_host host; /* first: the log function finds the rest by it */
	const struct rdmadp_backend *backend;
	char *root; /* of the fixture: <root>/sys, <root>/dev */
	char *sysfs_root, *dev_root;
	void *instance;
	GMutex lock; /* of the log: health may write it from other threads */
	GString *log; /* "warning: text" a line */
	GPtrArray *devices; /* Device *, by id */
};

/* 'fixture' as for fixture_new. Does not scan yet. */
struct machine *machine_new(const struct rdmadp_backend *backend, const char *fixture);
/* One of the fixtures of machines, by its name, scanned once. */
struct machine *machine_scanned(const struct rdmadp_backend *backend, const char *name);
void machine_free(struct machine *machine);
void machine_scan(struct machine *machine);

/* NULL: the last scan did not find it. */
const struct rdmadp_device *machine_device(const struct machine *machine, const char *id);
/* "ok text", "unknown text", "link text": the answer of health about a device that the
 * last scan found. */
char *machine_health(struct machine *machine, const char *id);
/* 'expected' as machine_health has it. */
#define ASSERT_HEALTH(machine, id, expected)                                                       \
	do {                                                                                       \
		g_autofree char *health_ = machine_health(machine, id);                            \
		assert_string_equal(health_, expected);                                            \
	} while (0)
/* All devices as dump_device writes them. */
char *machine_dump(const struct machine *machine);
/* Empties the log. */
char *machine_take_log(struct machine *machine);
