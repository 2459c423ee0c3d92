/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A backend in the test's own process, whose calls do what the test says: answer,
 * fail, or wait at a gate as if the hardware hung. One at a time.
 */
#pragma once

#include <glib.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "rdmadp/backend.h"

/* Where calls wait: a blocking read, so that a signal interrupts it. */
struct fake_gate {
	int fds[2];
	atomic_bool closed;
	atomic_int waiting;
};

struct fake_backend {
	struct rdmadp_backend vtable; /* a test may take entries away before it starts */
	/* devices of the next scan, an array that ends with NULL */
	_Atomic(const struct rdmadp_device *const *) devices;
	void (*on_init)(const struct rdmadp_host *host); /* called by init, if there is one */
	atomic_int init_result;
	atomic_int discover_result;
	atomic_int health_result;
	atomic_int ack_result; /* of event_ack */
	atomic_bool deaf; /* swallows what emit answers */
	atomic_bool stubborn; /* goes on after a signal */
	struct rdmadp_health answer; /* of health; set before it is called */
	struct fake_gate scan_gate;
	struct fake_gate health_gate; /* for devices whose id begins with "stuck" */
	int event_fd; /* an eventfd; event_ack empties it unless 'never_quiet' */
	atomic_bool never_quiet;
	/* what was called */
	atomic_int inits, started, finis, scans, reads, acks;
	atomic_int last_emit; /* the last answer of emit */
	char *sysfs_root, *dev_root; /* as init saw them */
};

extern struct fake_backend fake;

void fake_backend_reset(void);
void fake_backend_clear(void);

void fake_gate_close(struct fake_gate *gate);
/* Lets so many calls pass; the gate stays closed for others. */
void fake_gate_pass(struct fake_gate *gate, guint calls);
/* Lets all calls pass. */
void fake_gate_open(struct fake_gate *gate);

void fake_backend_event(void);
