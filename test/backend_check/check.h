/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checks of rdmadp-backend-check. Each runs in a child process of its own, so that
 * a backend that crashes or hangs fails that check and no other.
 */
#pragma once

#include <glib.h>

#include "model/device.h"

struct options {
	char *directory; /* of the backend's file, and its name there without .so */
	char *name;
	char *path;
	char *sysfs_root;
	char *dev_root;
	char *empty_root; /* an empty directory */
	char *expect; /* file, or NULL */
	guint limit_s; /* for one check */
};

/* --- what a check says (report.c) --- */

/* What is being done, for the message if the process dies of it. */
void report_step(const char *format, ...) G_GNUC_PRINTF(1, 2);
void report_ok(const char *format, ...) G_GNUC_PRINTF(1, 2);
void report_fail(const char *format, ...) G_GNUC_PRINTF(1, 2);
/* Neither: something that could not be checked, and why. */
void report_note(const char *format, ...) G_GNUC_PRINTF(1, 2);
/* report_ok if nothing has failed since 'failures' was taken. */
guint report_failures(void);
void report_ok_since(guint failures, const char *format, ...) G_GNUC_PRINTF(2, 3);

typedef void (*check_fn)(const struct options *options);

/* Runs one check in a child. FALSE if something failed. */
gboolean report_run(const char *name, check_fn check, const struct options *options);
/* Prints the sum; TRUE if nothing failed at all. */
gboolean report_end(void);

/* --- a backend under check (subject.c) --- */

typedef struct guard Guard;

struct subject {
	const struct rdmadp_backend *backend;
	void *instance;
	Guard *memory; /* the host's: read-only until fini has returned, then nothing */
	struct rdmadp_host *host;
	guint n_refused; /* devices of the last scan that the core does not take */
};

/* The vtable, or NULL: then the check of loading has said why. */
const struct rdmadp_backend *subject_load(const struct options *options, GError **error);
/* init; FALSE after having reported why not. */
gboolean subject_init(struct subject *subject, const struct options *options,
		      const char *sysfs_root);
void subject_fini(struct subject *subject);
/* One scan: copies (Device *), without those that break the contract. Each problem is
 * reported, unless 'quiet'. NULL if discover failed, which is always reported. */
GPtrArray *subject_scan(struct subject *subject, gboolean quiet);
/* The scan as text, to compare. */
char *subject_text(GPtrArray *devices);
/* What instances logged so far (char *). */
GPtrArray *subject_log(void);
/* The answer of discover with that emit. */
int subject_discover(struct subject *subject, rdmadp_emit_fn emit, void *sink);

/* --- memory that says what is done to it (guard.c) --- */

Guard *guard_new(void);
/* Copies into the guarded memory. */
const struct rdmadp_device *guard_device(Guard *guard, const struct rdmadp_device *from);
char *guard_text(Guard *guard, const char *text);
void *guard_take(Guard *guard, gsize size);
/* From now on writing to it, or touching it at all, ends the process. The addresses
 * are never used again. */
void guard_make_readable(Guard *guard);
void guard_make_void(Guard *guard);
/* Memory of that size which is followed by a page that cannot be touched. */
void *guard_new_edge(gsize size);

/* --- the checks --- */

void check_file(const struct options *options);
void check_load(const struct options *options);
void check_empty(const struct options *options);
void check_scan(const struct options *options);
void check_devices(const struct options *options);
void check_emit(const struct options *options);
void check_match(const struct options *options);
void check_health(const struct options *options);
void check_instances(const struct options *options);
void check_events(const struct options *options);
void check_fini(const struct options *options);
