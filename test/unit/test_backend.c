/* SPDX-License-Identifier: Apache-2.0 */
/* Scans, events and the end of a backend; health reads are in test_backend_health.c. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs the ones above */
#include <cmocka.h>

#include "edge/backend.h"
#include "support/capture.h"
#include "support/fake_backend.h"
#include "support/wait.h"

#define DEVICE(name)                                                                               \
	{                                                                                          \
		.size = sizeof(struct rdmadp_device), .id = (name), .identity = (name),            \
		.numa_node = -1                                                                    \
	}

static const struct rdmadp_device device_a = DEVICE("a");
static const struct rdmadp_device device_b = DEVICE("b");
static const struct rdmadp_device device_c = DEVICE("c");
static const struct rdmadp_device *const three[] = {&device_c, &device_a, &device_b, NULL};

/* What the callbacks were told. */
static struct {
	guint scans;
	guint hints;
	guint scans_before_hint; /* the first one */
	GPtrArray *devices; /* of the last scan */
	GError *error;
	gboolean event_driven;
	gboolean free_in_callback;
} told;

static Backend *backend;

static void on_scanned(Backend *from, GPtrArray *devices, const GError *error,
		       gboolean event_driven, gpointer data)
{
	assert_ptr_equal(from, backend);
	assert_ptr_equal(data, &told);
	g_clear_pointer(&told.devices, g_ptr_array_unref);
	g_clear_error(&told.error);
	if (devices)
		told.devices = g_ptr_array_ref(devices);
	if (error)
		told.error = g_error_copy(error);
	told.event_driven = event_driven;
	told.scans++;
	if (told.free_in_callback) {
		backend_free(backend, TEST_WAIT_MS);
		backend = NULL;
	}
}

static void on_health(Backend *from, Device *device, const struct rdmadp_health *health,
		      gpointer data)
{
	(void)from;
	(void)device;
	(void)health;
	(void)data;
}

static void on_hint(Backend *from, gpointer data)
{
	assert_ptr_equal(from, backend);
	assert_ptr_equal(data, &told);
	if (told.hints++ == 0)
		told.scans_before_hint = told.scans;
}

static const struct backend_callbacks callbacks = {on_scanned, on_health, on_hint};

static void start(void)
{
	backend = backend_new(&fake.vtable, "/sys-root", "/dev-root", &callbacks, &told);
}

static gboolean scans_reached(gpointer data)
{
	return told.scans >= GPOINTER_TO_UINT(data);
}

static void wait_for_scans(guint n)
{
	test_wait(scans_reached, GUINT_TO_POINTER(n));
}

static gboolean scan_waits(gpointer data)
{
	(void)data;
	return atomic_load(&fake.scan_gate.waiting) > 0;
}

static gboolean was_hinted(gpointer data)
{
	(void)data;
	return told.hints > 0;
}

static int setup(void **state)
{
	(void)state;
	memset(&told, 0, sizeof(told));
	fake_backend_reset();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	backend_free(backend, TEST_WAIT_MS);
	backend = NULL;
	assert_int_equal(atomic_load(&fake.finis), atomic_load(&fake.started));
	g_clear_pointer(&told.devices, g_ptr_array_unref);
	g_clear_error(&told.error);
	fake_backend_clear();
	return 0;
}

static void the_first_scan_starts_by_itself(void **state)
{
	(void)state;
	atomic_store(&fake.devices, three);
	start();
	wait_for_scans(1);
	assert_null(told.error);
	assert_false(told.event_driven);
	assert_int_equal(told.devices->len, 3);
	assert_string_equal(device_id(told.devices->pdata[0]), "a");
	assert_string_equal(device_id(told.devices->pdata[1]), "b");
	assert_string_equal(device_id(told.devices->pdata[2]), "c");
	assert_string_equal(backend_name(backend), "fake");
	assert_ptr_equal(backend_vtable(backend), &fake.vtable);
	assert_string_equal(fake.sysfs_root, "/sys-root");
	assert_string_equal(fake.dev_root, "/dev-root");
	assert_int_equal(backend_scan_age(backend), -1);
}

static void requests_while_a_scan_runs_are_one_more_scan(void **state)
{
	(void)state;
	fake_gate_close(&fake.scan_gate);
	start();
	test_wait(scan_waits, NULL);
	assert_true(backend_scan_age(backend) >= 0);
	for (int i = 0; i < 5; i++)
		backend_scan(backend);
	fake_gate_pass(&fake.scan_gate, 1);
	wait_for_scans(1);
	test_wait(scan_waits, NULL);
	assert_int_equal(atomic_load(&fake.scans), 2);
	fake_gate_open(&fake.scan_gate);
	wait_for_scans(2);
	/* had there been a third, this one would be the fourth */
	backend_scan(backend);
	wait_for_scans(3);
	assert_int_equal(atomic_load(&fake.scans), 3);
}

static void a_failed_scan_is_told_and_the_next_may_succeed(void **state)
{
	(void)state;
	atomic_store(&fake.devices, three);
	atomic_store(&fake.discover_result, -EIO);
	start();
	wait_for_scans(1);
	assert_null(told.devices);
	assert_true(g_error_matches(told.error, BACKEND_ERROR, BACKEND_ERROR_SCAN));
	assert_string_equal(told.error->message, "backend 'fake': scan failed: Input/output error");
	atomic_store(&fake.discover_result, 3);
	backend_scan(backend);
	wait_for_scans(2);
	assert_null(told.devices);
	assert_non_null(strstr(told.error->message, "it returned 3"));
	atomic_store(&fake.discover_result, 0);
	backend_scan(backend);
	wait_for_scans(3);
	assert_null(told.error);
	assert_int_equal(told.devices->len, 3);
}

static void a_failed_init_is_tried_again_with_the_next_scan(void **state)
{
	(void)state;
	atomic_store(&fake.init_result, -ENODEV);
	start();
	wait_for_scans(1);
	assert_null(told.devices);
	assert_true(g_error_matches(told.error, BACKEND_ERROR, BACKEND_ERROR_INIT));
	assert_string_equal(told.error->message, "backend 'fake': init failed: No such device");
	assert_int_equal(atomic_load(&fake.scans), 0);
	atomic_store(&fake.init_result, 0);
	backend_scan(backend);
	wait_for_scans(2);
	assert_non_null(told.devices);
	backend_scan(backend);
	wait_for_scans(3);
	assert_int_equal(atomic_load(&fake.inits), 2);
}

static void a_backend_that_never_started_gets_no_fini(void **state)
{
	(void)state;
	atomic_store(&fake.init_result, -ENODEV);
	start();
	wait_for_scans(1);
	/* teardown checks it */
}

static void log_all_levels(const struct rdmadp_host *host)
{
	host->log(host, 0, "two\nlines");
	host->log(host, RDMADP_LOG_ERROR, "an error");
	host->log(host, RDMADP_LOG_WARNING, "a warning");
	host->log(host, RDMADP_LOG_WARNING, NULL);
	host->log(host, RDMADP_LOG_INFO, "an info");
	host->log(host, RDMADP_LOG_DEBUG, "a detail");
}

static void what_a_backend_logs_has_its_name_and_level(void **state)
{
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;

	(void)state;
	fake.on_init = log_all_levels;
	capture_start();
	start();
	wait_for_scans(1);
	text = capture_stop();
	lines = g_strsplit(text, "\n", -1);
	assert_int_equal(g_strv_length(lines), 5);
	assert_true(g_str_has_suffix(lines[0], " error: backend fake: two\\nlines"));
	assert_true(g_str_has_suffix(lines[1], " error: backend fake: an error"));
	assert_true(g_str_has_suffix(lines[2], " warning: backend fake: a warning"));
	assert_true(g_str_has_suffix(lines[3], " info: backend fake: an info"));
}

static void an_event_is_a_hint_and_leads_to_a_scan(void **state)
{
	(void)state;
	start();
	wait_for_scans(1);
	fake_backend_event();
	test_wait(was_hinted, NULL);
	wait_for_scans(2);
	assert_true(told.event_driven);
	assert_int_equal(told.scans_before_hint, 1);
	backend_scan(backend);
	wait_for_scans(3);
	assert_false(told.event_driven);
}

static gboolean event_was_taken(gpointer data)
{
	(void)data;
	return atomic_load(&fake.acks) > 0;
}

static void an_event_that_is_not_worth_a_scan_is_dropped(void **state)
{
	(void)state;
	atomic_store(&fake.ack_result, 0);
	start();
	wait_for_scans(1);
	fake_backend_event();
	test_wait(event_was_taken, NULL);
	backend_scan(backend);
	wait_for_scans(2);
	assert_false(told.event_driven);
	assert_int_equal(told.hints, 0);
}

static void events_that_never_pause_still_lead_to_a_scan(void **state)
{
	(void)state;
	atomic_store(&fake.never_quiet, true);
	fake_backend_event();
	start();
	wait_for_scans(3);
	assert_true(told.event_driven);
	assert_true(told.hints > 0);
}

static gboolean acks_reached(gpointer data)
{
	return atomic_load(&fake.acks) >= GPOINTER_TO_INT(data);
}

static void a_descriptor_that_keeps_failing_is_given_up(void **state)
{
	(void)state;
	atomic_store(&fake.ack_result, -EIO);
	atomic_store(&fake.never_quiet, true);
	fake_backend_event();
	start();
	test_wait(acks_reached, GINT_TO_POINTER(10));
	/* what may have been lost is looked for, and requests go on */
	while (!told.event_driven)
		wait_for_scans(told.scans + 1);
	backend_scan(backend);
	wait_for_scans(told.scans + 1);
	assert_int_equal(atomic_load(&fake.acks), 10);
}

static void a_backend_without_events_works(void **state)
{
	(void)state;
	fake.vtable.event_fd = NULL;
	fake.vtable.event_ack = NULL;
	fake_backend_event();
	start();
	wait_for_scans(1);
	backend_scan(backend);
	wait_for_scans(2);
	assert_int_equal(atomic_load(&fake.acks), 0);
}

static void after_a_stop_there_is_no_callback(void **state)
{
	(void)state;
	fake_gate_close(&fake.scan_gate);
	start();
	test_wait(scan_waits, NULL);
	backend_stop(backend);
	backend_stop(backend);
	fake_gate_open(&fake.scan_gate);
	backend_free(g_steal_pointer(&backend), TEST_WAIT_MS);
	while (g_main_context_iteration(NULL, FALSE))
		continue;
	assert_int_equal(told.scans, 0);
}

static void a_scan_ends_early_when_the_backend_is_stopped(void **state)
{
	(void)state;
	atomic_store(&fake.devices, three);
	atomic_store(&fake.stubborn, true);
	fake_gate_close(&fake.scan_gate);
	start();
	test_wait(scan_waits, NULL);
	backend_stop(backend);
	fake_gate_open(&fake.scan_gate);
	backend_free(g_steal_pointer(&backend), TEST_WAIT_MS);
	assert_int_equal(atomic_load(&fake.last_emit), -ECANCELED);
}

static void a_callback_may_free_the_backend(void **state)
{
	(void)state;
	told.free_in_callback = TRUE;
	start();
	wait_for_scans(1);
	assert_null(backend);
	assert_int_equal(atomic_load(&fake.finis), 1);
}

static void a_hung_scan_is_interrupted_at_the_end(void **state)
{
	(void)state;
	fake_gate_close(&fake.scan_gate);
	start();
	test_wait(scan_waits, NULL);
	backend_free(g_steal_pointer(&backend), TEST_WAIT_MS);
	assert_int_equal(atomic_load(&fake.finis), 1);
}

static gboolean was_finished(gpointer data)
{
	(void)data;
	return atomic_load(&fake.finis) > 0;
}

static void a_scan_that_cannot_be_interrupted_is_left_behind(void **state)
{
	(void)state;
	atomic_store(&fake.stubborn, true);
	fake_gate_close(&fake.scan_gate);
	start();
	test_wait(scan_waits, NULL);
	backend_free(g_steal_pointer(&backend), 30);
	assert_int_equal(atomic_load(&fake.finis), 0);
	/* and cleans up when it comes back after all */
	fake_gate_open(&fake.scan_gate);
	test_wait(was_finished, NULL);
	assert_int_equal(told.scans, 0);
}

static void one_look_needs_no_loop(void **state)
{
	g_autoptr(GPtrArray) devices = NULL;
	g_autoptr(GError) error = NULL;

	(void)state;
	atomic_store(&fake.devices, three);
	devices = backend_scan_once(&fake.vtable, "/s", "/d", &error);
	assert_null(error);
	assert_int_equal(devices->len, 3);
	assert_string_equal(device_id(devices->pdata[0]), "a");
	assert_int_equal(atomic_load(&fake.finis), 1);
}

static void one_look_may_fail(void **state)
{
	g_autoptr(GError) error = NULL;

	(void)state;
	atomic_store(&fake.init_result, -ENOMEM);
	assert_null(backend_scan_once(&fake.vtable, "/s", "/d", &error));
	assert_true(g_error_matches(error, BACKEND_ERROR, BACKEND_ERROR_INIT));
	g_clear_error(&error);
	atomic_store(&fake.init_result, 0);
	atomic_store(&fake.discover_result, -EIO);
	assert_null(backend_scan_once(&fake.vtable, "/s", "/d", &error));
	assert_true(g_error_matches(error, BACKEND_ERROR, BACKEND_ERROR_SCAN));
	assert_int_equal(atomic_load(&fake.finis), 1);
}

static int match_type(const struct rdmadp_device *device, const char *key, const char *value)
{
	(void)device;
	if (strcmp(key, "type") != 0)
		return -EINVAL;
	return strcmp(value, "7") == 0 ? 7 : 0;
}

static void a_match_is_the_backends_or_equality(void **state)
{
	static const struct rdmadp_attribute vendor = {
		.size = sizeof(vendor), .key = "vendor", .value = "15b3"};
	static const struct rdmadp_attribute *const attributes[] = {&vendor};
	struct rdmadp_device reported = DEVICE("a");
	g_autoptr(Device) device = NULL;

	(void)state;
	reported.n_attributes = 1;
	reported.attributes = attributes;
	device = device_copy(&reported, NULL);
	assert_int_equal(backend_match(&fake.vtable, device, "vendor", "15b3"), 1);
	assert_int_equal(backend_match(&fake.vtable, device, "vendor", "19e5"), 0);
	assert_int_equal(backend_match(&fake.vtable, device, "type", "15b3"), 0);
	fake.vtable.match = match_type;
	assert_int_equal(backend_match(&fake.vtable, device, "type", "7"), 1);
	assert_int_equal(backend_match(&fake.vtable, device, "type", "8"), 0);
	assert_int_equal(backend_match(&fake.vtable, device, "vendor", "15b3"), -EINVAL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(the_first_scan_starts_by_itself),
		TEST(requests_while_a_scan_runs_are_one_more_scan),
		TEST(a_failed_scan_is_told_and_the_next_may_succeed),
		TEST(a_failed_init_is_tried_again_with_the_next_scan),
		TEST(a_backend_that_never_started_gets_no_fini),
		TEST(what_a_backend_logs_has_its_name_and_level),
		TEST(an_event_is_a_hint_and_leads_to_a_scan),
		TEST(an_event_that_is_not_worth_a_scan_is_dropped),
		TEST(events_that_never_pause_still_lead_to_a_scan),
		TEST(a_descriptor_that_keeps_failing_is_given_up),
		TEST(a_backend_without_events_works),
		TEST(after_a_stop_there_is_no_callback),
		TEST(a_scan_ends_early_when_the_backend_is_stopped),
		TEST(a_callback_may_free_the_backend),
		TEST(a_hung_scan_is_interrupted_at_the_end),
		TEST(a_scan_that_cannot_be_interrupted_is_left_behind),
		TEST(one_look_needs_no_loop),
		TEST(one_look_may_fail),
		TEST(a_match_is_the_backends_or_equality),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
