/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs the ones above */
#include <cmocka.h>

#include "edge/backend.h"
#include "support/fake_backend.h"
#include "support/wait.h"

static struct {
	guint scans;
	guint reads;
	GHashTable *healths; /* id -> struct rdmadp_health *, the last answer */
	gboolean free_in_callback;
} told;

static Backend *backend;

static void on_scanned(Backend *from, GPtrArray *devices, const GError *error,
		       gboolean event_driven, gpointer data)
{
	(void)from;
	(void)devices;
	(void)error;
	(void)event_driven;
	(void)data;
	told.scans++;
}

static void on_health(Backend *from, Device *device, const struct rdmadp_health *health,
		      gpointer data)
{
	assert_ptr_equal(from, backend);
	assert_ptr_equal(data, &told);
	told.reads++;
	g_hash_table_insert(told.healths, g_strdup(device_id(device)),
			    g_memdup2(health, sizeof(*health)));
	if (told.free_in_callback)
		backend_free(g_steal_pointer(&backend), TEST_WAIT_MS);
}

static gboolean scans_reached(gpointer data)
{
	return told.scans >= GPOINTER_TO_UINT(data);
}

static gboolean reads_reached(gpointer data)
{
	return told.reads >= GPOINTER_TO_UINT(data);
}

static gboolean stuck_in_gate(gpointer data)
{
	return atomic_load(&fake.health_gate.waiting) == GPOINTER_TO_INT(data);
}

static gboolean stuck_counted(gpointer data)
{
	guint stuck = 0;

	(void)backend_workers(backend, &stuck);
	return stuck == GPOINTER_TO_UINT(data);
}

static gboolean workers_left(gpointer data)
{
	return backend_workers(backend, NULL) == GPOINTER_TO_UINT(data);
}

static gboolean was_finished(gpointer data)
{
	(void)data;
	return atomic_load(&fake.finis) > 0;
}

static Device *device_named(const char *name)
{
	struct rdmadp_device reported = {
		.size = sizeof(reported), .id = name, .identity = name, .numa_node = -1};
	Device *device = device_copy(&reported, NULL);

	assert_non_null(device);
	return device;
}

/* Starts a read of a device that nobody else refers to. */
static gboolean check(const char *name, gint64 *ret_age_ms)
{
	g_autoptr(Device) device = device_named(name);

	return backend_check_health(backend, device, ret_age_ms);
}

static const struct rdmadp_health *answer_of(const char *id)
{
	const struct rdmadp_health *health = g_hash_table_lookup(told.healths, id);

	assert_non_null(health);
	return health;
}

static int setup(void **state)
{
	static const struct backend_callbacks callbacks = {on_scanned, on_health, NULL};

	(void)state;
	memset(&told, 0, sizeof(told));
	told.healths = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	fake_backend_reset();
	fake_gate_close(&fake.health_gate);
	backend = backend_new(&fake.vtable, "/sys", "/dev", &callbacks, &told);
	test_wait(scans_reached, GUINT_TO_POINTER(1));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	backend_free(backend, TEST_WAIT_MS);
	backend = NULL;
	assert_int_equal(atomic_load(&fake.finis), 1);
	g_hash_table_unref(told.healths);
	fake_backend_clear();
	return 0;
}

static void a_read_is_answered(void **state)
{
	(void)state;
	fake.answer.state = RDMADP_UNHEALTHY;
	fake.answer.reason = RDMADP_REASON_LINK;
	strcpy(fake.answer.text, "port 1 is DOWN");
	assert_true(check("a", NULL));
	test_wait(reads_reached, GUINT_TO_POINTER(1));
	assert_int_equal(answer_of("a")->state, RDMADP_UNHEALTHY);
	assert_int_equal(answer_of("a")->reason, RDMADP_REASON_LINK);
	assert_string_equal(answer_of("a")->text, "port 1 is DOWN");
	/* and the device can be read again */
	assert_true(check("a", NULL));
	test_wait(reads_reached, GUINT_TO_POINTER(2));
}

static void a_failed_read_says_unknown(void **state)
{
	(void)state;
	fake.answer.state = RDMADP_UNHEALTHY;
	atomic_store(&fake.health_result, -EIO);
	assert_true(check("a", NULL));
	test_wait(reads_reached, GUINT_TO_POINTER(1));
	assert_int_equal(answer_of("a")->state, RDMADP_HEALTH_UNKNOWN);
	assert_string_equal(answer_of("a")->text, "health read failed: Input/output error");
}

static void after_many_reads_one_thread_is_left(void **state)
{
	(void)state;
	for (guint i = 0; i < 200; i++) {
		g_autofree char *name = g_strdup_printf("d%u", i);

		assert_true(check(name, NULL));
	}
	test_wait(reads_reached, GUINT_TO_POINTER(200));
	assert_int_equal(g_hash_table_size(told.healths), 200);
	test_wait(workers_left, GUINT_TO_POINTER(1));
}

static void a_hung_read_delays_no_other_device(void **state)
{
	gint64 age = -1;
	guint stuck = 0;

	(void)state;
	assert_true(check("stuck", NULL));
	assert_true(check("a", NULL));
	assert_true(check("b", NULL));
	test_wait(reads_reached, GUINT_TO_POINTER(2));
	assert_null(g_hash_table_lookup(told.healths, "stuck"));
	/* one read at a time of each device */
	assert_false(check("stuck", &age));
	assert_false(check("stuck", NULL));
	assert_true(age >= 0);
	assert_true(check("a", NULL));
	test_wait(reads_reached, GUINT_TO_POINTER(3));
	test_wait(stuck_counted, GUINT_TO_POINTER(1));
	assert_true(backend_workers(backend, &stuck) >= 1);
	/* a scan is not delayed, either */
	backend_scan(backend);
	test_wait(scans_reached, GUINT_TO_POINTER(2));
	fake_gate_pass(&fake.health_gate, 1);
	test_wait(reads_reached, GUINT_TO_POINTER(4));
	assert_int_equal(answer_of("stuck")->state, RDMADP_HEALTHY);
	assert_true(stuck_counted(GUINT_TO_POINTER(0)));
	assert_true(check("stuck", NULL));
}

static void each_hung_read_has_a_thread_and_no_more(void **state)
{
	(void)state;
	for (guint i = 0; i < 12; i++) {
		g_autofree char *name = g_strdup_printf("stuck%u", i);

		assert_true(check(name, NULL));
	}
	assert_true(check("a", NULL));
	test_wait(reads_reached, GUINT_TO_POINTER(1));
	test_wait(stuck_in_gate, GINT_TO_POINTER(12));
	assert_in_range(backend_workers(backend, NULL), 12, 13);
	fake_gate_pass(&fake.health_gate, 12);
	test_wait(reads_reached, GUINT_TO_POINTER(13));
	test_wait(workers_left, GUINT_TO_POINTER(1));
}

static void identity_decides_what_is_the_same_device(void **state)
{
	struct rdmadp_device reported = {
		.size = sizeof(reported), .id = "stuck1", .identity = "guid", .numa_node = -1};
	g_autoptr(Device) before = device_copy(&reported, NULL);
	g_autoptr(Device) after = NULL;

	(void)state;
	reported.id = "stuck2";
	after = device_copy(&reported, NULL);
	assert_true(backend_check_health(backend, before, NULL));
	assert_false(backend_check_health(backend, after, NULL));
	fake_gate_pass(&fake.health_gate, 1);
	test_wait(reads_reached, GUINT_TO_POINTER(1));
}

static void without_an_instance_health_is_unknown(void **state)
{
	static const struct backend_callbacks callbacks = {on_scanned, on_health, NULL};

	(void)state;
	backend_free(backend, TEST_WAIT_MS);
	atomic_store(&fake.init_result, -ENODEV);
	backend = backend_new(&fake.vtable, "/sys", "/dev", &callbacks, &told);
	assert_true(check("a", NULL));
	test_wait(reads_reached, GUINT_TO_POINTER(1));
	assert_int_equal(answer_of("a")->state, RDMADP_HEALTH_UNKNOWN);
	assert_int_equal(atomic_load(&fake.reads), 0);
}

static void hung_reads_are_interrupted_at_the_end(void **state)
{
	(void)state;
	assert_true(check("stuck1", NULL));
	assert_true(check("stuck2", NULL));
	test_wait(stuck_in_gate, GINT_TO_POINTER(2));
	backend_free(g_steal_pointer(&backend), TEST_WAIT_MS);
	assert_int_equal(atomic_load(&fake.finis), 1);
	assert_int_equal(told.reads, 0);
}

static void reads_that_cannot_be_interrupted_are_left_behind(void **state)
{
	(void)state;
	atomic_store(&fake.stubborn, true);
	assert_true(check("stuck1", NULL));
	assert_true(check("stuck2", NULL));
	test_wait(stuck_in_gate, GINT_TO_POINTER(2));
	backend_free(g_steal_pointer(&backend), 30);
	/* fini must not meet them */
	assert_int_equal(atomic_load(&fake.finis), 0);
	assert_int_equal(atomic_load(&fake.health_gate.waiting), 2);
	fake_gate_pass(&fake.health_gate, 1);
	test_wait(stuck_in_gate, GINT_TO_POINTER(1));
	assert_int_equal(atomic_load(&fake.finis), 0);
	fake_gate_pass(&fake.health_gate, 1);
	test_wait(was_finished, NULL);
	assert_int_equal(told.reads, 0);
}

static void reads_that_wait_are_dropped_at_the_end(void **state)
{
	(void)state;
	/* the loop does not run, so there is but one thread, and it hangs */
	assert_true(check("stuck1", NULL));
	assert_true(check("a", NULL));
	assert_true(check("b", NULL));
	while (!stuck_in_gate(GINT_TO_POINTER(1)))
		g_usleep(1000);
	backend_free(g_steal_pointer(&backend), TEST_WAIT_MS);
	while (g_main_context_iteration(NULL, FALSE))
		continue;
	assert_int_equal(told.reads, 0);
	assert_int_equal(atomic_load(&fake.reads), 1);
}

static void a_callback_may_free_the_backend(void **state)
{
	(void)state;
	told.free_in_callback = TRUE;
	assert_true(check("a", NULL));
	assert_true(check("b", NULL));
	test_wait(reads_reached, GUINT_TO_POINTER(1));
	assert_null(backend);
	assert_int_equal(told.reads, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(a_read_is_answered),
		TEST(a_failed_read_says_unknown),
		TEST(after_many_reads_one_thread_is_left),
		TEST(a_hung_read_delays_no_other_device),
		TEST(each_hung_read_has_a_thread_and_no_more),
		TEST(identity_decides_what_is_the_same_device),
		TEST(without_an_instance_health_is_unknown),
		TEST(hung_reads_are_interrupted_at_the_end),
		TEST(reads_that_cannot_be_interrupted_are_left_behind),
		TEST(reads_that_wait_are_dropped_at_the_end),
		TEST(a_callback_may_free_the_backend),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
