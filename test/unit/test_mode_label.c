/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/mode_label.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "model/labels.h"
#include "support/fixture.h"
#include "support/wait.h"

#define KEY "rdma.network.alibabacloud.com/exclusive"

static void labels_are_read_as_the_downward_api_writes_them(void **state)
{
	static const struct {
		const char *text, *value; /* NULL: not there */
	} cases[] = {
		{"", NULL},
		{"a/b=\"x\"\n", "x"},
		{"a/b=\"x\"", "x"},
		{"a=\"1\"\na/b=\"true\"\na/c=\"2\"\n", "true"},
		{"a/b=\"\"\n", ""},
		{"a/b=\"say \\\"yes\\\"\"\n", "say \"yes\""},
		/* by hand */
		{"a/b=true\n", "true"},
		{" a/b = \"true\" \r\n", "true"},
		{"# a comment\n\na/b=true\n", "true"},
		{"#a/b=true\n", NULL},
		{"a/b=false\na/b=true\n", "true"},
		{"a/b\n", NULL},
		{"a/bc=true\na/=true\n", NULL},
		{"A/B=true\n", NULL},
		{"a/b=\"\n", "\""},
		{"a/b=x=y\n", "x=y"},
	};

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *value = labels_find(cases[i].text, "a/b");

		if (cases[i].value == NULL)
			assert_null(value);
		else
			assert_string_equal(value, cases[i].value);
	}
}

/* --- the file --- */

struct fixture {
	char *root;
	Settings *settings;
	ModeLabel *label;
	guint changes;
};

static void on_change(gpointer data)
{
	((struct fixture *)data)->changes++;
}

static int set_up(void **state)
{
	struct fixture *fixture = g_new0(struct fixture, 1);

	fixture->root = g_dir_make_tmp("rdmadp-label-XXXXXX", NULL);
	fixture->settings = settings_new();
	g_free(fixture->settings->mode_label_file);
	fixture->settings->mode_label_file = g_build_filename(fixture->root, "labels", NULL);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	mode_label_free(fixture->label);
	mode_label_free(NULL);
	settings_free(fixture->settings);
	fixture_remove(fixture->root);
	g_free(fixture->root);
	g_free(fixture);
	return 0;
}

static void start(struct fixture *fixture)
{
	fixture->label = mode_label_new(fixture->settings, on_change, fixture);
}

static gboolean has_changed(gpointer data)
{
	struct fixture *fixture = data;

	return fixture->changes > 0;
}

static void await_change(struct fixture *fixture, gboolean exclusive)
{
	test_wait(has_changed, fixture);
	assert_int_equal(fixture->changes, 1);
	assert_int_equal(mode_label_is_exclusive(fixture->label), exclusive);
	fixture->changes = 0;
}

static void the_label_is_followed(void **state)
{
	struct fixture *fixture = *state;

	fixture_write(fixture->root, "labels", KEY "=\"true\"\n");
	start(fixture);
	assert_true(mode_label_is_exclusive(fixture->label));
	fixture_write(fixture->root, "labels", KEY "=\"false\"\n");
	await_change(fixture, FALSE);
	fixture_write(fixture->root, "labels", "other=\"1\"\n" KEY "=\"true\"\n");
	await_change(fixture, TRUE);
	/* only "true" is true */
	fixture_write(fixture->root, "labels", KEY "=\"True\"\n");
	await_change(fixture, FALSE);
}

static void a_file_that_is_not_there_says_nothing(void **state)
{
	struct fixture *fixture = *state;

	start(fixture);
	assert_false(mode_label_is_exclusive(fixture->label));
	assert_false(mode_label_is_known(fixture->label));
	fixture_write(fixture->root, "labels", KEY "=\"true\"\n");
	await_change(fixture, TRUE);
	assert_true(mode_label_is_known(fixture->label));
	fixture_delete(fixture->root, "labels");
	fixture_write(fixture->root, "labels.new", "x\n");
	/* when it is there again without the label, the node has none */
	fixture_write(fixture->root, "labels", "other=\"1\"\n");
	await_change(fixture, FALSE);
}

/* Who waits for the first word has to hear it, even if it is no. */
static void the_first_word_is_a_change(void **state)
{
	struct fixture *fixture = *state;

	start(fixture);
	fixture_write(fixture->root, "labels", "other=\"1\"\n");
	await_change(fixture, FALSE);
	assert_true(mode_label_is_known(fixture->label));
}

/* As the kubelet writes a volume: a link to a link to a directory of the moment. */
static void links_of_a_volume_are_followed(void **state)
{
	struct fixture *fixture = *state;

	fixture_apply(fixture->root, "dir ..a\nfile ..a/labels = " KEY "=\"true\"\n"
				     "dir ..b\nfile ..b/labels = " KEY "=\"false\"\n"
				     "link ..data -> ..a\nlink labels -> ..data/labels\n");
	start(fixture);
	assert_true(mode_label_is_exclusive(fixture->label));
	fixture_apply(fixture->root, "remove ..data\nlink ..data -> ..b\n");
	await_change(fixture, FALSE);
}

/* A file that is being written, or is something else altogether. */
static void garbage_is_no_label(void **state)
{
	static const char *const texts[] = {"",	       "\x01\xff\xfe=", KEY,
					    KEY "=\n", KEY "=\"tru",	"\n\n=true\n"};
	struct fixture *fixture = *state;

	start(fixture);
	for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
		fixture_write(fixture->root, "labels", KEY "=\"true\"\r\n");
		await_change(fixture, TRUE);
		fixture_write(fixture->root, "labels", texts[i]);
		await_change(fixture, FALSE);
	}
}

static void without_a_file_the_mode_is_shared(void **state)
{
	struct fixture *fixture = *state;

	g_free(fixture->settings->mode_label_file);
	fixture->settings->mode_label_file = g_strdup("");
	start(fixture);
	assert_false(mode_label_is_exclusive(fixture->label));
	assert_true(mode_label_is_known(fixture->label));
}

static void other_settings_are_taken(void **state)
{
	struct fixture *fixture = *state;
	g_autoptr(Settings) other = settings_new();

	fixture_write(fixture->root, "labels", "a/b=\"true\"\n");
	start(fixture);
	assert_false(mode_label_is_exclusive(fixture->label));
	mode_label_configure(fixture->label, fixture->settings);
	assert_int_equal(fixture->changes, 0);
	g_free(fixture->settings->mode_label);
	fixture->settings->mode_label = g_strdup("a/b");
	mode_label_configure(fixture->label, fixture->settings);
	assert_int_equal(fixture->changes, 1);
	assert_true(mode_label_is_exclusive(fixture->label));
	mode_label_configure(fixture->label, other);
	assert_int_equal(fixture->changes, 2);
	assert_false(mode_label_is_exclusive(fixture->label));
}

/* Where there is no inotify instance left, as on a node with many containers. */
static void a_file_that_cannot_be_watched_is_read_with_sighup(void **state)
{
	struct fixture *fixture = *state;
	struct rlimit before;
	struct rlimit none;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){0, before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	start(fixture);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	fixture_write(fixture->root, "labels", KEY "=\"true\"\n");
	mode_label_configure(fixture->label, fixture->settings);
	assert_int_equal(fixture->changes, 1);
	assert_true(mode_label_is_exclusive(fixture->label));
	mode_label_configure(fixture->label, fixture->settings);
	assert_int_equal(fixture->changes, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		cmocka_unit_test(labels_are_read_as_the_downward_api_writes_them),
		TEST(the_label_is_followed),
		TEST(a_file_that_is_not_there_says_nothing),
		TEST(the_first_word_is_a_change),
		TEST(links_of_a_volume_are_followed),
		TEST(garbage_is_no_label),
		TEST(without_a_file_the_mode_is_shared),
		TEST(other_settings_are_taken),
		TEST(a_file_that_cannot_be_watched_is_read_with_sighup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
