/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rdmadp-bench: measures the daemon against the floor, both in one run and by turns,
 * so that the ratio means something on any machine. README.md says what each row is.
 */
#include <glib.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/discovery.h"
#include "bench/link.h"
#include "bench/load.h"
#include "bench/results.h"
#include "bench/session.h"

#define METHOD_ALLOCATE "/v1beta1.DevicePlugin/Allocate"
#define METHOD_PREFERRED "/v1beta1.DevicePlugin/GetPreferredAllocation"

enum {
	HCAS = 8,
	VFS = 4096,
	FEW_VFS = 64,
	MANY_RESOURCES = 16,
	MANY_CALLERS = 8,
	SETTLE_MS = 500,
	BETWEEN_CHANGES_MS = 150,
	BETWEEN_CUTS_MS = 1200
};

static struct {
	char *floor, *daemon, *backend_dir;
	int rounds, calls, idle_s, pushes, restarts, cuts;
	gboolean json, quick;
} options = {.rounds = 5, .calls = 4000, .idle_s = 10, .pushes = 20, .restarts = 100, .cuts = 200};

static Rpc *rpc;
static Results *results;

static void add(const Session *session, const char *name, const char *unit, double value)
{
	results_add(results, session->subject->which, name, unit, value);
}

static struct subject subject_of(int which, enum subject_bus bus, guint resources, guint slots)
{
	return (struct subject){
		.which = which,
		.program = which == SUBJECT_FLOOR ? options.floor : options.daemon,
		.backend_dir = options.backend_dir,
		.bus = bus,
		.resources = resources,
		.slots = slots,
	};
}

/* --- start, memory, threads --- */

static void measure_start(const Session *session)
{
	guint n = session->subject->resources;
	const char *plural = n == 1 ? "" : "s";
	g_autofree char *registered =
		g_strdup_printf("start to Register, %u resource%s", n, plural);
	g_autofree char *listed = g_strdup_printf("start to first list, %u resource%s", n, plural);
	g_autofree char *memory = g_strdup_printf("resident memory idle, %u resource%s", n, plural);
	g_autofree char *threads = g_strdup_printf("threads, %u resource%s", n, plural);

	add(session, registered, "ms", session->registered_ms);
	add(session, listed, "ms", session->listed_ms);
	session_settle(SETTLE_MS);
	add(session, memory, "kB", process_status(session->process, "VmRSS"));
	add(session, threads, "", process_status(session->process, "Threads"));
}

static void measure_idle(const Session *session)
{
	double before = process_sleeps(session->process);

	session_settle((guint)options.idle_s * 1000);
	double sleeps = process_sleeps(session->process) - before;

	add(session, "wake-ups idle", "1/s", sleeps / options.idle_s);
}

/* --- Allocate --- */

static void measure_load(const Session *session, guint callers, guint calls)
{
	const struct watched *plugin = session_plugin(session, 0);
	g_autoptr(GBytes) request = load_pack_allocate(plugin->device);
	struct load load = {plugin->endpoint, METHOD_ALLOCATE, request, callers, calls};
	double per_second;
	double cpu_us = process_cpu_us(session->process);
	g_autoptr(GArray) latencies = load_run(&load, &per_second);
	const char *plural = callers == 1 ? "" : "s";
	g_autofree char *p50 = g_strdup_printf("Allocate, %u caller%s, p50", callers, plural);
	g_autofree char *p99 = g_strdup_printf("Allocate, %u caller%s, p99", callers, plural);
	g_autofree char *rate = g_strdup_printf("Allocate, %u caller%s, calls", callers, plural);

	g_autofree char *cpu =
		g_strdup_printf("Allocate, %u caller%s, server's CPU", callers, plural);

	cpu_us = process_cpu_us(session->process) - cpu_us;
	add(session, p50, "us", results_percentile(latencies, 0.5));
	add(session, p99, "us", results_percentile(latencies, 0.99));
	add(session, cpu, "us/call", cpu_us / calls);
	add(session, rate, "1/s", per_second);
}

static void measure_calls(const Session *session)
{
	measure_load(session, 1, (guint)options.calls);
	measure_load(session, MANY_CALLERS, 4 * (guint)options.calls);
	add(session, "resident memory after these calls", "kB",
	    process_status(session->process, "VmRSS"));
}

static void run_round(int which, gboolean is_last)
{
	struct subject one = subject_of(which, SUBJECT_PCI, 1, HCAS);
	struct subject many = subject_of(which, SUBJECT_PCI, MANY_RESOURCES, HCAS);
	Session *session = session_begin(rpc, &one);

	measure_start(session);
	if (is_last && options.idle_s > 0)
		measure_idle(session);
	measure_calls(session);
	session_end(session);
	session = session_begin(rpc, &many);
	measure_start(session);
	session_end(session);
}

/* --- one change --- */

static gboolean has_more_lists(const Session *session, gpointer data)
{
	return session_plugin(session, 0)->lists > *(guint *)data;
}

static double push_ms(Session *session, gboolean is_healthy)
{
	guint lists = session_plugin(session, 0)->lists;
	gint64 began_us = g_get_monotonic_time();

	subject_change_one(session->subject, session->node, session->process, is_healthy);
	session_wait(session, has_more_lists, &lists);
	return (double)(session_plugin(session, 0)->listed_us - began_us) / 1000;
}

static void measure_push(int which, guint slots)
{
	struct subject subject = subject_of(which, SUBJECT_MOCK, 1, slots);
	Session *session = session_begin(rpc, &subject);
	g_autoptr(GArray) values = g_array_new(FALSE, FALSE, sizeof(double));
	g_autofree char *p50 = g_strdup_printf("one change of %u slots to list, p50", slots);
	g_autofree char *p99 = g_strdup_printf("one change of %u slots to list, p99", slots);
	g_autofree char *first = g_strdup_printf("start to first list, %u slots", slots);
	g_autofree char *memory = g_strdup_printf("resident memory then, %u slots", slots);

	for (int i = 0; i < options.pushes; i++) {
		/* Each change is one alone: the daemon paces what comes at once. */
		session_settle(BETWEEN_CHANGES_MS);
		double value = push_ms(session, i % 2 != 0);

		g_array_append_val(values, value);
	}
	add(session, first, "ms", session->listed_ms);
	add(session, p50, "ms", results_percentile(values, 0.5));
	add(session, p99, "ms", results_percentile(values, 0.99));
	add(session, memory, "kB", process_status(session->process, "VmRSS"));
	session_end(session);
}

static void measure_pushes(int which)
{
	static const guint sizes[] = {8, 1000, 10000, 100000};

	for (gsize i = 0; i < (options.quick ? 2 : G_N_ELEMENTS(sizes)); i++)
		measure_push(which, sizes[i]);
}

/* --- GetPreferredAllocation --- */

static void measure_choice(const Session *session, char *const *devices, guint n, guint size)
{
	g_autoptr(GBytes) request = load_pack_preferred(devices, n, size);
	struct load load = {session_plugin(session, 0)->endpoint, METHOD_PREFERRED, request, 1,
			    MAX((guint)options.calls / 20, 10)};
	double per_second;
	g_autoptr(GArray) latencies = load_run(&load, &per_second);
	g_autofree char *p50 = g_strdup_printf("%u of %u devices preferred, p50", size, n);
	g_autofree char *p99 = g_strdup_printf("%u of %u devices preferred, p99", size, n);

	add(session, p50, "ms", results_percentile(latencies, 0.5) / 1000);
	add(session, p99, "ms", results_percentile(latencies, 0.99) / 1000);
}

static void measure_choices(void)
{
	guint n = options.quick ? FEW_VFS : VFS;
	struct subject subject = subject_of(SUBJECT_DAEMON, SUBJECT_PCI, 1, n);
	g_auto(GStrv) devices = g_new0(char *, n + 1);
	Session *session;

	for (guint i = 0; i < n; i++)
		devices[i] = subject_device_id(i);
	subject.exclusive = TRUE;
	session = session_begin(rpc, &subject);
	measure_choice(session, devices, n, 2);
	measure_choice(session, devices, n, n / 2);
	measure_choice(session, devices, n, n);
	session_end(session);
}

/* --- a link is cut --- */

static gboolean has_healthy(const Session *session, gpointer data)
{
	return session_plugin(session, 0)->n_healthy == *(gsize *)data;
}

/* sysfs says it first; nobody looks there until the kernel tells of the carrier, once the
 * looks that follow the message before are over. */
static double cut_ms(Session *session, const Link *link)
{
	gsize all = session->subject->slots;
	gsize others = all - 1;
	gint64 began_us;
	double value;

	session_settle(BETWEEN_CUTS_MS);
	subject_set_link(session->node, FALSE);
	began_us = g_get_monotonic_time();
	link_set_carrier(link, FALSE);
	session_wait(session, has_healthy, &others);
	value = (double)(session_plugin(session, 0)->listed_us - began_us) / 1000;
	subject_set_link(session->node, TRUE);
	link_set_carrier(link, TRUE);
	link_nudge(link);
	session_wait(session, has_healthy, &all);
	return value;
}

static void measure_cuts(const Link *link)
{
	struct subject subject = subject_of(SUBJECT_DAEMON, SUBJECT_PCI, 1, HCAS);
	Session *session = session_begin(rpc, &subject);
	g_autoptr(GArray) values = g_array_new(FALSE, FALSE, sizeof(double));

	for (int i = 0; i < options.cuts; i++) {
		double value = cut_ms(session, link);

		g_array_append_val(values, value);
	}
	add(session, "link cut to list, p50", "ms", results_percentile(values, 0.5));
	add(session, "link cut to list, p99", "ms", results_percentile(values, 0.99));
	add(session, "link cut to list, worst", "ms", results_percentile(values, 1));
	session_end(session);
}

static void measure_links(void)
{
	g_autofree char *why = NULL;
	Link *link = link_new(SUBJECT_INTERFACE, &why);

	if (link == NULL) {
		g_printerr("rdmadp-bench: no link to cut: %s\n", why);
		return;
	}
	measure_cuts(link);
	link_free(link);
}

/* --- kubelet restarts --- */

static gboolean is_registered(const Session *session, gpointer data)
{
	(void)data;
	return bench_kubelet_plugins(session->kubelet)->len > 0;
}

static double restart_ms(Session *session)
{
	g_autofree char *dir = subject_kubelet_dir(session->node);

	bench_kubelet_free(session->kubelet);
	gint64 began_us = g_get_monotonic_time();

	session->kubelet = bench_kubelet_new(session->rpc, dir);
	session_wait(session, is_registered, NULL);
	return (double)(session_plugin(session, 0)->registered_us - began_us) / 1000;
}

static gboolean is_listed(const Session *session, gpointer data)
{
	(void)data;
	return session_plugin(session, 0)->lists > 0;
}

static void measure_restarts(int which)
{
	struct subject subject = subject_of(which, SUBJECT_PCI, 1, HCAS);
	Session *session = session_begin(rpc, &subject);
	g_autoptr(GArray) values = g_array_new(FALSE, FALSE, sizeof(double));

	for (int i = 0; i < options.restarts; i++) {
		double value = restart_ms(session);

		g_array_append_val(values, value);
		session_wait(session, is_listed, NULL);
	}
	add(session, "kubelet's socket back to Register, p50", "ms",
	    results_percentile(values, 0.5));
	add(session, "kubelet's socket back to Register, worst", "ms",
	    results_percentile(values, 1));
	session_end(session);
}

/* --- discovery --- */

/* A fifth of the functions, up to 200, are network adapters without RDMA. */
static void measure_discovery(guint functions)
{
	const struct big_tree crowd = {functions, HCAS, MIN(functions / 5, 200)};
	g_autofree char *node = subject_make_crowd(&crowd);
	g_autofree char *sysfs = g_build_filename(node, "sys", NULL);
	g_autofree char *backend = g_build_filename(options.backend_dir, "pci.so", NULL);
	g_autofree char *name = g_strdup_printf("discovery of 8 HCAs, %u NICs among %u functions",
						crowd.nics, functions);

	for (int round = 0; round < options.rounds; round++)
		results_add(results, SUBJECT_DAEMON, name, "ms",
			    discovery_ms(backend, sysfs, HCAS + crowd.nics));
	subject_remove_node(node);
}

static void measure_discoveries(void)
{
	if (options.quick) {
		measure_discovery(100);
		return;
	}
	measure_discovery(1000);
	measure_discovery(10000);
}

/* --- the run --- */

static void run_all(void)
{
	int last = options.daemon ? SUBJECT_DAEMON : SUBJECT_FLOOR;

	for (int round = 0; round < options.rounds; round++)
		for (int which = SUBJECT_FLOOR; which <= last; which++)
			run_round(which, round == options.rounds - 1);
	for (int which = SUBJECT_FLOOR; which <= last && options.pushes > 0; which++)
		measure_pushes(which);
	if (options.daemon)
		measure_choices();
	if (options.daemon && options.cuts > 0)
		measure_links();
	if (options.daemon && options.restarts > 0)
		measure_restarts(SUBJECT_DAEMON);
	if (options.backend_dir)
		measure_discoveries();
}

static void parse_options(int *argc, char ***argv)
{
	const GOptionEntry entries[] = {
		{"floor", 0, 0, G_OPTION_ARG_FILENAME, &options.floor, "the floor's program",
		 "FILE"},
		{"daemon", 0, 0, G_OPTION_ARG_FILENAME, &options.daemon,
		 "rdmadp's program; without it only the floor is measured", "FILE"},
		{"backend-dir", 0, 0, G_OPTION_ARG_FILENAME, &options.backend_dir,
		 "where pci.so and mock.so are", "DIR"},
		{"rounds", 0, 0, G_OPTION_ARG_INT, &options.rounds, "by turns; 5", "N"},
		{"calls", 0, 0, G_OPTION_ARG_INT, &options.calls,
		 "Allocate calls of one caller in a round; 4000", "N"},
		{"idle", 0, 0, G_OPTION_ARG_INT, &options.idle_s, "count wake-ups that long; 10",
		 "S"},
		{"pushes", 0, 0, G_OPTION_ARG_INT, &options.pushes, "changes for each size; 20",
		 "N"},
		{"restarts", 0, 0, G_OPTION_ARG_INT, &options.restarts, "of the kubelet; 100", "N"},
		{"cuts", 0, 0, G_OPTION_ARG_INT, &options.cuts, "of a link; 200", "N"},
		{"quick", 0, 0, G_OPTION_ARG_NONE, &options.quick,
		 "the least of everything: a smoke test", NULL},
		{"json", 0, 0, G_OPTION_ARG_NONE, &options.json, "print JSON", NULL},
		{NULL, 0, 0, 0, NULL, NULL, NULL}};
	g_autoptr(GOptionContext) context = g_option_context_new(NULL);
	g_autoptr(GError) error = NULL;

	g_option_context_add_main_entries(context, entries, NULL);
	if (!g_option_context_parse(context, argc, argv, &error) || !options.floor ||
	    (options.daemon && !options.backend_dir)) {
		g_printerr("rdmadp-bench: %s\n",
			   error ? error->message
				 : "needs --floor, and --backend-dir with --daemon");
		exit(2);
	}
	if (!options.quick)
		return;
	options.rounds = options.idle_s = 1;
	options.pushes = options.restarts = options.cuts = 2;
	options.calls = 20;
}

int main(int argc, char **argv)
{
	parse_options(&argc, &argv);
	rpc = rpc_new();
	results = results_new();
	run_all();
	rpc_free(rpc);
	if (options.json)
		results_print_json(results);
	else
		results_print_table(results);
	results_free(results);
	g_free(options.floor);
	g_free(options.daemon);
	g_free(options.backend_dir);
	return 0;
}
