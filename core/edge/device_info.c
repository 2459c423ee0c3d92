/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/device_info.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "edge/json_writer.h"
#include "edge/small_file.h"

/* Of the specification that the files follow. */
#define VERSION "1.1.0"

/* --- variables --- */

static char *ids_text(const Allocation *allocation)
{
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < allocation->grants->len; i++) {
		const struct allocation_grant *grant = g_ptr_array_index(allocation->grants, i);

		g_string_append_printf(text, "%s%s", i > 0 ? "," : "", grant->id);
	}
	return g_string_free(text, FALSE);
}

static void add_if_set(JsonWriter *json, const char *key, const char *value)
{
	if (value != NULL)
		json_add_string(json, key, value);
}

static char *first_name(const char *names)
{
	return g_strndup(names, strcspn(names, ","));
}

/* Keys in alphabetical order, as the peer's come. */
static void write_info(JsonWriter *json, const struct allocation_grant *grant)
{
	g_autofree char *rdma_device = first_name(grant->rdma_devices);

	json_begin_object(json, grant->id);
	json_begin_object(json, "generic");
	json_add_string(json, "deviceID", grant->id);
	json_end_object(json);
	json_begin_object(json, "rdma");
	add_if_set(json, "issm", grant->issm);
	add_if_set(json, "rdma_cm", grant->rdma_cm);
	json_add_string(json, "rdma_dev", rdma_device);
	add_if_set(json, "umad", grant->umad);
	add_if_set(json, "uverbs", grant->uverbs);
	json_end_object(json);
	json_end_object(json);
}

static char *info_text(const Allocation *allocation)
{
	g_autoptr(JsonWriter) json = json_writer_new(FALSE);

	json_begin_object(json, NULL);
	for (guint i = 0; i < allocation->grants->len; i++)
		write_info(json, g_ptr_array_index(allocation->grants, i));
	json_end_object(json);
	return g_strdup(json_writer_text(json));
}

static void add_pair(Allocation *allocation, const char *name, const char *ids, const char *info)
{
	g_autofree char *info_name = g_strconcat(name, "_INFO", NULL);

	allocation_add_env(allocation, name, ids);
	allocation_add_env(allocation, info_name, info);
}

void device_info_add_env(Allocation *allocation, const ResourceConfig *config)
{
	g_autofree char *joined =
		g_strconcat("PCIDEVICE_", config->prefix, "_", config->name, NULL);
	g_autofree char *name = g_ascii_strup(g_strdelimit(joined, ".", '_'), -1);
	g_autofree char *ids = ids_text(allocation);
	g_autofree char *info = info_text(allocation);

	add_pair(allocation, name, ids, info);
	if (strchr(name, '-') != NULL)
		add_pair(allocation, g_strdelimit(name, "-", '_'), ids, info);
}

/* --- files --- */

struct device_info_dir {
	char *path;
	char *prefix; /* of the files' names */
	GHashTable *written; /* set: names of files */
};

DeviceInfoDir *device_info_dir_new(const char *path, const char *resource)
{
	DeviceInfoDir *self = g_new0(DeviceInfoDir, 1);

	self->path = g_strdup(path);
	self->prefix = g_strdelimit(g_strdup(resource), "/", '-');
	self->written = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	return self;
}

static void remove_file(const DeviceInfoDir *self, const char *name)
{
	g_autofree char *path = g_build_filename(self->path, name, NULL);

	unlink(path);
}

void device_info_dir_free(DeviceInfoDir *dir)
{
	GHashTableIter iter;
	gpointer name;

	if (dir == NULL)
		return;
	g_hash_table_iter_init(&iter, dir->written);
	while (g_hash_table_iter_next(&iter, &name, NULL))
		remove_file(dir, name);
	g_hash_table_unref(dir->written);
	g_free(dir->prefix);
	g_free(dir->path);
	g_free(dir);
}

/* The specification says how it follows from resource and device. */
static char *file_name(const DeviceInfoDir *self, const char *id)
{
	g_autofree char *device = g_strdelimit(g_strdup(id), "/", '-');

	return g_strdup_printf("%s-%s-device.json", self->prefix, device);
}

static char *file_text(const struct allocation_grant *grant)
{
	g_autoptr(JsonWriter) json = json_writer_new(FALSE);

	json_begin_object(json, NULL);
	json_add_string(json, "type", "pci");
	json_add_string(json, "version", VERSION);
	json_begin_object(json, "pci");
	json_add_string(json, "pci-address", grant->id);
	json_add_string(json, "rdma-device", grant->rdma_devices);
	add_if_set(json, "pf-pci-address", grant->parent);
	json_end_object(json);
	json_end_object(json);
	return g_strdup(json_writer_text(json));
}

static gboolean fail(GError **error, const DeviceInfoDir *self, const char *name, const char *what)
{
	int number = errno;

	g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(number),
		    "devinfo_dir: '%s/%s' cannot be %s: %s; Multus will not know the device",
		    self->path, name, what, g_strerror(number));
	return FALSE;
}

static gboolean write_new(const char *path, const char *text)
{
	int fd;
	gboolean written;

	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);
	if (fd < 0)
		return FALSE;
	written = small_file_write(fd, text);
	return close(fd) == 0 && written;
}

/* Readers see the old file or the new one, and no file of ours that is not whole. */
static gboolean write_file(DeviceInfoDir *self, const char *name, const char *text, GError **error)
{
	g_autofree char *path = g_build_filename(self->path, name, NULL);
	g_autofree char *hidden = g_strconcat(self->path, "/.", name, NULL);

	if (!write_new(hidden, text)) {
		fail(error, self, name, "written");
		unlink(hidden);
		return FALSE;
	}
	if (rename(hidden, path) < 0) {
		fail(error, self, name, "replaced");
		unlink(hidden);
		return FALSE;
	}
	g_hash_table_add(self->written, g_strdup(name));
	return TRUE;
}

gboolean device_info_dir_write(DeviceInfoDir *dir, const Allocation *allocation, GError **error)
{
	if (g_mkdir_with_parents(dir->path, 0755) < 0)
		return fail(error, dir, "", "made");
	for (guint i = 0; i < allocation->grants->len; i++) {
		const struct allocation_grant *grant = g_ptr_array_index(allocation->grants, i);
		g_autofree char *name = file_name(dir, grant->id);
		g_autofree char *text = file_text(grant);

		if (grant->is_pci && !write_file(dir, name, text, error))
			return FALSE;
	}
	return TRUE;
}

void device_info_dir_remove(DeviceInfoDir *dir, const char *id)
{
	g_autofree char *name = file_name(dir, id);

	remove_file(dir, name);
	g_hash_table_remove(dir->written, name);
}
