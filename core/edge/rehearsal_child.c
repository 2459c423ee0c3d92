/* SPDX-License-Identifier: Apache-2.0 */
/* The child's side of a rehearsal. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "edge/backend.h"
#include "edge/module.h"
#include "edge/rehearsal.h"
#include "edge/thread.h"

static gboolean is_performing;

struct performance {
	const struct rehearsal_plan *plan;
	int status;
};

static int perform(const struct rehearsal_plan *plan)
{
	const struct rdmadp_backend *vtable;
	g_autoptr(GPtrArray) devices = NULL;
	g_autoptr(GError) error = NULL;

	vtable = module_load(plan->backend_dir, plan->name, &error);
	if (!vtable) {
		fprintf(stderr, "%s\n", error->message);
		return REHEARSAL_EXIT_REFUSED;
	}
	devices = backend_scan_once(vtable, plan->sysfs_root, plan->dev_root, &error);
	if (!devices)
		fprintf(stderr, "%s\n", error->message);
	return EXIT_SUCCESS;
}

static void *performance_main(void *data)
{
	struct performance *performance = data;

	performance->status = perform(performance->plan);
	return NULL;
}

/* In a thread like the scan thread, so that what needs a larger stack fails here. */
int rehearsal_perform(const struct rehearsal_plan *plan)
{
	struct performance performance = {.plan = plan};
	pthread_t thread;
	int result = thread_start(performance_main, &performance, &thread);

	if (result != 0) {
		fprintf(stderr,
			"backend '%s' cannot be rehearsed: no thread could be started: %s\n",
			plan->name, g_strerror(result));
		return REHEARSAL_EXIT_LACK;
	}
	pthread_join(thread, NULL);
	return performance.status;
}

/* A backend that calls exit(0) would end the daemon, too: it has not survived. */
static void on_exit_of_backend(void)
{
	if (is_performing)
		_exit(REHEARSAL_EXIT_EARLY);
}

/* Options with a value each, then the name. */
static gboolean parse(int argc, char **argv, struct rehearsal_plan *ret_plan)
{
	const struct {
		const char *option;
		const char **value;
	} options[] = {
		{"--backend-dir", &ret_plan->backend_dir},
		{"--sysfs", &ret_plan->sysfs_root},
		{"--dev", &ret_plan->dev_root},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(options); i++) {
		if (argc < 2 * (int)i + 3 || strcmp(argv[2 * i + 1], options[i].option) != 0)
			return FALSE;
		*options[i].value = argv[2 * i + 2];
	}
	ret_plan->name = argv[argc - 1];
	return argc == 2 * (int)G_N_ELEMENTS(options) + 2;
}

int rehearsal_main(int argc, char **argv)
{
	struct rehearsal_plan plan = {0};
	int status;

	if (!parse(argc, argv, &plan)) {
		fputs("usage: rdmadp rehearse --backend-dir DIR --sysfs DIR --dev DIR NAME\n",
		      stderr);
		return REHEARSAL_EXIT_USAGE;
	}
	/* a daemon that is killed leaves no child behind that hangs for ever */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	is_performing = TRUE;
	(void)atexit(on_exit_of_backend);
	status = rehearsal_perform(&plan);
	is_performing = FALSE;
	return status;
}
