/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads port states for a scan without ever making the scan wait for hardware: the
 * kernel may ask the firmware, and a hung adapter answers after a minute, in a sleep
 * that nothing interrupts. So a thread reads; what it has not read in time is unknown
 * in this scan. At most one such thread exists, and while it hangs no other starts.
 */
#pragma once

#include "common/arena.h"
#include "common/sysfs.h"

struct port_read {
	const char *path; /* "devices/.../ports/1/state" */
	uint32_t *state; /* enum rdmadp_port_state, set if the answer came in time */
};

struct port_probe_job;

struct port_probe {
	struct port_probe_job *job; /* the one that hangs, or NULL */
	/* For tests; NULL: sysfs_read. */
	int (*read)(const struct sysfs *sysfs, enum sysfs_wait wait, const char *path, char *text,
		    size_t size);
};

/* Fills the states of 'reads' (struct port_read *). */
int port_probe_run(struct port_probe *probe, struct sysfs *sysfs, const struct list *reads);
/* Waits for the thread, if there is still one. */
void port_probe_end(struct port_probe *probe);

/* "4: ACTIVE" -> RDMADP_PORT_ACTIVE; anything else is RDMADP_PORT_UNKNOWN. */
enum rdmadp_port_state port_state_parse(const char *text);
