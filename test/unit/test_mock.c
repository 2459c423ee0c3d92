/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
/* cmocka.h needs the ones above */
#include <cmocka.h>

#include "edge/module.h"
#include "support/dump.h"
#include "support/fixture.h"

#define BACKENDS BINARY_DIR "/lib/rdmadp/backends"
#define FILE_PATH "sys/bus/mock/devices"

/* The backend, an instance of it and the root whose file it reads. */
struct fixture {
	const struct rdmadp_backend *mock;
	char *root;
	char *sysfs;
	struct rdmadp_host host;
	GString *log;
	void *instance;
};

static struct fixture *logging; /* the host's log function has no other way to it */

static void host_log(const struct rdmadp_host *host, int level, const char *message)
{
	assert_ptr_equal(host, &logging->host);
	g_string_append_printf(logging->log, "%d %s\n", level, message);
}

static int setup(void **state)
{
	struct fixture *f = g_new0(struct fixture, 1);

	f->mock = module_load(BACKENDS, "mock", NULL);
	assert_non_null(f->mock);
	f->root = fixture_new("dir sys/bus/mock\n");
	f->sysfs = g_build_filename(f->root, "sys", NULL);
	f->log = g_string_new(NULL);
	f->host = (struct rdmadp_host){sizeof(f->host), 0, f->sysfs, "/dev", host_log};
	logging = f;
	assert_int_equal(f->mock->init(&f->host, &f->instance), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	f->mock->fini(f->instance);
	fixture_remove(f->root);
	g_free(f->root);
	g_free(f->sysfs);
	g_string_free(f->log, TRUE);
	g_free(f);
	return 0;
}

static char *scan(struct fixture *f)
{
	g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);

	assert_int_equal(f->mock->discover(f->instance, dump_emit, texts), 0);
	return dump_join(texts);
}

static void assert_scan(struct fixture *f, const char *expected)
{
	g_autofree char *seen = scan(f);

	assert_string_equal(seen, expected);
}

static int health(struct fixture *f, const char *id, struct rdmadp_health *ret)
{
	struct rdmadp_device device = {.size = sizeof(device), .id = id, .identity = id};

	*ret = (struct rdmadp_health){.size = sizeof(*ret)};
	return f->mock->health(f->instance, &device, ret);
}

static void assert_health(struct fixture *f, guint state, guint reason, const char *text)
{
	struct rdmadp_health seen;

	assert_int_equal(health(f, "a", &seen), 0);
	assert_int_equal(seen.state, state);
	assert_int_equal(seen.reason, reason);
	assert_string_equal(seen.text, text);
}

/* --- the format --- */

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
	struct fixture *f = *state;

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
	{"note \"not closed", "every quote closed"},
	{"flags a b c d e f g h i", "not more than 8"},
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
	{"health fine", "health ok|unknown|down|files|gone|fatal|vendor [TEXT]"},
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
	struct fixture *f = *state;

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
	struct fixture *f = *state;

	fixture_write(f->root, FILE_PATH, "driver d\ndevice a\n");
	assert_scan(f, "device a\n");
	assert_non_null(strstr(f->log->str, "line 1: expected 'a 'device' line before this one'"));
}

static void test_a_device_has_a_limited_number_of_lines(void **state)
{
	struct fixture *f = *state;
	g_autoptr(GString) file = g_string_new("device a\n");

	for (int i = 0; i < 99; i++)
		g_string_append(file, "attribute eid 1\n");
	fixture_write(f->root, FILE_PATH, file->str);
	g_free(scan(f));
	assert_string_equal(f->log->str, "");
	g_string_append(file, "attribute eid 1\ndevice b\n");
	fixture_write(f->root, FILE_PATH, file->str);
	assert_scan(f, "device b\n");
	assert_non_null(strstr(f->log->str, "line 101: expected 'not more than 100 lines"));
}

static void test_a_wrong_line_is_told_once_per_change(void **state)
{
	struct fixture *f = *state;
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
	struct fixture *f = *state;
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

/* --- discovery --- */

static void test_no_file_is_no_device(void **state)
{
	struct fixture *f = *state;

	assert_scan(f, "");
	fixture_delete(f->root, "sys/bus");
	assert_scan(f, "");
	assert_string_equal(f->log->str, "");
}

static void test_a_file_that_cannot_be_read_fails_the_scan(void **state)
{
	struct fixture *f = *state;
	struct rdmadp_health seen;

	fixture_apply(f->root, "dir sys/bus/mock/devices\n");
	assert_int_equal(f->mock->discover(f->instance, dump_emit, NULL), -EISDIR);
	assert_int_equal(health(f, "a", &seen), -EISDIR);
}

static void test_a_scan_can_be_made_to_fail(void **state)
{
	struct fixture *f = *state;
	g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);

	fixture_write(f->root, FILE_PATH, "discover fail 5\ndevice a\n");
	assert_int_equal(f->mock->discover(f->instance, dump_emit, texts), -EIO);
	assert_int_equal(texts->len, 1);
}

static int refuse(void *sink, const struct rdmadp_device *device)
{
	++*(int *)sink;
	assert_string_equal(device->id, "a");
	return -E2BIG;
}

static void test_what_emit_returns_ends_the_scan(void **state)
{
	struct fixture *f = *state;
	int calls = 0;

	fixture_write(f->root, FILE_PATH, "device a\ndevice b\n");
	assert_int_equal(f->mock->discover(f->instance, refuse, &calls), -E2BIG);
	assert_int_equal(calls, 1);
}

static void test_init_refuses_a_path_that_is_too_long(void **state)
{
	struct fixture *f = *state;
	g_autofree char *path = g_strnfill(5000, 'x');
	struct rdmadp_host host = {.size = sizeof(host), .sysfs_root = path};
	void *untouched = f;

	assert_int_equal(f->mock->init(&host, &untouched), -ENAMETOOLONG);
	assert_ptr_equal(untouched, f);
}

/* --- health --- */

static const struct health_row {
	const char *line;
	guint state, reason;
	const char *text;
} health_rows[] = {
	{"", RDMADP_HEALTHY, RDMADP_REASON_NONE, ""},
	{"health ok", RDMADP_HEALTHY, RDMADP_REASON_NONE, ""},
	{"health ok fine", RDMADP_HEALTHY, RDMADP_REASON_NONE, "fine"},
	{"health unknown", RDMADP_HEALTH_UNKNOWN, RDMADP_REASON_NONE, ""},
	{"health down \"port 1 is DOWN\"", RDMADP_UNHEALTHY, RDMADP_REASON_LINK, "port 1 is DOWN"},
	{"health files", RDMADP_UNHEALTHY, RDMADP_REASON_FILES, ""},
	{"health gone", RDMADP_UNHEALTHY, RDMADP_REASON_GONE, ""},
	{"health fatal \"firmware died\"", RDMADP_UNHEALTHY, RDMADP_REASON_FATAL, "firmware died"},
	{"health vendor hot", RDMADP_UNHEALTHY, RDMADP_REASON_VENDOR, "hot"},
	{"hang 0", RDMADP_HEALTHY, RDMADP_REASON_NONE, ""},
	{"nonsense", RDMADP_UNHEALTHY, RDMADP_REASON_GONE, "it is not in the file"},
};

static void test_health_is_what_the_file_says_now(void **state)
{
	struct fixture *f = *state;

	assert_health(f, RDMADP_UNHEALTHY, RDMADP_REASON_GONE, "it is not in the file");
	for (gsize i = 0; i < G_N_ELEMENTS(health_rows); i++) {
		g_autofree char *file = g_strdup_printf("device a\n%s\n", health_rows[i].line);

		fixture_write(f->root, FILE_PATH, file);
		assert_health(f, health_rows[i].state, health_rows[i].reason, health_rows[i].text);
	}
	assert_string_equal(f->log->str, "");
}

static void test_a_long_text_is_cut(void **state)
{
	struct fixture *f = *state;
	g_autofree char *text = g_strnfill(400, 'x');
	g_autofree char *file = g_strdup_printf("device a\nhealth fatal %s\n", text);
	struct rdmadp_health seen;

	fixture_write(f->root, FILE_PATH, file);
	assert_int_equal(health(f, "a", &seen), 0);
	assert_int_equal(strlen(seen.text), sizeof(seen.text) - 1);
}

/* The file's time is put back instead of waiting. */
static void set_age(struct fixture *f, double seconds)
{
	g_autofree char *path = g_build_filename(f->root, FILE_PATH, NULL);
	gint64 then = g_get_real_time() - (gint64)(seconds * 1e6);
	struct timespec times[2] = {{.tv_sec = then / 1000000, .tv_nsec = then % 1000000 * 1000}};

	times[1] = times[0];
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void test_flapping_alternates(void **state)
{
	struct fixture *f = *state;

	fixture_write(f->root, FILE_PATH, "device a\nflap 1000\nhealth ok\n");
	set_age(f, 500);
	assert_health(f, RDMADP_HEALTHY, RDMADP_REASON_NONE, "");
	set_age(f, 1500);
	assert_health(f, RDMADP_UNHEALTHY, RDMADP_REASON_LINK, "the link flaps");
	set_age(f, 2500);
	assert_health(f, RDMADP_HEALTHY, RDMADP_REASON_NONE, "");
}

/* --- what hangs --- */

struct reader {
	struct fixture *f;
	pthread_t thread;
	gint started, ended;
	int result;
};

static void *read_health(void *data)
{
	struct reader *reader = data;
	struct rdmadp_health seen;

	g_atomic_int_set(&reader->started, 1);
	reader->result = health(reader->f, "a", &seen);
	g_atomic_int_set(&reader->ended, 1);
	return NULL;
}

static void *read_devices(void *data)
{
	struct reader *reader = data;
	g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);

	g_atomic_int_set(&reader->started, 1);
	reader->result = reader->f->mock->discover(reader->f->instance, dump_emit, texts);
	g_atomic_int_set(&reader->ended, 1);
	return NULL;
}

static void start(struct reader *reader, struct fixture *f, void *(*body)(void *))
{
	*reader = (struct reader){.f = f, .result = 1};
	assert_int_equal(pthread_create(&reader->thread, NULL, body, reader), 0);
	while (!g_atomic_int_get(&reader->started))
		g_usleep(1000);
}

static void test_hanging_ends_when_the_file_changes(void **state)
{
	struct fixture *f = *state;
	struct reader first, second;
	struct rdmadp_health seen;

	fixture_write(f->root, FILE_PATH, "discover hang forever\ndevice a\nhang forever\n");
	start(&first, f, read_health);
	start(&second, f, read_devices);
	assert_int_equal(health(f, "b", &seen), 0); /* another read is not held up */
	fixture_write(f->root, FILE_PATH, "device a\n");
	pthread_join(first.thread, NULL);
	pthread_join(second.thread, NULL);
	assert_int_equal(first.result, 0);
	assert_int_equal(second.result, 0);
}

static void test_hanging_ends_when_the_time_is_over(void **state)
{
	struct fixture *f = *state;

	fixture_write(f->root, FILE_PATH, "device a\nhang 0.02\nhealth ok\n");
	assert_health(f, RDMADP_HEALTHY, RDMADP_REASON_NONE, "");
}

static void ignore_signal(int number)
{
	(void)number;
}

static void test_hanging_ends_with_a_signal(void **state)
{
	struct fixture *f = *state;
	struct sigaction action = {.sa_handler = ignore_signal};
	struct reader reader;

	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	fixture_write(f->root, FILE_PATH, "device a\nhang forever\n");
	start(&reader, f, read_health);
	while (!g_atomic_int_get(&reader.ended)) {
		pthread_kill(reader.thread, SIGUSR1);
		g_usleep(1000);
	}
	pthread_join(reader.thread, NULL);
	assert_int_equal(reader.result, -EINTR);
}

/* --- events --- */

static gboolean is_readable(struct fixture *f, int wait_ms)
{
	struct pollfd event = {.fd = f->mock->event_fd(f->instance), .events = POLLIN};

	return poll(&event, 1, wait_ms) == 1;
}

static void assert_event(struct fixture *f)
{
	assert_true(is_readable(f, 10000));
	assert_int_equal(f->mock->event_ack(f->instance), 1);
	assert_false(is_readable(f, 0));
	assert_int_equal(f->mock->event_ack(f->instance), 0);
}

static void test_each_way_of_changing_the_file_is_an_event(void **state)
{
	struct fixture *f = *state;
	g_autofree char *from = g_build_filename(f->root, "sys/bus/mock/.devices.new", NULL);
	g_autofree char *to = g_build_filename(f->root, FILE_PATH, NULL);

	assert_scan(f, "");
	assert_false(is_readable(f, 0));
	fixture_write(f->root, FILE_PATH, "device a\n");
	assert_event(f);
	fixture_write(f->root, FILE_PATH, "device b\n");
	assert_event(f);
	fixture_write(f->root, "sys/bus/mock/.devices.new", "device c\n");
	assert_event(f);
	assert_int_equal(rename(from, to), 0);
	assert_event(f);
	assert_scan(f, "device c\n");
	fixture_delete(f->root, FILE_PATH);
	assert_event(f);
}

static void test_a_directory_that_comes_late_is_watched_from_the_next_scan(void **state)
{
	struct fixture *f = *state;

	fixture_delete(f->root, "sys/bus");
	assert_scan(f, "");
	fixture_apply(f->root, "dir sys/bus/mock\n");
	assert_scan(f, "");
	fixture_write(f->root, FILE_PATH, "device a\n");
	assert_event(f);
	assert_scan(f, "device a\n");
}

static void test_two_instances_see_their_own_roots(void **state)
{
	struct fixture *f = *state;
	void *other = NULL;
	g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
	g_autofree char *elsewhere =
		fixture_new("dir bus/mock\nfile bus/mock/devices = device b\n");
	struct rdmadp_host host = {sizeof(host), 0, elsewhere, "/dev", host_log};

	fixture_write(f->root, FILE_PATH, "device a\n");
	assert_int_equal(f->mock->init(&host, &other), 0);
	assert_int_equal(f->mock->discover(other, dump_emit, texts), 0);
	assert_string_equal(texts->pdata[0], "device b\n");
	assert_scan(f, "device a\n");
	f->mock->fini(other);
	assert_scan(f, "device a\n");
	fixture_remove(elsewhere);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_a_file_becomes_devices),
		TEST(test_a_wrong_line_costs_its_device_only),
		TEST(test_lines_before_any_device_are_refused),
		TEST(test_a_device_has_a_limited_number_of_lines),
		TEST(test_a_wrong_line_is_told_once_per_change),
		TEST(test_the_example_is_right),
		TEST(test_no_file_is_no_device),
		TEST(test_a_file_that_cannot_be_read_fails_the_scan),
		TEST(test_a_scan_can_be_made_to_fail),
		TEST(test_what_emit_returns_ends_the_scan),
		TEST(test_init_refuses_a_path_that_is_too_long),
		TEST(test_health_is_what_the_file_says_now),
		TEST(test_a_long_text_is_cut),
		TEST(test_flapping_alternates),
		TEST(test_hanging_ends_when_the_file_changes),
		TEST(test_hanging_ends_when_the_time_is_over),
		TEST(test_hanging_ends_with_a_signal),
		TEST(test_each_way_of_changing_the_file_is_an_event),
		TEST(test_a_directory_that_comes_late_is_watched_from_the_next_scan),
		TEST(test_two_instances_see_their_own_roots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
