/* SPDX-License-Identifier: Apache-2.0 */
#include "model/compose.h"

#include <string.h>

gboolean compose_is_uverbs(const struct char_file *file)
{
	return g_str_has_prefix(file->dev_name, "infiniband/uverbs");
}

static char *take_as_it_is(const struct char_file *file, G_GNUC_UNUSED gpointer data,
			   G_GNUC_UNUSED GError **error)
{
	return g_strdup(file->host_path);
}

const struct file_checker compose_trusting = {.resolve = take_as_it_is};

void compose_add_mounts(Allocation *allocation, const ResourceConfig *config)
{
	for (guint i = 0; config->mounts != NULL && i < config->mounts->len; i++) {
		const struct resource_mount *mount = g_ptr_array_index(config->mounts, i);

		allocation_add_mount(allocation, mount->host_path, mount->container_path,
				     mount->read_only);
	}
}

static int text_order(gconstpointer a, gconstpointer b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void compose_add_hca_list(Allocation *allocation, const ResourceConfig *config, GPtrArray *names)
{
	g_autoptr(GString) list = g_string_new(NULL);

	if (config->env_hca_list == NULL)
		return;
	g_ptr_array_sort(names, text_order);
	for (guint i = 0; i < names->len; i++)
		g_string_append_printf(list, "%s%s", i > 0 ? "," : "",
				       (const char *)g_ptr_array_index(names, i));
	allocation_add_env(allocation, config->env_hca_list, list->str);
}
