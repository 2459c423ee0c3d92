/* SPDX-License-Identifier: Apache-2.0 */
#include "support/resource_builder.h"

#include <string.h>

Resource *resource_build(const char *config)
{
	return resource_new(config_build(config));
}

void resource_found(Resource *resource, const char *const *words)
{
	g_autoptr(GPtrArray) devices = device_build_all(words);

	resource_set_devices(resource, devices);
}

void resource_found_n(Resource *resource, guint n)
{
	g_autoptr(GPtrArray) devices = g_ptr_array_new_with_free_func((GDestroyNotify)device_unref);

	for (guint i = 0; i < n; i++) {
		g_autofree char *words = g_strdup_printf(
			"h%u numa=%u rdma=mlx5_%u port=1:ib:active uverbs=%u cm", i, i % 2, i, i);

		g_ptr_array_add(devices, device_build(words));
	}
	resource_set_devices(resource, devices);
}

char *resource_slots_text(const Resource *resource)
{
	g_autoptr(Snapshot) snapshot = resource_snapshot(resource);
	g_autoptr(GString) text = g_string_new(NULL);

	for (guint i = 0; i < snapshot->slots->len; i++) {
		const struct slot *slot = snapshot->slots->pdata[i];

		g_string_append_c(text, slot->healthy ? 'H' : 'U');
	}
	return g_string_free(g_steal_pointer(&text), FALSE);
}

char *resource_files_text(const Resource *resource)
{
	g_autoptr(Snapshot) snapshot = resource_snapshot(resource);
	g_autoptr(GString) text = g_string_new(NULL);

	for (guint i = 0; i < snapshot->files->len; i++) {
		const struct char_file *file = snapshot->files->pdata[i];

		g_string_append_printf(text, "%s%s", text->len > 0 ? " " : "",
				       strrchr(file->host_path, '/') + 1);
	}
	return g_string_free(g_steal_pointer(&text), FALSE);
}
