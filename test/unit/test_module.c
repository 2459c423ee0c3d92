/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <glib/gstdio.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
/* cmocka.h needs the ones above */
#include <cmocka.h>

#include "edge/module.h"

/* A backend directory of its own for each test, and a place outside of it. */
struct fixture {
	char *top;
	char *dir;
	char *outside;
	GPtrArray *texts; /* paths that live as long as the test */
};

static void write_copy(const char *from, const char *to)
{
	g_autofree char *content = NULL;
	gsize length = 0;

	assert_true(g_file_get_contents(from, &content, &length, NULL));
	assert_true(g_file_set_contents(to, content, (gssize)length, NULL));
	assert_int_equal(g_chmod(to, 0644), 0);
}

static const char *text(struct fixture *f, const char *format, ...) G_GNUC_PRINTF(2, 3);

static const char *text(struct fixture *f, const char *format, ...)
{
	va_list args;
	char *made;

	va_start(args, format);
	made = g_strdup_vprintf(format, args);
	va_end(args);
	g_ptr_array_add(f->texts, made);
	return made;
}

/* Copies a backend of evil/ to <dir>/<as>.so. */
static const char *put(struct fixture *f, const char *dir, const char *name, const char *as)
{
	const char *to = text(f, "%s/%s.so", dir, as);

	write_copy(text(f, BINARY_DIR "/test/evil/%s.so", name), to);
	return to;
}

static int setup(void **state)
{
	struct fixture *f = g_new0(struct fixture, 1);

	f->top = g_dir_make_tmp("rdmadp-module-XXXXXX", NULL);
	f->dir = g_strdup_printf("%s/backends", f->top);
	f->outside = g_strdup_printf("%s/outside", f->top);
	assert_int_equal(g_mkdir(f->dir, 0755) | g_mkdir(f->outside, 0755), 0);
	/* whatever the umask of who runs the tests is */
	assert_int_equal(g_chmod(f->dir, 0755) | g_chmod(f->outside, 0755), 0);
	f->texts = g_ptr_array_new_with_free_func(g_free);
	*state = f;
	return 0;
}

static void remove_tree(const char *path)
{
	g_autoptr(GDir) stream = g_dir_open(path, 0, NULL);
	const char *name;

	while (stream && (name = g_dir_read_name(stream))) {
		g_autofree char *entry = g_build_filename(path, name, NULL);

		if (g_file_test(entry, G_FILE_TEST_IS_SYMLINK) || g_unlink(entry) == 0)
			(void)g_unlink(entry);
		else
			remove_tree(entry);
	}
	(void)g_rmdir(path);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	remove_tree(f->top);
	g_ptr_array_unref(f->texts);
	g_free(f->top);
	g_free(f->dir);
	g_free(f->outside);
	g_free(f);
	return 0;
}

/* Loading fails, and the error holds all the texts (NULL-terminated). */
static void assert_refused(const char *dir, const char *name, ...)
{
	g_autoptr(GError) error = NULL;
	const char *text;
	va_list texts;

	assert_null(module_load(dir, name, &error));
	assert_non_null(error);
	assert_int_equal(error->domain, MODULE_ERROR);
	va_start(texts, name);
	while ((text = va_arg(texts, const char *)))
		if (!strstr(error->message, text))
			fail_msg("\"%s\" does not say \"%s\"", error->message, text);
	va_end(texts);
}

static void a_good_backend_is_loaded(void **state)
{
	struct fixture *f = *state;
	g_autoptr(GError) error = NULL;
	const struct rdmadp_backend *vtable;

	put(f, f->dir, "good", "good");
	vtable = module_load(f->dir, "good", &error);
	assert_null(error);
	assert_non_null(vtable);
	assert_string_equal(vtable->name, "good");
	assert_string_equal(vtable->keys[0], "vendor");
	assert_non_null(vtable->discover);
	assert_null(vtable->match);
	assert_ptr_equal(module_load(f->dir, "good", NULL), vtable);
}

static void what_a_later_backend_appended_is_left_out(void **state)
{
	struct fixture *f = *state;
	const struct rdmadp_backend *vtable;

	put(f, f->dir, "later", "later");
	vtable = module_load(f->dir, "later", NULL);
	assert_non_null(vtable);
	assert_int_equal(vtable->size, sizeof(*vtable));
	assert_string_equal(vtable->version, "9");
	assert_null(vtable->event_fd);
}

static void a_backend_without_keys_has_an_empty_list(void **state)
{
	struct fixture *f = *state;
	const struct rdmadp_backend *vtable;

	put(f, f->dir, "keyless", "keyless");
	vtable = module_load(f->dir, "keyless", NULL);
	assert_non_null(vtable);
	assert_non_null(vtable->keys);
	assert_null(vtable->keys[0]);
}

static void an_object_that_breaks_the_contract_is_refused(void **state)
{
	static const struct {
		const char *name;
		const char *says;
	} cases[] = {
		{"misnamed", "calls itself 'other'"},
		{"nameless", "calls itself 'NULL'"},
		{"unversioned", "'version' is not a text"},
		{"small", "size is 80, not 88 or more"},
		{"odd", "size is 90, not 88 or more"},
		{"untrue", "says size 96, but has only 88 bytes"},
		{"oversized", "size 4096, but has only"},
		{"bad_key", "keys[1] 'class code'"},
		{"endless_keys", "no NULL within 256"},
		{"no_init", "has no init"},
		{"no_fini", "has no fini"},
		{"no_discover", "has no discover"},
		{"no_health", "has no health"},
		{"no_ack", "has no event_ack"},
		{"no_event_fd", "has no event_fd"},
		{"no_symbol", "exports no 'rdmadp_backend_v1'"},
		{"function", "is not a const struct rdmadp_backend"},
		{"unresolved", "evil_nobody_has_this"},
		{"borrowed", "libevil_lender.so', not from the file itself"},
	};
	struct fixture *f = *state;

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		put(f, f->dir, cases[i].name, cases[i].name);
		assert_refused(f->dir, cases[i].name, cases[i].name, "is refused", cases[i].says,
			       NULL);
		/* and again, when the object is already in memory */
		assert_refused(f->dir, cases[i].name, cases[i].says, NULL);
	}
}

static void a_file_that_is_no_object_is_refused(void **state)
{
	struct fixture *f = *state;
	const char *file = text(f, "%s/text.so", f->dir);

	assert_true(g_file_set_contents(file, "not an object\n", -1, NULL));
	assert_int_equal(g_chmod(file, 0644), 0);
	assert_refused(f->dir, "text", "'text'", "is refused", file, NULL);
}

static void a_name_that_is_not_in_the_pattern_is_refused(void **state)
{
	static const char *const names[] = {
		"",	     "Good",   "../good", "good.so", "9good",
		"a/../good", "good\n", "_good",	  "gööd",    "a23456789012345678901234567890123"};
	struct fixture *f = *state;

	put(f, f->dir, "good", "good");
	for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
		assert_refused(f->dir, names[i], names[i], "cannot be the name of a backend", NULL);
}

static void a_missing_file_is_told_with_what_is_there(void **state)
{
	struct fixture *f = *state;
	const char *open = put(f, f->dir, "good", "open");
	const char *other = text(f, "%s/README", f->dir);
	g_autoptr(GError) error = NULL;

	put(f, f->dir, "good", "Odd");
	put(f, f->dir, "good", "alpha");
	put(f, f->dir, "good", "zeta");
	assert_int_equal(g_chmod(open, 0666), 0);
	assert_true(g_file_set_contents(other, "", -1, NULL));
	assert_refused(f->dir, "ub", "backend 'ub': no file '", "/ub.so'",
		       "backends there: 'alpha', 'zeta'; refused: 'Odd.so' (its name is not",
		       "'open.so' (others than its owner may write", NULL);
	assert_null(module_load(f->dir, "ub", &error));
	assert_int_equal(error->code, MODULE_ERROR_MISSING);
}

static void what_the_list_leaves_out_is_told(void **state)
{
	struct fixture *f = *state;
	const char *open = put(f, f->dir, "good", "open");
	g_autofree char *none = module_list_trouble(f->dir);
	g_autofree char *file = NULL;
	g_autofree char *directory = NULL;

	assert_null(none);
	assert_int_equal(g_chmod(open, 0666), 0);
	file = module_list_trouble(f->dir);
	assert_non_null(strstr(file, "are refused: 'open.so' (others than its owner may write"));
	assert_int_equal(g_chmod(f->dir, 0777), 0);
	directory = module_list_trouble(f->dir);
	assert_non_null(strstr(directory, "backend directory: others than its owner may write"));
}

static void an_empty_directory_has_none(void **state)
{
	struct fixture *f = *state;

	assert_refused(f->dir, "pci", "backends there: none", NULL);
}

static void the_list_holds_what_could_be_loaded(void **state)
{
	struct fixture *f = *state;
	const char *open = put(f, f->dir, "good", "open");
	g_auto(GStrv) names = NULL;
	g_auto(GStrv) none = NULL;

	put(f, f->dir, "good", "alpha");
	put(f, f->dir, "good", "zeta");
	assert_int_equal(g_chmod(open, 0646), 0);
	names = module_list(f->dir);
	assert_int_equal(g_strv_length(names), 2);
	assert_string_equal(names[0], "alpha");
	assert_string_equal(names[1], "zeta");
	assert_int_equal(g_chmod(f->dir, 0777), 0);
	none = module_list(f->dir);
	assert_int_equal(g_strv_length(none), 0);
}

static void a_file_that_others_may_write_is_refused(void **state)
{
	static const int modes[] = {0666, 0664, 0646, 04622};
	struct fixture *f = *state;
	const char *file = put(f, f->dir, "good", "good");

	for (gsize i = 0; i < G_N_ELEMENTS(modes); i++) {
		const char *mode = text(f, "(mode %04o)", (guint)modes[i]);

		assert_int_equal(g_chmod(file, modes[i]), 0);
		assert_refused(f->dir, "good", file, mode, "chmod go-w", NULL);
	}
}

static void a_directory_that_others_may_write_is_refused(void **state)
{
	static const int modes[] = {0777, 01777, 0775};
	struct fixture *f = *state;

	put(f, f->dir, "good", "good");
	for (gsize i = 0; i < G_N_ELEMENTS(modes); i++) {
		assert_int_equal(g_chmod(f->dir, modes[i]), 0);
		assert_refused(f->dir, "good", "backend directory", f->dir, "chmod go-w", NULL);
	}
}

static void a_foreign_owner_is_refused(void **state)
{
	struct fixture *f = *state;
	const char *file = put(f, f->dir, "good", "good");

	if (geteuid() != 0)
		skip();
	assert_int_equal(chown(file, 12345, (gid_t)-1), 0);
	assert_refused(f->dir, "good", "good.so' belongs to user 12345", NULL);
	assert_int_equal(chown(file, 0, (gid_t)-1), 0);
	assert_int_equal(chown(f->dir, 12345, (gid_t)-1), 0);
	assert_refused(f->dir, "good", "backend directory", "belongs to user 12345", NULL);
}

static void a_link_out_of_the_directory_is_refused(void **state)
{
	struct fixture *f = *state;
	const char *target = put(f, f->outside, "good", "good");
	const char *link = text(f, "%s/good.so", f->dir);
	/* a directory whose name only begins like ours is outside, too */
	const char *twin = text(f, "%s-2", f->dir);

	assert_int_equal(symlink(target, link), 0);
	assert_refused(f->dir, "good", "is refused", "outside the backend directory", target, NULL);
	assert_int_equal(g_mkdir(twin, 0755), 0);
	put(f, twin, "good", "good");
	assert_int_equal(g_unlink(link), 0);
	assert_int_equal(symlink("../backends-2/good.so", link), 0);
	assert_refused(f->dir, "good", "outside the backend directory", NULL);
}

static void a_link_that_stays_inside_is_followed(void **state)
{
	struct fixture *f = *state;
	const char *folder = text(f, "%s/v1", f->dir);
	const char *link = text(f, "%s/good.so", f->dir);

	assert_int_equal(g_mkdir(folder, 0755), 0);
	put(f, folder, "good", "good-1.2");
	assert_int_equal(symlink("v1/good-1.2.so", link), 0);
	assert_int_equal(g_chmod(folder, 0777), 0);
	assert_refused(f->dir, "good", "is refused", "/v1' (mode 0777)", NULL);
	assert_int_equal(g_chmod(folder, 0755), 0);
	assert_non_null(module_load(f->dir, "good", NULL));
}

static void a_directory_reached_through_a_link_is_fine(void **state)
{
	struct fixture *f = *state;
	const char *link = text(f, "%s/link", f->top);

	put(f, f->dir, "good", "good");
	assert_int_equal(symlink("backends", link), 0);
	assert_non_null(module_load(link, "good", NULL));
}

static void a_link_to_nothing_is_refused(void **state)
{
	struct fixture *f = *state;
	const char *link = text(f, "%s/good.so", f->dir);

	assert_int_equal(symlink("nowhere.so", link), 0);
	assert_refused(f->dir, "good", "is refused", "leads nowhere", NULL);
}

static void only_a_regular_file_is_loaded(void **state)
{
	struct fixture *f = *state;
	const char *path = text(f, "%s/good.so", f->dir);

	assert_int_equal(g_mkdir(path, 0755), 0);
	assert_refused(f->dir, "good", "is not a regular file", NULL);
	assert_int_equal(g_rmdir(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_refused(f->dir, "good", "is not a regular file", NULL);
}

static void a_directory_that_is_none_is_refused(void **state)
{
	struct fixture *f = *state;
	const char *file = put(f, f->dir, "good", "good");
	const char *missing = text(f, "%s/missing", f->top);

	assert_refused(missing, "good", "backend 'good'", missing, "set 'backend_dir'", NULL);
	assert_refused(file, "good", "is not a directory", NULL);
}

static void a_file_that_was_replaced_needs_a_new_process(void **state)
{
	struct fixture *f = *state;
	const char *file = put(f, f->dir, "good", "good");

	assert_non_null(module_load(f->dir, "good", NULL));
	assert_int_equal(g_unlink(file), 0);
	put(f, f->dir, "later", "good");
	assert_refused(f->dir, "good", "was replaced", "restart rdmadp", NULL);
}

static void a_second_name_for_a_loaded_file_is_judged_again(void **state)
{
	struct fixture *f = *state;
	const char *link = text(f, "%s/twin.so", f->dir);

	put(f, f->dir, "good", "good");
	assert_non_null(module_load(f->dir, "good", NULL));
	assert_int_equal(symlink("good.so", link), 0);
	assert_refused(f->dir, "twin", "calls itself 'good'", NULL);
	assert_non_null(module_load(f->dir, "good", NULL));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(a_good_backend_is_loaded),
		TEST(what_a_later_backend_appended_is_left_out),
		TEST(a_backend_without_keys_has_an_empty_list),
		TEST(an_object_that_breaks_the_contract_is_refused),
		TEST(a_file_that_is_no_object_is_refused),
		TEST(a_name_that_is_not_in_the_pattern_is_refused),
		TEST(a_missing_file_is_told_with_what_is_there),
		TEST(what_the_list_leaves_out_is_told),
		TEST(an_empty_directory_has_none),
		TEST(the_list_holds_what_could_be_loaded),
		TEST(a_file_that_others_may_write_is_refused),
		TEST(a_directory_that_others_may_write_is_refused),
		TEST(a_foreign_owner_is_refused),
		TEST(a_link_out_of_the_directory_is_refused),
		TEST(a_link_that_stays_inside_is_followed),
		TEST(a_directory_reached_through_a_link_is_fine),
		TEST(a_link_to_nothing_is_refused),
		TEST(only_a_regular_file_is_loaded),
		TEST(a_directory_that_is_none_is_refused),
		TEST(a_file_that_was_replaced_needs_a_new_process),
		TEST(a_second_name_for_a_loaded_file_is_judged_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
