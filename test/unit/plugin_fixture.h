/* SPDX-License-Identifier: Apache-2.0 */
/* A Kubelet with one Plugin in a temp directory. Include after fake_kubelet.h. */
#pragma once

#include "edge/settings.h"
#include "kubelet/kubelet.h"

struct plugin_fixture {
	Rpc *rpc;
	char *root, *dir, *registry;
	struct fake_kubelet *fake;
	Kubelet *kubelet;
	Plugin *plugin;
	gboolean stopped;
	const char *allocate_problem; /* what the resource answers, if not a device */
	guint allocated; /* ids */
	int prefers_more; /* than the kubelet wants */
};

static inline Allocation *fixture_allocate(Snapshot *snapshot, const char *const *ids, gsize n_ids,
					   gpointer data, GError **error)
{
	struct plugin_fixture *fixture = data;
	Allocation *allocation;

	if (fixture->allocate_problem) {
		g_set_error_literal(error, g_quark_from_static_string("test"), 1,
				    fixture->allocate_problem);
		return NULL;
	}
	allocation = allocation_new();
	for (gsize i = 0; i < n_ids; i++) {
		g_autofree char *path = g_strconcat("/dev/infiniband/", ids[i], NULL);

		assert_non_null(snapshot_find(snapshot, ids[i]));
		allocation_add_device(allocation, path);
		fixture->allocated++;
	}
	allocation_finish(allocation);
	return allocation;
}

/* The last ones, so that a test can tell it from a copy of the first. */
static inline GPtrArray *fixture_prefer(G_GNUC_UNUSED Snapshot *snapshot,
					const struct preference *wanted, gpointer data)
{
	const struct plugin_fixture *fixture = data;
	GPtrArray *chosen = g_ptr_array_new();
	guint n = g_strv_length(wanted->available);

	for (int i = 0; i < wanted->size + fixture->prefers_more; i++)
		g_ptr_array_add(chosen, wanted->available[n - 1 - (guint)i % n]);
	return chosen;
}

static const struct plugin_ops shared_ops = {.allocate = fixture_allocate};
static const struct plugin_ops exclusive_ops = {.allocate = fixture_allocate,
						.prefer = fixture_prefer};

/* 'n' devices "a-0"…; 'bad' of them Unhealthy. */
static inline Snapshot *make_list(guint n, guint bad)
{
	Snapshot *snapshot = snapshot_new("rdma/a");

	for (guint i = 0; i < n; i++)
		snapshot_add_slot(snapshot, g_strdup_printf("a-%u", i), i >= bad, -1);
	return snapshot;
}

static inline void publish(struct plugin_fixture *fixture, guint n, guint bad)
{
	Snapshot *snapshot = make_list(n, bad);

	plugin_publish(fixture->plugin, snapshot);
	snapshot_unref(snapshot);
}

static inline struct plugin_status status_of(const struct plugin_fixture *fixture)
{
	struct plugin_status status;

	plugin_get_status(fixture->plugin, &status);
	return status;
}

static inline gboolean error_contains(const struct plugin_fixture *fixture, const char *text)
{
	const char *error = status_of(fixture).last_error;

	return error && strstr(error, text);
}

static inline Kubelet *fixture_kubelet(struct plugin_fixture *fixture, int registration,
				       gboolean unique)
{
	struct kubelet_options options = {fixture->dir, fixture->registry, registration, unique};

	return kubelet_new(fixture->rpc, &options);
}

static inline void fixture_start(struct plugin_fixture *fixture, int registration,
				 const struct plugin_ops *ops)
{
	fixture->kubelet = fixture_kubelet(fixture, registration, FALSE);
	fixture->plugin = kubelet_add(fixture->kubelet, "rdma/a", ops, fixture);
}

static inline void on_stopped(gpointer data)
{
	*(gboolean *)data = TRUE;
}

static inline void kubelet_stop_and_wait(Kubelet *kubelet)
{
	gboolean stopped = FALSE;

	kubelet_stop(kubelet, on_stopped, &stopped);
	assert_false(stopped);
	WAIT_FOR(stopped);
}

static inline int fixture_set_up(void **state)
{
	struct plugin_fixture *fixture = g_new0(struct plugin_fixture, 1);

	fixture->rpc = rpc_new();
	fixture->root = g_dir_make_tmp("rdmadp-plugin-XXXXXX", NULL);
	fixture->dir = g_build_filename(fixture->root, "device-plugins", NULL);
	fixture->registry = g_build_filename(fixture->root, "plugins_registry", NULL);
	g_mkdir(fixture->dir, 0750);
	g_mkdir(fixture->registry, 0750);
	fixture->fake = fake_new(fixture->rpc, fixture->dir);
	*state = fixture;
	return 0;
}

static inline guint remove_files(const char *dir)
{
	g_autoptr(GDir) listing = g_dir_open(dir, 0, NULL);
	const char *name;
	guint removed = 0;

	while (listing && (name = g_dir_read_name(listing)) != NULL) {
		g_autofree char *path = g_build_filename(dir, name, NULL);

		if (g_unlink(path) == 0)
			removed++;
	}
	return removed;
}

/* Nothing of ours is left behind, in the directories and in gRPC. */
static inline int fixture_tear_down(void **state)
{
	struct plugin_fixture *fixture = *state;

	if (fixture->kubelet)
		kubelet_stop_and_wait(fixture->kubelet);
	fake_free(fixture->fake);
	rpc_free(fixture->rpc);
	assert_int_equal(remove_files(fixture->dir), 0);
	assert_int_equal(remove_files(fixture->registry), 0);
	g_rmdir(fixture->dir);
	g_rmdir(fixture->registry);
	g_rmdir(fixture->root);
	g_free(fixture->root);
	g_free(fixture->dir);
	g_free(fixture->registry);
	g_free(fixture);
	return 0;
}

#define FIXTURE_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_set_up, fixture_tear_down)
