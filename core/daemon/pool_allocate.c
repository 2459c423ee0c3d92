/* SPDX-License-Identifier: Apache-2.0 */
/* What a container gets, and which devices are preferred for it. */
#include <string.h>

#include "daemon/pool_private.h"
#include "edge/log.h"
#include "model/exclusive.h"

/* Variables would have the name that the RDMA device had. */
static gboolean pool_tells_names(const Pool *pool)
{
	return resource_is_exclusive(pool_resource(pool)) || pool->config->env_hca_list != NULL;
}

static char *pool_resolve(const struct char_file *file, gpointer data, GError **error)
{
	Pool *pool = data;
	NodeCheck *check = pool->host->node_check;
	GError *problem = NULL;
	char *path = node_check_resolve(check, file, &problem);

	/* What the last scan saw is no longer so: look again soon. */
	if (path == NULL || strcmp(path, file->host_path) != 0)
		pool->host->rescan(pool, pool->host->data);
	if (path == NULL && !pool_tells_names(pool))
		path = node_check_resolve_renamed(check, file);
	if (path == NULL)
		g_propagate_error(error, problem);
	else
		g_clear_error(&problem);
	return path;
}

static void pool_left_out(const char *text, gpointer data)
{
	Pool *pool = data;

	log_warning(pool->config->full_name, "Allocate: %s", text);
}

static gboolean pool_add_extra_devices(Pool *pool, Allocation *allocation, GError **error)
{
	g_auto(GStrv) paths = NULL;

	if (pool->config->extra_devices == NULL)
		return TRUE;
	paths = node_check_expand(pool->host->node_check,
				  (const char *const *)pool->config->extra_devices, error);
	for (gsize i = 0; paths != NULL && paths[i] != NULL; i++)
		allocation_add_device(allocation, paths[i]);
	return paths != NULL;
}

void pool_say_extra_devices(const Pool *pool)
{
	const char *const *patterns = (const char *const *)pool->config->extra_devices;
	g_autoptr(GError) error = NULL;
	g_auto(GStrv) paths = NULL;

	if (patterns == NULL)
		return;
	paths = node_check_expand(pool->host->node_check, patterns, &error);
	if (paths == NULL)
		log_warning(pool->config->full_name, "%s: no pod can get the resource",
			    error->message);
}

/* NULL: there are to be none. */
static DeviceInfoDir *pool_device_info(Pool *pool)
{
	const char *dir = pool->host->settings->devinfo_dir;

	if (pool->device_info == NULL && dir[0] != '\0')
		pool->device_info = device_info_dir_new(dir, pool->config->full_name);
	return pool->device_info;
}

void pool_clean_device_info(Pool *pool, const Snapshot *list)
{
	if (list->units == NULL || pool_device_info(pool) == NULL)
		return;
	for (guint i = 0; i < list->slots->len; i++)
		device_info_dir_remove(
			pool->device_info,
			((const struct slot *)g_ptr_array_index(list->slots, i))->id);
}

/* Tells the container and the network plugins which devices were given. */
static void pool_describe(Pool *pool, Allocation *allocation)
{
	g_autoptr(GError) error = NULL;

	device_info_add_env(allocation, pool->config);
	double_watch_allocated(pool->double_watch);
	if (pool_device_info(pool) != NULL &&
	    !device_info_dir_write(pool->device_info, allocation, &error))
		log_warning(pool->config->full_name, "Allocate: %s", error->message);
}

static Allocation *pool_allocate(Snapshot *snapshot, const char *const *ids, gsize n_ids,
				 gpointer data, GError **error)
{
	Pool *pool = data;
	const struct file_checker checker = {
		.resolve = pool_resolve,
		.left_out = pool_left_out,
		.data = pool,
	};
	g_autoptr(Allocation) allocation =
		resource_compose(pool->config, snapshot, ids, n_ids, &checker, error);

	if (allocation == NULL || !pool_add_extra_devices(pool, allocation, error))
		return NULL;
	if (allocation->grants->len > 0)
		pool_describe(pool, allocation);
	allocation_finish(allocation);
	offer_allocated(pool->offer, ids, n_ids, g_get_monotonic_time());
	pool->host->changed(pool->host->data);
	holders_allocated(pool->host->holders);
	return g_steal_pointer(&allocation);
}

static GPtrArray *pool_prefer(Snapshot *snapshot, const struct preference *wanted, gpointer data)
{
	const Pool *pool = data;

	/* All slots of a shared resource are alike. */
	if (snapshot->units == NULL)
		return NULL;
	return exclusive_prefer(snapshot, (const char *const *)wanted->available,
				(const char *const *)wanted->must, (gsize)wanted->size,
				pool->config->allocation_policy);
}

static void pool_on_plugin_changed(gpointer data)
{
	const Pool *pool = data;

	pool->host->changed(pool->host->data);
}

const struct plugin_ops pool_shared_ops = {
	.allocate = pool_allocate,
	.changed = pool_on_plugin_changed,
};
const struct plugin_ops pool_exclusive_ops = {
	.allocate = pool_allocate,
	.prefer = pool_prefer,
	.changed = pool_on_plugin_changed,
};
