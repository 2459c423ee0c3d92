/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "edge/log.h"

/* stderr goes to a file while a test logs. */
struct capture {
	char *dir;
	char *path;
	int saved;
};

static int capture_begin(void **state)
{
	struct capture *capture = g_new0(struct capture, 1);
	*state = capture;
	capture->dir = g_dir_make_tmp("rdmadp-log-XXXXXX", NULL);
	capture->path = g_build_filename(capture->dir, "stderr", NULL);
	capture->saved = dup(STDERR_FILENO);
	int fd = open(capture->path, O_CREAT | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
	if (capture->saved < 0 || fd < 0 || dup2(fd, STDERR_FILENO) < 0)
		return -1;
	close(fd);
	/* Tells what the test before has lost. */
	log_error("test", "begins");
	return ftruncate(STDERR_FILENO, 0);
}

static int capture_end(void **state)
{
	struct capture *capture = *state;
	dup2(capture->saved, STDERR_FILENO);
	close(capture->saved);
	g_unlink(capture->path);
	g_rmdir(capture->dir);
	g_free(capture->path);
	g_free(capture->dir);
	g_free(capture);
	log_setup(LOG_LEVEL_INFO, LOG_FORMAT_TEXT, NULL);
	return 0;
}

static char *captured(void **state)
{
	struct capture *capture = *state;
	char *text = NULL;
	assert_true(g_file_get_contents(capture->path, &text, NULL, NULL));
	return text;
}

static void assert_log_matches(void **state, const char *pattern)
{
	g_autofree char *text = captured(state);
	if (!g_regex_match_simple(pattern, text, G_REGEX_DOLLAR_ENDONLY, 0))
		fail_msg("'%s' does not match '%s'", text, pattern);
}

#define TIME "20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]\\.[0-9]{3}Z"

static void text_has_time_level_area_and_message(void **state)
{
	log_setup(LOG_LEVEL_INFO, LOG_FORMAT_TEXT, "node1");
	log_warning("backend pci", "scan failed: %d", 7);
	assert_log_matches(state, "^" TIME " warning: backend pci: scan failed: 7\n$");
}

static void journal_has_priority_and_no_time(void **state)
{
	log_setup(LOG_LEVEL_DEBUG, LOG_FORMAT_JOURNAL, NULL);
	log_error("a", "one");
	log_warning("a", "two");
	log_info("a", "three");
	log_debug("a", "four");
	assert_log_matches(state, "^<3>a: one\n<4>a: two\n<6>a: three\n<7>a: four\n$");
}

static void json_is_one_object_a_line(void **state)
{
	log_setup(LOG_LEVEL_INFO, LOG_FORMAT_JSON, "node1");
	log_info("resource rdma/a", "said \"%s\"", "x\ny");
	assert_log_matches(state,
			   "^\\{\"timestamp\":\"" TIME "\",\"level\":\"info\","
			   "\"area\":\"resource rdma/a\","
			   "\"message\":\"said \\\\\"x\\\\ny\\\\\"\",\"node\":\"node1\"\\}\n$");
}

static void json_without_node_leaves_it_out(void **state)
{
	log_setup(LOG_LEVEL_INFO, LOG_FORMAT_JSON, NULL);
	log_info("a", "b");
	assert_log_matches(state, "\"message\":\"b\"\\}\n$");
}

static void level_filters(void **state)
{
	static const struct {
		enum log_level level;
		const char *want;
	} cases[] = {
		{LOG_LEVEL_ERROR, "^<3>a: e\n$"},
		{LOG_LEVEL_WARNING, "^<3>a: e\n<4>a: w\n$"},
		{LOG_LEVEL_INFO, "^<3>a: e\n<4>a: w\n<6>a: i\n$"},
		{LOG_LEVEL_DEBUG, "^<3>a: e\n<4>a: w\n<6>a: i\n<7>a: d\n$"},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		assert_int_equal(ftruncate(STDERR_FILENO, 0), 0);
		log_setup(cases[i].level, LOG_FORMAT_JOURNAL, NULL);
		log_error("a", "e");
		log_warning("a", "w");
		log_info("a", "i");
		log_debug("a", "d");
		assert_log_matches(state, cases[i].want);
		assert_int_equal(log_enabled(LOG_LEVEL_DEBUG), cases[i].level == LOG_LEVEL_DEBUG);
	}
}

static void control_characters_cannot_forge_a_line(void **state)
{
	static const struct {
		const char *message, *want;
	} cases[] = {
		{"a\nb\tc\rd", "a\\nb\\tc\\rd"},
		{"\x1b[31mred", "\\x1b[31mred"},
		{"bad \xff utf-8 \xe2\x82", "bad \\xff utf-8 \\xe2\\x82"},
		{"c1 \xc2\x9b!", "c1 \\x9b!"},
		{"del \x7f", "del \\x7f"},
		{"b\xc3\xb6se", "b\xc3\xb6se"},
		{"back\\slash", "back\\slash"},
	};
	log_setup(LOG_LEVEL_INFO, LOG_FORMAT_JOURNAL, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		assert_int_equal(ftruncate(STDERR_FILENO, 0), 0);
		log_info("x", "%s", cases[i].message);
		g_autofree char *text = captured(state);
		g_autofree char *want = g_strdup_printf("<6>x: %s\n", cases[i].want);
		assert_string_equal(text, want);
	}
}

static void auto_knows_the_journal_by_its_stream(void **state)
{
	struct stat st;
	assert_int_equal(fstat(STDERR_FILENO, &st), 0);
	g_autofree char *stream =
		g_strdup_printf("%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	g_setenv("JOURNAL_STREAM", stream, TRUE);
	log_setup(LOG_LEVEL_INFO, LOG_FORMAT_AUTO, NULL);
	log_info("a", "b");
	assert_log_matches(state, "^<6>a: b\n$");
	g_setenv("JOURNAL_STREAM", "1:2", TRUE);
	log_setup(LOG_LEVEL_INFO, LOG_FORMAT_AUTO, NULL);
	log_info("a", "c");
	assert_log_matches(state, "\n" TIME " info: a: c\n$");
	g_unsetenv("JOURNAL_STREAM");
	log_setup(LOG_LEVEL_INFO, LOG_FORMAT_AUTO, NULL);
	log_info("a", "d");
	assert_log_matches(state, "\n" TIME " info: a: d\n$");
}

static void errno_survives(void **state)
{
	(void)state;
	log_setup(LOG_LEVEL_INFO, LOG_FORMAT_TEXT, NULL);
	errno = ENODEV;
	log_info("a", "b");
	assert_int_equal(errno, ENODEV);
}

static gpointer log_many(gpointer data)
{
	g_autofree char *filler = g_strnfill(6000, 'x');
	for (int i = 0; i < 50; i++)
		log_info((const char *)data, "%s", filler);
	return NULL;
}

static void lines_of_threads_do_not_mix(void **state)
{
	log_setup(LOG_LEVEL_INFO, LOG_FORMAT_JOURNAL, NULL);
	GThread *one = g_thread_new("one", log_many, (gpointer) "one");
	GThread *two = g_thread_new("two", log_many, (gpointer) "two");
	g_thread_join(one);
	g_thread_join(two);
	assert_log_matches(state, "^(<6>(one|two): x{6000}\n){100}$");
}

static void a_closed_stderr_is_survived(void **state)
{
	(void)state;
	log_setup(LOG_LEVEL_INFO, LOG_FORMAT_TEXT, NULL);
	close(STDERR_FILENO);
	log_error("a", "nobody hears");
	assert_int_equal(fcntl(STDERR_FILENO, F_GETFD), -1);
}

/* Standard error is a pipe from here on; returns its other end. */
static int replace_stderr_by_pipe(void)
{
	int ends[2];
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_true(dup2(ends[1], STDERR_FILENO) >= 0);
	close(ends[1]);
	assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
	return ends[0];
}

/* What is in the pipe now. */
static char *drain(int fd)
{
	GString *text = g_string_new(NULL);
	char buffer[4096];
	ssize_t n;
	while ((n = read(fd, buffer, sizeof(buffer))) > 0)
		g_string_append_len(text, buffer, n);
	return g_string_free(text, FALSE);
}

/* More than a pipe holds; one line is longer than what a pipe takes in one piece. */
static void fill_pipe(guint lines)
{
	g_autofree char *filler = g_strnfill(5000, 'x');
	for (guint i = 0; i < lines; i++)
		log_info("a", "%s", filler);
}

static guint count_lines_of(const char *text, gsize length)
{
	guint n = 0;
	for (const char *end; (end = strchr(text, '\n')) != NULL; text = end + 1)
		n += (gsize)(end - text) == length;
	return n;
}

static void a_reader_who_stopped_blocks_nobody(void **state)
{
	(void)state;
	log_setup(LOG_LEVEL_INFO, LOG_FORMAT_JOURNAL, NULL);
	int fd = replace_stderr_by_pipe();
	fill_pipe(100);
	g_autofree char *before = drain(fd);
	log_info("a", "here again");
	g_autofree char *after = drain(fd);
	close(fd);
	guint whole = count_lines_of(before, strlen("<6>a: ") + 5000);
	g_autofree char *lost =
		g_strdup_printf("<4>log: %u lines of the log are lost: nobody took them\n"
				"<6>a: here again\n",
				100 - whole);
	assert_in_range(whole, 1, 99);
	assert_true(g_str_has_suffix(after, lost));
	/* What was broken off is a line of its own. */
	assert_int_equal(strlen(after) - strlen(lost), g_str_has_suffix(before, "\n") ? 0 : 1);
}

static void a_reader_who_is_gone_is_survived(void **state)
{
	(void)state;
	log_setup(LOG_LEVEL_INFO, LOG_FORMAT_TEXT, NULL);
	void (*before)(int) = signal(SIGPIPE, SIG_IGN);
	close(replace_stderr_by_pipe());
	fill_pipe(3);
	(void)signal(SIGPIPE, before);
}

static void a_full_disk_is_survived(void **state)
{
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	int file = dup(STDERR_FILENO);
	if (full < 0)
		skip();
	log_setup(LOG_LEVEL_INFO, LOG_FORMAT_JOURNAL, NULL);
	assert_true(dup2(full, STDERR_FILENO) >= 0);
	fill_pipe(3);
	assert_true(dup2(file, STDERR_FILENO) >= 0);
	log_info("a", "b");
	g_autofree char *text = captured(state);
	assert_string_equal(text, "<4>log: 3 lines of the log are lost: nobody took them\n"
				  "<6>a: b\n");
	close(full);
	close(file);
}

static void text_names_every_level(void **state)
{
	log_setup(LOG_LEVEL_DEBUG, LOG_FORMAT_TEXT, NULL);
	log_error("a", "1");
	log_debug("a", "2");
	assert_log_matches(state, "^" TIME " error: a: 1\n" TIME " debug: a: 2\n$");
}

#define captured_test(name) cmocka_unit_test_setup_teardown(name, capture_begin, capture_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		captured_test(text_has_time_level_area_and_message),
		captured_test(text_names_every_level),
		captured_test(journal_has_priority_and_no_time),
		captured_test(json_is_one_object_a_line),
		captured_test(json_without_node_leaves_it_out),
		captured_test(level_filters),
		captured_test(control_characters_cannot_forge_a_line),
		captured_test(auto_knows_the_journal_by_its_stream),
		captured_test(errno_survives),
		captured_test(lines_of_threads_do_not_mix),
		captured_test(a_closed_stderr_is_survived),
		captured_test(a_reader_who_stopped_blocks_nobody),
		captured_test(a_reader_who_is_gone_is_survived),
		captured_test(a_full_disk_is_survived),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
