/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mock_fixture.h"

/* What a file gives, in the words of a dump, which are its own. */
static const struct good {
	const char *name;
	const char *file;
	const char *dump;
} good[] = {
	{"nothing", "", ""},
	{"only comments", "# one\n\n   # two\n", ""},
	{"no newline at the end", "device a", "device a\n"},
	{"two, sorted by the dump", "device b\ndevice a\n", "device a\n\ndevice b\n"},
	{"tabs, blanks and a comment after it", "\tdevice \t a  # the first\n", "device a\n"},
	{"a hash inside a word", "device a#1\n", "device a#1\n"},
	{"an identity of its own", "device 0000f\n identity 'guid'\n",
	 "device 0000f\n  identity 'guid'\n"},
	{"all single texts",
	 "device a\nparent p\ndriver d\npcie_root pci0000:3a\n"
	 "pcie_path 0000:3a:00.0/0000:3b:00.0\nnote \"no driver is bound; load it\"\n",
	 "device a\n  parent p\n  driver d\n  pcie_root pci0000:3a\n"
	 "  pcie_path 0000:3a:00.0/0000:3b:00.0\n  note \"no driver is bound; load it\"\n"},
	{"the last of a text counts", "device a\ndriver d\ndriver e\n", "device a\n  driver e\n"},
	{"an empty text", "device a\nnote \"\"\n", "device a\n  note \"\"\n"},
	{"a quote that is not closed", "device a\nnote \"b c\n", "device a\n  note \"b c\"\n"},
	{"NUMA node", "device a\nnuma 1\n", "device a\n  numa 1\n"},
	{"all flags", "device a\nflags software elsewhere pf vf\n",
	 "device a\n  flags vf pf elsewhere software\n"},
	{"no flags", "device a\nflags\n", "device a\n"},
	{"repeated attributes",
	 "device a\nattribute eid 1\nattribute eid 2\nattribute vendor 15b3\n",
	 "device a\n  attribute eid 1\n  attribute eid 2\n  attribute vendor 15b3\n"},
	{"interfaces",
	 "device a\nnet bond0 ethernet upper\nnet ib0.8001 infiniband child\n"
	 "net eth7 unknown representor\n",
	 "device a\n  net bond0 ethernet upper\n  net ib0.8001 infiniband child\n"
	 "  net eth7 unknown representor\n"},
	{"two RDMA devices, each with its own",
	 "device a\nrdma mlx5_0 mlx5_ib\nport 1 infiniband active\nport 2 ethernet active-defer\n"
	 "uverbs infiniband/uverbs0 231:192\numad infiniband/umad0 231:0 1\n"
	 "rdma smi1 - management\nport 1 unknown armed\nissm infiniband/issm1 231:65 1\n"
	 "rdma_cm infiniband/rdma_cm 10:121\n",
	 "device a\n  rdma_cm infiniband/rdma_cm 10:121\n"
	 "  rdma mlx5_0 mlx5_ib\n    port 1 infiniband active\n    port 2 ethernet active-defer\n"
	 "    uverbs infiniband/uverbs0 231:192\n    umad infiniband/umad0 231:0 1\n"
	 "  rdma smi1 - management\n    port 1 unknown armed\n    issm infiniband/issm1 231:65 "
	 "1\n"},
	{"a vendor's node before any RDMA device",
	 "device a\nnode hfi1_0 240:0\nrdma hfi1_0 hfi1\n",
	 "device a\n  node hfi1_0 240:0\n  rdma hfi1_0 hfi1\n"},
};

static void test_a_file_becomes_devices(void **state)
{
	struct mock_fixture *f = *state;

	for (gsize i = 0; i < G_N_ELEMENTS(good); i++) {
		print_message("file: %s\n", good[i].name);
		fixture_write(f->root, FILE_PATH, good[i].file);
		assert_scan(f, good[i].dump);
		fixture_write(f->root, FILE_PATH, good[i].dump);
		assert_scan(f, good[i].dump);
		assert_string_equal(f->log->str, "");
	}
}

/* One line that is wrong, below "device bad" and before "device good", and what the
 * message says was expected. */
static const struct wrong {
	const char *line;
	const char *expected;
} wrong[] = {
	{"nonsense", "one of the words that README.md lists"},
	{"driver", "driver NAME"},
	{"driver a b", "driver NAME"},
	{"note not quoted", "note \"TEXT\""},
	{"flags a b c d e f g h i", "flags [vf] [pf]"},
	{"numa -1", "numa NODE"},
	{"numa 99999999999", "numa NODE"},
	{"numa 1x", "numa NODE"},
	{"flags vf fast", "flags [vf] [pf] [elsewhere] [software]"},
	{"attribute colour blue", "attribute KEY VALUE"},
	{"rdma mlx5_0", "rdma NAME DRIVER|- [management]"},
	{"rdma mlx5_0 mlx5_ib fast", "rdma NAME DRIVER|- [management]"},
	{"port 1 ethernet active", "below rdma"},
	{"net eth0", "net NAME infiniband|ethernet|unknown"},
	{"net eth0 token-ring", "net NAME infiniband|ethernet|unknown"},
	{"net eth0 ethernet lower", "[upper] [representor] [child]"},
	{"uverbs infiniband/uverbs0", "uverbs PATH MAJOR:MINOR"},
	{"uverbs infiniband/uverbs0 231", "uverbs PATH MAJOR:MINOR"},
	{"uverbs infiniband/uverbs0 231:", "uverbs PATH MAJOR:MINOR"},
	{"uverbs infiniband/uverbs0 231:x", "uverbs PATH MAJOR:MINOR"},
	{"umad infiniband/umad0 231:0 one", "umad PATH MAJOR:MINOR PORT"},
	{"health fine", "health ok|unknown|down|files|gone|fatal|vendor [\"TEXT\"]"},
	{"flap fast", "flap SECONDS"},
	{"hang -1", "hang SECONDS|forever"},
	{"hang", "hang SECONDS|forever"},
	{"discover fail EIO", "discover fail ERRNO"},
	{"discover later 5", "discover fail ERRNO"},
	{"rdma m d\nport 0 ethernet active", "port NUMBER"},
	{"rdma m d\nport 1 ethernet up", "port NUMBER"},
	{"device", "device ID, each id once"},
	{"device first", "device ID, each id once"},
};

static guint count_lines(const char *text)
{
	guint n = 1;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

static void test_a_wrong_line_costs_its_device_only(void **state)
{
	struct mock_fixture *f = *state;

	for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++) {
		g_autofree char *file = g_strdup_printf(
			"device first\ndevice bad\n%s\ndriver d\ndevice good\n", wrong[i].line);
		g_autofree char *line = g_strdup_printf("line %u:", 2 + count_lines(wrong[i].line));
		g_autofree char *dump = NULL;

		print_message("line: %s\n", wrong[i].line);
		g_string_truncate(f->log, 0);
		fixture_write(f->root, FILE_PATH, file);
		dump = scan(f);
		/* 'device' itself ends "bad" and begins a nameless one. */
		assert_string_equal(dump, g_str_has_prefix(wrong[i].line, "device")
						  ? "device bad\n\ndevice first\n\ndevice good\n"
						  : "device first\n\ndevice good\n");
		assert_non_null(strstr(f->log->str, line));
		assert_non_null(strstr(f->log->str, wrong[i].expected));
		assert_int_equal(count_lines(f->log->str), 2);
	}
}

static void test_lines_before_any_device_are_refused(void **state)
{
	struct mock_fixture *f = *state;

	fixture_write(f->root, FILE_PATH, "driver d\ndevice a\n");
	assert_scan(f, "device a\n");
	assert_non_null(strstr(f->log->str, "line 1: expected 'device ID before this line'"));
}

static void test_a_device_has_a_limited_number_of_lines(void **state)
{
	struct mock_fixture *f = *state;
	g_autoptr(GString) file = g_string_new("device a\n");

	for (int i = 0; i < 99; i++)
		g_string_append(file, "attribute eid 1\n");
	fixture_write(f->root, FILE_PATH, file->str);
	g_free(scan(f));
	assert_string_equal(f->log->str, "");
	g_string_append(file, "attribute eid 1\ndevice b\n");
	fixture_write(f->root, FILE_PATH, file->str);
	assert_scan(f, "device b\n");
	assert_non_null(strstr(f->log->str, "line 101: expected 'at most 100 lines"));
}

static void test_a_wrong_line_is_told_once_per_change(void **state)
{
	struct mock_fixture *f = *state;
	gsize once;

	fixture_write(f->root, FILE_PATH, "device a\nnonsense\n");
	assert_scan(f, "");
	once = f->log->len;
	assert_true(once > 0);
	assert_scan(f, "");
	assert_int_equal(f->log->len, once);
	fixture_write(f->root, FILE_PATH, "device a\nnonsense again\n");
	assert_scan(f, "");
	assert_true(f->log->len > once);
}

static void test_the_example_is_right(void **state)
{
	struct mock_fixture *f = *state;
	g_autofree char *text = NULL;
	g_autofree char *dump = NULL;
	g_autoptr(GError) error = NULL;

	assert_true(g_file_get_contents(SOURCE_DIR "/backends/mock/example-devices", &text, NULL,
					NULL));
	fixture_write(f->root, FILE_PATH, text);
	dump = dump_scan(f->mock, f->sysfs, "/dev", f->log, NULL);
	assert_string_equal(f->log->str, "");
	if (!dump_expect(dump, SOURCE_DIR "/test/unit/mock-example.expected", &error))
		fail_msg("%s", error->message);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, mock_setup, mock_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_a_file_becomes_devices),
		TEST(test_a_wrong_line_costs_its_device_only),
		TEST(test_lines_before_any_device_are_refused),
		TEST(test_a_device_has_a_limited_number_of_lines),
		TEST(test_a_wrong_line_is_told_once_per_change),
		TEST(test_the_example_is_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
