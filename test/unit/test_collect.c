/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs the ones above */
#include <cmocka.h>

#include "edge/collect.h"
#include "support/capture.h"

static struct rdmadp_device device_named(const char *id)
{
	return (struct rdmadp_device){.size = sizeof(struct rdmadp_device),
				      .id = id,
				      .identity = id ? id : "none",
				      .numa_node = -1};
}

static void add(Collector *collector, const char *id)
{
	struct rdmadp_device device = device_named(id);

	assert_int_equal(collector_add(collector, &device), 0);
}

static void devices_come_out_sorted(void **state)
{
	g_autoptr(Collector) collector = collector_new("backend x");
	g_autoptr(GPtrArray) devices = NULL;

	(void)state;
	collector_begin(collector);
	add(collector, "0000:3b:00.1");
	add(collector, "0000:3b:00.0");
	devices = collector_end(collector, 0, NULL);
	assert_int_equal(devices->len, 2);
	assert_string_equal(device_id(devices->pdata[0]), "0000:3b:00.0");
	assert_string_equal(device_id(devices->pdata[1]), "0000:3b:00.1");
}

static void each_scan_starts_empty(void **state)
{
	g_autoptr(Collector) collector = collector_new("backend x");
	g_autoptr(GPtrArray) first = NULL;
	g_autoptr(GPtrArray) second = NULL;

	(void)state;
	collector_begin(collector);
	add(collector, "a");
	first = collector_end(collector, 0, NULL);
	collector_begin(collector);
	add(collector, "a");
	second = collector_end(collector, 0, NULL);
	assert_int_equal(first->len, 1);
	assert_int_equal(second->len, 1);
}

/* One scan with good and bad devices; returns the log. */
static char *scan_garbage(Collector *collector, guint *ret_devices)
{
	static const struct rdmadp_attribute attribute = {
		.size = sizeof(attribute), .key = "k", .value = "v"};
	g_autofree const struct rdmadp_attribute **many =
		g_new(const struct rdmadp_attribute *, 100000);
	struct rdmadp_device flood = device_named("flood");
	g_autoptr(GPtrArray) devices = NULL;

	for (guint i = 0; i < 100000; i++)
		many[i] = &attribute;
	flood.n_attributes = 100000;
	flood.attributes = many;
	capture_start();
	collector_begin(collector);
	add(collector, "good");
	add(collector, NULL);
	add(collector, "two\nlines");
	add(collector, "good");
	assert_int_equal(collector_add(collector, &flood), 0);
	assert_int_equal(collector_add(collector, NULL), 0);
	add(collector, "fine");
	devices = collector_end(collector, 0, NULL);
	*ret_devices = devices->len;
	return capture_stop();
}

static guint count_lines(const char *text)
{
	guint n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

static void a_bad_device_is_left_out_and_logged_once(void **state)
{
	g_autoptr(Collector) collector = collector_new("backend x");
	g_autofree char *first = NULL;
	g_autofree char *second = NULL;
	guint n = 0;

	(void)state;
	first = scan_garbage(collector, &n);
	assert_int_equal(n, 2);
	assert_int_equal(count_lines(first), 5);
	assert_non_null(strstr(first, "warning: backend x: a reported device is left out: "));
	assert_non_null(strstr(first, "'good' was reported more than once"));
	assert_non_null(strstr(first, "100000"));
	second = scan_garbage(collector, &n);
	assert_int_equal(n, 2);
	assert_string_equal(second, "");
}

static void a_fault_that_comes_back_is_logged_again(void **state)
{
	g_autoptr(Collector) collector = collector_new("backend x");
	g_autofree char *first = NULL;
	g_autofree char *second = NULL;
	g_autoptr(GPtrArray) devices = NULL;
	guint n = 0;

	(void)state;
	first = scan_garbage(collector, &n);
	collector_begin(collector);
	devices = collector_end(collector, 0, NULL);
	assert_int_equal(devices->len, 0);
	second = scan_garbage(collector, &n);
	assert_int_equal(count_lines(second), count_lines(first));
}

static void a_flood_of_faults_is_cut_short(void **state)
{
	g_autoptr(Collector) collector = collector_new("backend x");
	g_autoptr(GPtrArray) devices = NULL;
	g_autofree char *text = NULL;

	(void)state;
	capture_start();
	collector_begin(collector);
	for (guint i = 0; i < 1000; i++) {
		g_autofree char *id = g_strdup_printf("bad id %u", i);

		add(collector, id);
	}
	devices = collector_end(collector, 0, NULL);
	text = capture_stop();
	assert_int_equal(devices->len, 0);
	assert_int_equal(count_lines(text), 21);
	assert_non_null(strstr(text, "more faults like these are not logged"));
}

static void a_backend_that_never_ends_is_stopped(void **state)
{
	g_autoptr(Collector) collector = collector_new("backend x");
	g_autoptr(GPtrArray) devices = NULL;
	g_autoptr(GError) error = NULL;
	int result = 0;
	guint n;

	(void)state;
	collector_begin(collector);
	for (n = 0; result == 0 && n < 1000000; n++) {
		char id[16];
		struct rdmadp_device device;

		g_snprintf(id, sizeof(id), "d%u", n);
		device = device_named(id);
		result = collector_add(collector, &device);
	}
	assert_int_equal(result, -EOVERFLOW);
	assert_int_equal(n, 65537);
	/* whatever comes after, and whatever discover returns, the scan is not whole */
	devices = NULL;
	assert_int_equal(collector_add(collector, NULL), -EOVERFLOW);
	assert_null(collector_end(collector, 0, &error));
	assert_string_equal(error->message, "scan failed: Value too large for defined data type");
	collector_begin(collector);
	devices = collector_end(collector, 0, NULL);
	assert_int_equal(devices->len, 0);
}

static void a_failed_scan_has_no_devices(void **state)
{
	static const struct {
		int result;
		const char *says;
	} cases[] = {
		{-EIO, "scan failed: Input/output error"},
		{1, "scan failed: it returned 1, which is neither 0 nor a negative errno"},
		{-70000, "scan failed: it returned -70000, which"},
	};

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(Collector) collector = collector_new("backend x");
		g_autoptr(GError) error = NULL;

		collector_begin(collector);
		add(collector, "a");
		assert_null(collector_end(collector, cases[i].result, &error));
		assert_true(g_error_matches(error, BACKEND_ERROR, BACKEND_ERROR_SCAN));
		assert_true(g_str_has_prefix(error->message, cases[i].says));
	}
}

static void health_always_makes_sense(void **state)
{
	static const struct {
		int result;
		guint state, reason;
		const char *text;
		guint want_state, want_reason;
		const char *want_text;
	} cases[] = {
		{0, RDMADP_HEALTHY, 0, "", RDMADP_HEALTHY, 0, ""},
		{0, RDMADP_HEALTHY, RDMADP_REASON_LINK, "", RDMADP_HEALTHY, 0, ""},
		{0, RDMADP_HEALTH_UNKNOWN, 0, "EINVAL", RDMADP_HEALTH_UNKNOWN, 0, "EINVAL"},
		{0, RDMADP_UNHEALTHY, RDMADP_REASON_GONE, "gone", RDMADP_UNHEALTHY,
		 RDMADP_REASON_GONE, "gone"},
		{0, RDMADP_UNHEALTHY, 0, "x", RDMADP_UNHEALTHY, RDMADP_REASON_VENDOR, "x"},
		{0, RDMADP_UNHEALTHY, 99, "x", RDMADP_UNHEALTHY, RDMADP_REASON_VENDOR, "x"},
		{0, RDMADP_UNHEALTHY, RDMADP_REASON_LINK, "two\nlines\x7f", RDMADP_UNHEALTHY,
		 RDMADP_REASON_LINK, "two lines "},
		{0, RDMADP_UNHEALTHY, RDMADP_REASON_LINK, "bad \xff\xfe utf-8 \xc3\xa4",
		 RDMADP_UNHEALTHY, RDMADP_REASON_LINK, "bad ?? utf-8 \xc3\xa4"},
		{0, 7, 0, "", RDMADP_HEALTH_UNKNOWN, 0,
		 "the backend answered state 7, which is none"},
		{-ENODEV, RDMADP_UNHEALTHY, RDMADP_REASON_GONE, "x", RDMADP_HEALTH_UNKNOWN, 0,
		 "health read failed: No such device"},
	};

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct rdmadp_health health = {.state = cases[i].state, .reason = cases[i].reason};

		g_strlcpy(health.text, cases[i].text, sizeof(health.text));
		collect_health(cases[i].result, &health);
		assert_int_equal(health.size, sizeof(health));
		assert_int_equal(health.state, cases[i].want_state);
		assert_int_equal(health.reason, cases[i].want_reason);
		assert_string_equal(health.text, cases[i].want_text);
	}
}

static void a_text_without_end_is_cut(void **state)
{
	struct rdmadp_health health = {.state = RDMADP_HEALTHY};

	(void)state;
	memset(health.text, 'x', sizeof(health.text));
	collect_health(0, &health);
	assert_int_equal(strlen(health.text), sizeof(health.text) - 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(devices_come_out_sorted),
		cmocka_unit_test(each_scan_starts_empty),
		cmocka_unit_test(a_bad_device_is_left_out_and_logged_once),
		cmocka_unit_test(a_fault_that_comes_back_is_logged_again),
		cmocka_unit_test(a_flood_of_faults_is_cut_short),
		cmocka_unit_test(a_backend_that_never_ends_is_stopped),
		cmocka_unit_test(a_failed_scan_has_no_devices),
		cmocka_unit_test(health_always_makes_sense),
		cmocka_unit_test(a_text_without_end_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
