/* SPDX-License-Identifier: Apache-2.0 */
#include "model/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/resource_builder.h"

/* One file is not right any more: gone if it has not moved. */
struct look {
	const char *file;
	const char *moved_to;
	GPtrArray *left_out;
};

static char *look_again(const struct char_file *file, gpointer data, GError **error)
{
	const struct look *look = data;

	if (!g_str_has_suffix(file->host_path, look->file))
		return g_strdup(file->host_path);
	if (look->moved_to == NULL)
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NXIO, "'%s' is another device now",
			    file->host_path);
	return g_strdup(look->moved_to);
}

static void hear(const char *text, gpointer data)
{
	g_ptr_array_add(((struct look *)data)->left_out, g_strdup(text));
}

static Allocation *compose(const Resource *resource, struct look *look, GError **error)
{
	static const char *const ids[] = {"rdma/r-1"};
	const struct file_checker checker = {look_again, look->left_out == NULL ? NULL : hear,
					     look};
	g_autoptr(Snapshot) snapshot = resource_snapshot(resource);

	return resource_compose(resource_config(resource), snapshot, ids, 1, &checker, error);
}

static char *devices_text(const Allocation *allocation)
{
	g_autoptr(GString) text = g_string_new(NULL);

	for (guint i = 0; i < allocation->devices->len; i++) {
		const struct allocation_device *device = allocation->devices->pdata[i];

		g_string_append_printf(text, "%s%s", i > 0 ? " " : "",
				       strrchr(device->host_path, '/') + 1);
	}
	return g_string_free(g_steal_pointer(&text), FALSE);
}

#define TWO                                                                                        \
	"a rdma=mlx5_0 port=1:ib:active uverbs=0 umad=0 cm",                                       \
		"b rdma=mlx5_1 port=1:ib:active uverbs=10 umad=1 node=vendor0 cm"

static const struct {
	const char *config;
	const char *file, *moved_to;
	const char *devices; /* NULL: refused */
	const char *told; /* what is left out, or the error */
} looks[] = {
	{"", "none", NULL, "rdma_cm uverbs0 uverbs10 vendor0", NULL},
	{"umad=optional", "none", NULL, "rdma_cm umad0 umad1 uverbs0 uverbs10 vendor0", NULL},
	{"umad=optional", "umad1", NULL, "rdma_cm umad0 uverbs0 vendor0",
	 "'mlx5_1' is left out: '/dev/infiniband/umad1' is another device now"},
	{"", "uverbs0", NULL, "rdma_cm uverbs10 vendor0",
	 "'mlx5_0' is left out: '/dev/infiniband/uverbs0' is another device now"},
	{"", "vendor0", NULL, "rdma_cm uverbs0 uverbs10",
	 "'/dev/vendor0' is left out: '/dev/vendor0' is another device now"},
	{"rdma_cm=optional", "rdma_cm", NULL, "uverbs0 uverbs10 vendor0",
	 "'/dev/infiniband/rdma_cm' is left out: '/dev/infiniband/rdma_cm' is another device now"},
	{"", "rdma_cm", NULL, NULL, "'rdma/r': '/dev/infiniband/rdma_cm' is another device now"},
	{"", "uverbs0", "/dev/infiniband/uverbs5", "rdma_cm uverbs10 uverbs5 vendor0", NULL},
};

static void a_container_gets_what_is_right_at_the_last_look(G_GNUC_UNUSED void **state)
{
	for (gsize i = 0; i < G_N_ELEMENTS(looks); i++) {
		g_autoptr(GPtrArray) left_out = g_ptr_array_new_with_free_func(g_free);
		g_autoptr(Resource) resource = resource_build(looks[i].config);
		g_autoptr(Allocation) allocation = NULL;
		g_autoptr(GError) error = NULL;
		g_autofree char *devices = NULL;
		struct look look = {looks[i].file, looks[i].moved_to, left_out};

		FOUND(resource, TWO);
		allocation = compose(resource, &look, &error);
		devices = allocation == NULL ? g_strdup("refused") : devices_text(allocation);
		assert_string_equal(devices,
				    looks[i].devices == NULL ? "refused" : looks[i].devices);
		if (error != NULL)
			g_ptr_array_add(left_out, g_strdup(error->message));
		assert_int_equal(left_out->len, looks[i].told != NULL);
		if (left_out->len > 0)
			assert_string_equal(left_out->pdata[0], looks[i].told);
	}
}

/* Nobody listens, and the resolver does not say why. */
static char *refuse_silently(G_GNUC_UNUSED const struct char_file *file,
			     G_GNUC_UNUSED gpointer data, G_GNUC_UNUSED GError **error)
{
	return NULL;
}

static void a_file_without_a_reason_is_left_out_as_well(G_GNUC_UNUSED void **state)
{
	static const struct file_checker checker = {.resolve = refuse_silently};
	static const char *const ids[] = {"rdma/r-0"};
	g_autoptr(Resource) resource = resource_build("rdma_cm=off");
	g_autoptr(Snapshot) snapshot = NULL;
	g_autoptr(GError) error = NULL;

	FOUND(resource, "a rdma=mlx5_0 uverbs=0");
	snapshot = resource_snapshot(resource);
	assert_null(
		resource_compose(resource_config(resource), snapshot, ids, 1, &checker, &error));
	assert_string_equal(error->message, "'rdma/r' has no HCA that can be used now: 'mlx5_0' is "
					    "left out: it cannot be used");
}

static void nothing_left_is_an_error_that_says_why(G_GNUC_UNUSED void **state)
{
	g_autoptr(Resource) resource = resource_build("hcaMax=2");
	g_autoptr(GError) error = NULL;
	struct look look = {.file = "uverbs0"};

	FOUND(resource, "a rdma=mlx5_0 uverbs=0 cm", "b rdma=mlx5_1 uverbs=1 cm",
	      "c rdma=mlx5_2 uverbs=2 cm");
	FOUND(resource, "a rdma=mlx5_0 uverbs=0 cm", "b rdma=mlx5_1 cm");
	assert_null(compose(resource, &look, &error));
	assert_string_equal(error->message,
			    "'rdma/r' has no HCA that can be used now: 'b' is left out: uverbs for "
			    "mlx5_1 missing; 'c' is left out: the device is gone or no longer "
			    "selected; 'mlx5_0' is left "
			    "out: '/dev/infiniband/uverbs0' is another device now");
}

static void mounts_and_variables_come_along(G_GNUC_UNUSED void **state)
{
	static const char *const ids[] = {"rdma/r-0"};
	g_autoptr(Resource) resource = resource_build("hcaList=NCCL_IB_HCA");
	ResourceConfig *config = (ResourceConfig *)resource_config(resource);
	struct resource_mount *mount = g_new0(struct resource_mount, 1);
	g_autoptr(Allocation) allocation = NULL;
	g_autoptr(Snapshot) snapshot = NULL;
	const struct allocation_mount *given;
	const struct allocation_pair *pair;

	mount->host_path = g_strdup("/host");
	mount->container_path = g_strdup("/container");
	mount->read_only = TRUE;
	config->mounts = g_ptr_array_new_with_free_func((GDestroyNotify)resource_mount_free);
	g_ptr_array_add(config->mounts, mount);
	FOUND(resource, "a rdma=mlx5_2 uverbs=0 cm", "b rdma=mlx5_1 uverbs=1 cm");
	snapshot = resource_snapshot(resource);
	allocation = resource_compose(config, snapshot, ids, 1, NULL, NULL);
	assert_non_null(allocation);
	given = allocation->mounts->pdata[0];
	assert_string_equal(given->host_path, "/host");
	assert_string_equal(given->container_path, "/container");
	assert_true(given->read_only);
	assert_int_equal(allocation->envs->len, 1);
	pair = allocation->envs->pdata[0];
	assert_string_equal(pair->key, "NCCL_IB_HCA");
	assert_string_equal(pair->value, "mlx5_1,mlx5_2");
	assert_int_equal(allocation->annotations->len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_container_gets_what_is_right_at_the_last_look),
		cmocka_unit_test(a_file_without_a_reason_is_left_out_as_well),
		cmocka_unit_test(nothing_left_is_an_error_that_says_why),
		cmocka_unit_test(mounts_and_variables_come_along),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
