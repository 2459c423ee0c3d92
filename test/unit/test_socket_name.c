/* SPDX-License-Identifier: Apache-2.0 */
#include "model/socket_name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define DIR "/var/lib/kubelet/device-plugins"

static const struct {
	const char *resource, *instance, *expected;
} names[] = {
	{"rdma/hca_shared_devices_a", NULL, "rdma_hca_shared_devices_a.sock"},
	{"rdma/hca", "0badcafe", "rdma_hca-0badcafe.sock"},
	{"huawei.com/rdma_shared", NULL, "huawei.com_rdma_shared.sock"},
	{"rdma/HCA_1.x", NULL, "rdma_HCA_1.x.sock"},
	{"../x", NULL, "_._x.sock"},
	{".hidden/x y", NULL, "_hidden_x_y.sock"},
};

static void a_resource_has_a_plain_file_name(G_GNUC_UNUSED void **state)
{
	for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autoptr(GError) error = NULL;
		g_autofree char *name =
			socket_name_new(DIR, names[i].resource, names[i].instance, &error);

		assert_null(error);
		assert_string_equal(name, names[i].expected);
	}
}

static void assert_fits(const char *name, gsize dir_length)
{
	gsize length = strlen(name);

	assert_true(dir_length + 1 + length <= SOCKET_NAME_MAX_PATH);
	assert_true(length <= 64 + strlen(".sock"));
	assert_true(g_str_has_suffix(name, ".sock"));
	assert_int_equal(strspn(name, G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "-_."), length);
	assert_int_not_equal(name[0], '.');
}

static void every_directory_that_leaves_24_bytes_is_served(G_GNUC_UNUSED void **state)
{
	static const char *const resources[] = {
		"rdma/hca",
		"a-prefix-that-is-long.example.com/and_a_name_that_is_long_too_1234567890_end",
		"a-prefix-that-is-long.example.com/and_a_name_that_is_long_too_1234567890_enc",
	};

	for (gsize length = 1; length <= SOCKET_NAME_MAX_PATH - 1 - SOCKET_NAME_LEAST; length++) {
		g_autofree char *dir = g_strnfill(length, 'd');
		g_autofree char *last = NULL;

		for (gsize i = 0; i < 2 * G_N_ELEMENTS(resources); i++) {
			const char *instance = i % 2 ? "01234567" : NULL;
			g_autoptr(GError) error = NULL;
			g_autofree char *name =
				socket_name_new(dir, resources[i / 2], instance, &error);

			assert_null(error);
			assert_fits(name, length);
			assert_true(socket_name_is_of(name, dir, resources[i / 2]));
			assert_string_not_equal(name, last ? last : "");
			g_free(last);
			last = g_steal_pointer(&name);
		}
	}
}

static void long_names_that_begin_alike_stay_different(G_GNUC_UNUSED void **state)
{
	g_autofree char *dir = g_strnfill(83 - 1, 'd');
	g_autofree char *a = socket_name_new(dir, "rdma/hca_shared_devices_a", NULL, NULL);
	g_autofree char *b = socket_name_new(dir, "rdma/hca_shared_devices_b", NULL, NULL);
	g_autofree char *a_again = socket_name_new(dir, "rdma/hca_shared_devices_a", NULL, NULL);

	assert_int_equal(strlen(a), SOCKET_NAME_LEAST);
	assert_string_not_equal(a, b);
	assert_string_equal(a, a_again);
	/* A name on a node today must be the name after an update of the daemon. */
	assert_string_equal(a, "rdma_hca_s-924f4e33.sock");
}

static void a_directory_that_is_too_long_is_refused_with_numbers(G_GNUC_UNUSED void **state)
{
	g_autofree char *dir = g_strnfill(SOCKET_NAME_MAX_PATH - SOCKET_NAME_LEAST, 'd');
	g_autoptr(GError) error = NULL;

	assert_null(socket_name_new(dir, "rdma/hca", NULL, &error));
	assert_true(g_error_matches(error, SOCKET_NAME_ERROR, 0));
	assert_non_null(strstr(error->message, "83 bytes"));
	assert_non_null(strstr(error->message, "'rdma/hca'"));
	assert_false(socket_name_is_of("rdma_hca.sock", dir, "rdma/hca"));
}

static void a_trailing_slash_takes_no_room(G_GNUC_UNUSED void **state)
{
	g_autofree char *dir = g_strnfill(SOCKET_NAME_MAX_PATH - 1 - SOCKET_NAME_LEAST, 'd');
	g_autofree char *slashes = g_strconcat(dir, "///", NULL);
	g_autofree char *name = socket_name_new(slashes, "rdma/hca", NULL, NULL);

	assert_string_equal(name, "rdma_hca.sock");
}

static const struct {
	const char *file;
	gboolean is;
} siblings[] = {
	{"rdma_hca.sock", TRUE},
	{"rdma_hca-01234567.sock", TRUE},
	{"rdma_hca-0123456.sock", FALSE},
	{"rdma_hca-012345678.sock", FALSE},
	{"rdma_hca-0123456X.sock", FALSE},
	{"rdma_hcb-01234567.sock", FALSE},
	{"rdma_hca_01234567.sock", FALSE},
	{"kubelet.sock", FALSE},
	{"xrdma_hca-01234567.sock", FALSE},
	{"", FALSE},
	{"rdma_hca-01234567.txt", FALSE},
	{"01234567.sock", FALSE},
};

static void siblings_are_names_of_the_same_resource_only(G_GNUC_UNUSED void **state)
{
	for (gsize i = 0; i < G_N_ELEMENTS(siblings); i++)
		if (socket_name_is_of(siblings[i].file, DIR, "rdma/hca") != siblings[i].is)
			fail_msg("'%s'", siblings[i].file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_resource_has_a_plain_file_name),
		cmocka_unit_test(every_directory_that_leaves_24_bytes_is_served),
		cmocka_unit_test(long_names_that_begin_alike_stay_different),
		cmocka_unit_test(a_directory_that_is_too_long_is_refused_with_numbers),
		cmocka_unit_test(a_trailing_slash_takes_no_room),
		cmocka_unit_test(siblings_are_names_of_the_same_resource_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
