/* SPDX-License-Identifier: Apache-2.0 */
/* Scans that do not end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* cmocka.h needs the ones above */
#include <cmocka.h>

#include "edge/backend.h"
#include "support/fake_backend.h"
#include "support/wait.h"

#define LIMIT_MS 20

static const struct rdmadp_device device_a = {
	.size = sizeof(device_a), .id = "a", .identity = "a", .numa_node = -1};
static const struct rdmadp_device *const one[] = {&device_a, NULL};

static struct {
	guint failed, ended;
	char *message; /* of the last one that failed */
	gboolean free_in_callback;
} told;

static Backend *backend;

static void on_scanned(Backend *from, GPtrArray *devices, const GError *error,
		       gboolean event_driven, gpointer data)
{
	(void)from;
	(void)event_driven;
	(void)data;
	if (devices)
		told.ended++;
	else
		told.failed++;
	if (error) {
		g_free(told.message);
		told.message = g_strdup(error->message);
	}
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

static const struct backend_callbacks callbacks = {on_scanned, on_health, NULL};

static int setup(void **state)
{
	(void)state;
	memset(&told, 0, sizeof(told));
	fake_backend_reset();
	atomic_store(&fake.devices, one);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	backend_free(backend, TEST_WAIT_MS);
	backend = NULL;
	g_clear_pointer(&told.message, g_free);
	fake_backend_clear();
	return 0;
}

static void start(void)
{
	backend = backend_new(&fake.vtable, "/sys-root", "/dev-root", &callbacks, NULL);
	backend_set_scan_limit(backend, LIMIT_MS);
}

static gboolean has_failed(gpointer data)
{
	return told.failed >= GPOINTER_TO_UINT(data);
}

static gboolean has_ended(gpointer data)
{
	return told.ended >= GPOINTER_TO_UINT(data);
}

static void a_scan_that_hangs_is_told_and_so_is_its_end(void **state)
{
	(void)state;
	fake_gate_close(&fake.scan_gate);
	start();
	test_wait(has_failed, GUINT_TO_POINTER(1));
	assert_string_equal(told.message, "backend 'fake': a scan does not end within 0.02 s and "
					  "is waited for");
	/* It may go on for long: it is told again. */
	test_wait(has_failed, GUINT_TO_POINTER(3));
	assert_int_equal(told.ended, 0);
	fake_gate_open(&fake.scan_gate);
	test_wait(has_ended, GUINT_TO_POINTER(1));
}

static void a_later_scan_that_hangs_is_told(void **state)
{
	(void)state;
	start();
	test_wait(has_ended, GUINT_TO_POINTER(1));
	backend_set_scan_limit(backend, LIMIT_MS);
	fake_gate_close(&fake.scan_gate);
	backend_scan(backend);
	test_wait(has_failed, GUINT_TO_POINTER(1));
	fake_gate_open(&fake.scan_gate);
	test_wait(has_ended, GUINT_TO_POINTER(2));
}

static void a_scan_that_an_event_causes_is_watched(void **state)
{
	(void)state;
	start();
	test_wait(has_ended, GUINT_TO_POINTER(1));
	fake_gate_close(&fake.scan_gate);
	fake_backend_event();
	test_wait(has_failed, GUINT_TO_POINTER(1));
	fake_gate_open(&fake.scan_gate);
	test_wait(has_ended, GUINT_TO_POINTER(2));
}

static void the_backend_may_be_freed_when_it_is_told(void **state)
{
	(void)state;
	fake_gate_close(&fake.scan_gate);
	start();
	told.free_in_callback = TRUE;
	test_wait(has_failed, GUINT_TO_POINTER(1));
	assert_null(backend);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(a_scan_that_hangs_is_told_and_so_is_its_end),
		TEST(a_later_scan_that_hangs_is_told),
		TEST(a_scan_that_an_event_causes_is_watched),
		TEST(the_backend_may_be_freed_when_it_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
