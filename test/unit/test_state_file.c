/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/state_file.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/fixture.h"
#include "support/resource_builder.h"

#define BOOT "7f0e"

static char *folder;

static int begin(G_GNUC_UNUSED void **state)
{
	folder = g_dir_make_tmp("rdmadp-state-XXXXXX", NULL);
	return folder == NULL ? -1 : 0;
}

static int end(G_GNUC_UNUSED void **state)
{
	fixture_remove(folder);
	g_free(folder);
	return 0;
}

/* A resource with three HCAs: a healthy one, one that is down, one that is not complete;
 * the bus knows the first and another device. */
static SavedState *sample(void)
{
	SavedState *state = saved_state_new();
	g_autoptr(Resource) resource = resource_build("vendors=15b3");
	g_autoptr(Snapshot) shown = snapshot_new("rdma/r");
	static const char *const known[] = {
		"a driver=d @vendor=15b3 rdma=mlx5_0 port=1:ib:active uverbs=0 cm", "x", NULL};

	FOUND(resource, "a driver=d @vendor=15b3 rdma=mlx5_0 port=1:ib:active uverbs=0 cm",
	      "b driver=d @vendor=15b3 rdma=mlx5_1 port=1:ib:down uverbs=1 cm",
	      "c driver=d rdma=mlx5_2 cm");
	resource_set_health(resource, "b", FALSE, "link: port 1 is DOWN");
	saved_state_add_bus(state, "pci", device_build_all(known));
	snapshot_add_slot(shown, g_strdup("rdma/r-0"), TRUE, -1);
	snapshot_add_slot(shown, g_strdup("rdma/r-1"), FALSE, 0);
	snapshot_add_slot(shown, g_strdup("0000:3b:00.0"), FALSE, -1);
	snapshot_add_slot(shown, g_strdup("rdma/r-2"), FALSE, -1);
	saved_state_add_resource(state, resource_config(resource), resource_save(resource), shown);
	return state;
}

static char *describe(const struct saved_resource *saved)
{
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < saved->hcas->len; i++) {
		const struct saved_hca *hca = saved->hcas->pdata[i];

		g_string_append_printf(text, "%s%s%s%s%s %s", i > 0 ? "; " : "",
				       device_id(hca->device), hca->usable ? " usable" : "",
				       hca->ready ? " ready" : "", hca->healthy ? " healthy" : "",
				       hca->reason != NULL ? hca->reason : "-");
	}
	return g_string_free(text, FALSE);
}

static void what_was_saved_comes_back(G_GNUC_UNUSED void **state)
{
	g_autoptr(SavedState) before = sample();
	g_autofree char *text = state_file_text(before, BOOT);
	g_autoptr(SavedState) after = state_file_parse(text, strlen(text), BOOT, NULL);
	g_autofree char *again = NULL;
	struct saved_resource *saved;

	assert_non_null(after);
	again = state_file_text(after, BOOT);
	assert_string_equal(text, again);
	assert_int_equal(saved_state_bus(after, "pci")->devices->len, 2);
	assert_null(saved_state_bus(after, "ub"));
	assert_null(saved_state_take_resource(after, "rdma/other"));
	saved = saved_state_take_resource(after, "rdma/r");
	assert_non_null(saved);
	assert_null(saved_state_take_resource(after, "rdma/r"));
	EXPECT_TEXT(describe(saved), "a usable ready healthy -; b usable ready link: port 1 is "
				     "DOWN; c usable healthy -");
	assert_string_equal(saved->bus, "pci");
	g_ptr_array_add(saved->ids, NULL);
	EXPECT_TEXT(g_strjoinv(" ", (char **)saved->ids->pdata),
		    "rdma/r-0 rdma/r-1 0000:3b:00.0 rdma/r-2");
	g_ptr_array_set_size(saved->ids, 4);
	assert_non_null(strstr(text, "\"slots\":2,\"ids\":[\"0000:3b:00.0\",\"rdma/r-2\"]"));
	saved_resource_free(saved);
}

static void a_known_device_is_written_once(G_GNUC_UNUSED void **state)
{
	g_autoptr(SavedState) saved = sample();
	g_autofree char *text = state_file_text(saved, BOOT);
	const char *first = strstr(text, "mlx5_0");

	assert_non_null(first);
	assert_non_null(strstr(first, "{\"identity\":\"a\","));
	assert_null(strstr(strstr(first, "\"resources\""), "mlx5_0"));
	assert_non_null(strstr(text, "mlx5_1"));
}

#define HEAD "{\"version\": 1, \"bootId\": \"" BOOT "\", "
#define RESOURCE "{\"name\": \"rdma/r\", \"bus\": \"pci\", \"selectors\": \"f\", \"hcas\": "
#define DEVICE(id) "{\"id\": \"" id "\", \"identity\": \"i\"}"

static const struct {
	const char *text, *message;
} bad[] = {
	{"", "line 1, column 1: the file is empty (unexpected token near end of file)"},
	{"[]", "version is missing"},
	{"{\"version\": 1}", "bootId is missing"},
	{"{\"version\": \"1\"}", "version is of the wrong kind"},
	{"{\"version\": 2, \"bootId\": \"" BOOT "\"}", "it is of version 2, this program knows 1"},
	{"{\"version\": 1, \"bootId\": \"7f0f\"}", "it is of another boot"},
	{HEAD "\"buses\": {}}", "buses is of the wrong kind"},
	{HEAD "\"buses\": []}", "resources is missing"},
	{HEAD "\"buses\": [1], \"resources\": []}", "buses[0].name is missing"},
	{HEAD "\"buses\": [{\"name\": \"pci\"}], \"resources\": []}",
	 "buses[0].devices is missing"},
	{HEAD "\"buses\": [{\"name\": \"pci\", \"devices\": [7]}], \"resources\": []}",
	 "buses[0].devices[0]: 7 is not an object"},
	{HEAD "\"buses\": [{\"name\": \"pci\", \"devices\": [" DEVICE("a") ", " DEVICE(
		 "b") "]}], "
		      "\"resources\": []}",
	 "\"i\" is there twice"},
	{HEAD "\"buses\": [], \"resources\": [{\"name\": \"r\"}]}", "resources[0].bus is missing"},
	{HEAD "\"buses\": [], \"resources\": [" RESOURCE "0}]}",
	 "resources[0].hcas is of the wrong kind"},
	{HEAD "\"buses\": [], \"resources\": [" RESOURCE "[{}]}]}",
	 "resources[0].hcas[0].identity is missing"},
	{HEAD "\"buses\": [], \"resources\": [" RESOURCE "[{\"identity\": \"i\"}]}]}",
	 "nothing is known of the HCA \"i\""},
	{HEAD "\"buses\": [], \"resources\": [" RESOURCE
	      "[{\"device\": " DEVICE("a") "}, {\"device\": " DEVICE("b") "}]}]}",
	 "\"i\" is there twice"},
};

static void what_is_not_a_state_is_refused(G_GNUC_UNUSED void **state)
{
	for (gsize i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_autoptr(GError) error = NULL;

		assert_null(state_file_parse(bad[i].text, strlen(bad[i].text), BOOT, &error));
		assert_string_equal(error->message, bad[i].message);
	}
}

/* Every cut and every changed byte of a real file: refused or read, never worse. */
static void damage_is_survived(G_GNUC_UNUSED void **state)
{
	g_autoptr(SavedState) saved = sample();
	g_autofree char *text = state_file_text(saved, BOOT);
	gsize length = strlen(text);

	for (gsize i = 0; i < length; i++) {
		g_autofree char *changed = g_strdup(text);
		g_autoptr(SavedState) cut = state_file_parse(text, i, BOOT, NULL);
		g_autoptr(SavedState) other = NULL;

		assert_true(cut == NULL || i == length - 1); /* without its last newline */
		changed[i] = '9';
		other = state_file_parse(changed, length, BOOT, NULL);
		if (other != NULL)
			g_free(state_file_text(other, BOOT));
	}
}

static void more_devices_than_there_can_be_are_refused(G_GNUC_UNUSED void **state)
{
	g_autoptr(GString) text = g_string_new(HEAD "\"buses\": [], \"resources\": [0");
	g_autoptr(GError) error = NULL;

	for (int i = 0; i < 16384; i++)
		g_string_append(text, ",0");
	g_string_append(text, "]}");
	assert_null(state_file_parse(text->str, text->len, BOOT, &error));
	assert_string_equal(error->message, "resources has more than 16384 entries");
}

/* --- on disk --- */

static SavedState *read_here(GError **error)
{
	return state_file_read(folder, BOOT, error);
}

static char *path_of(const char *name)
{
	return g_build_filename(folder, name, NULL);
}

static void a_written_file_is_read(G_GNUC_UNUSED void **state)
{
	g_autoptr(SavedState) before = sample();
	g_autofree char *text = state_file_text(before, BOOT);
	g_autofree char *path = path_of("state.json");
	g_autofree char *leftover = path_of("state.json.new");
	g_autoptr(SavedState) after = NULL;
	struct stat status;

	/* what a crashed process left behind is no obstacle */
	assert_true(g_file_set_contents(leftover, "half", -1, NULL));
	assert_true(state_file_write(folder, "{}\n", NULL));
	assert_true(state_file_write(folder, text, NULL));
	assert_false(g_file_test(leftover, G_FILE_TEST_EXISTS));
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	after = read_here(NULL);
	assert_non_null(after);
	assert_int_equal(after->resources->len, 1);
	g_unlink(path);
}

static void expect_refused(int code, const char *message)
{
	g_autoptr(GError) error = NULL;

	assert_null(read_here(&error));
	assert_true(g_error_matches(error, STATE_FILE_ERROR, code));
	assert_string_equal(error->message, message);
}

static void what_is_no_file_is_refused_at_once(G_GNUC_UNUSED void **state)
{
	g_autofree char *path = path_of("state.json");
	int fd;

	expect_refused(STATE_FILE_ERROR_MISSING, "it cannot be read: No such file or directory");
	assert_int_equal(mkdir(path, 0700), 0);
	expect_refused(STATE_FILE_ERROR_UNUSABLE, "it cannot be read: it is a directory");
	g_rmdir(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	expect_refused(STATE_FILE_ERROR_UNUSABLE, "it cannot be read: it is not a regular file");
	g_unlink(path);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)1 << 40), 0);
	close(fd);
	expect_refused(STATE_FILE_ERROR_UNUSABLE, "it cannot be read: it is larger than 4 MiB");
	g_unlink(path);
}

static void a_file_that_cannot_be_replaced_is_an_error(G_GNUC_UNUSED void **state)
{
	g_autofree char *path = path_of("state.json");
	g_autofree char *inside = path_of("state.json/x");
	g_autofree char *leftover = path_of("state.json.new");
	g_autoptr(GError) error = NULL;

	assert_int_equal(mkdir(path, 0700), 0);
	assert_true(g_file_set_contents(inside, "", -1, NULL));
	assert_false(state_file_write(folder, "{}\n", &error));
	assert_string_equal(error->message, "the file cannot be written: Is a directory");
	assert_false(g_file_test(leftover, G_FILE_TEST_EXISTS));
	g_unlink(inside);
	g_rmdir(path);
	g_clear_error(&error);
	assert_false(state_file_write("/nonexistent", "{}\n", &error));
	assert_string_equal(error->message,
			    "the directory cannot be opened: No such file or directory");
}

static void only_the_last_directory_is_made(G_GNUC_UNUSED void **state)
{
	g_autofree char *dir = path_of("lib");
	g_autofree char *deep = path_of("a/b");
	g_autofree char *file = path_of("file");
	g_autoptr(GError) error = NULL;
	struct stat status;

	assert_true(state_file_make_dir(dir, NULL));
	assert_true(state_file_make_dir(dir, NULL));
	assert_int_equal(stat(dir, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0700);
	assert_false(state_file_make_dir(deep, &error));
	assert_string_equal(error->message, "it cannot be made: No such file or directory");
	g_clear_error(&error);
	assert_true(g_file_set_contents(file, "", -1, NULL));
	assert_false(state_file_make_dir(file, &error));
	assert_string_equal(error->message, "it is no directory");
	g_unlink(file);
	g_rmdir(dir);
}

static void the_boot_id_is_one_word(G_GNUC_UNUSED void **state)
{
	g_autofree char *path = path_of("boot_id");
	g_autoptr(GError) error = NULL;

	assert_true(g_file_set_contents(path, "0f3c-11\n", -1, NULL));
	EXPECT_TEXT(state_file_boot_id(path, NULL), "0f3c-11");
	assert_true(g_file_set_contents(path, "\n", -1, NULL));
	assert_null(state_file_boot_id(path, &error));
	assert_non_null(strstr(error->message, "/boot_id': it has no boot id"));
	g_clear_error(&error);
	g_unlink(path);
	assert_null(state_file_boot_id(path, &error));
	assert_non_null(strstr(error->message, "No such file or directory"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_saved_comes_back),
		cmocka_unit_test(a_known_device_is_written_once),
		cmocka_unit_test(what_is_not_a_state_is_refused),
		cmocka_unit_test(damage_is_survived),
		cmocka_unit_test(more_devices_than_there_can_be_are_refused),
		cmocka_unit_test(a_written_file_is_read),
		cmocka_unit_test(what_is_no_file_is_refused_at_once),
		cmocka_unit_test(a_file_that_cannot_be_replaced_is_an_error),
		cmocka_unit_test(only_the_last_directory_is_made),
		cmocka_unit_test(the_boot_id_is_one_word),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
