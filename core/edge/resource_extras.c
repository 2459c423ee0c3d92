/* SPDX-License-Identifier: Apache-2.0 */
/* "health" and "mounts" of a resource. */
#include <string.h>

#include "edge/resource_parse.h"
#include "edge/resource_reader.h"
#include "edge/resource_values.h"

#define MAX_DELAY 86400.0
#define MAX_MISSING_SCANS 1000

enum { DOWN_DELAY, UP_DELAY, UNKNOWN_LIMIT };

static void read_delay(const JsonValue *value, const struct json_field *field, gpointer target,
		       GPtrArray *findings)
{
	struct health_overrides *health = target;
	double *const members[] = {
		[DOWN_DELAY] = &health->down_delay_s,
		[UP_DELAY] = &health->up_delay_s,
		[UNKNOWN_LIMIT] = &health->unknown_limit_s,
	};
	reader_seconds(value, MAX_DELAY, members[field->number], findings);
}

static void read_missing_scans(const JsonValue *value, const struct json_field *field,
			       gpointer target, GPtrArray *findings)
{
	(void)field;
	struct health_overrides *health = target;
	reader_int(value, 1, MAX_MISSING_SCANS, &health->missing_scans, findings);
}

static void read_initial_state(const JsonValue *value, const struct json_field *field,
			       gpointer target, GPtrArray *findings)
{
	(void)field;
	static const char *const words[] = {"require", "assume", NULL};
	struct health_overrides *health = target;
	reader_choice(value, words, &health->assume_initial, findings);
}

void resource_parse_health(const JsonValue *value, struct health_overrides *health,
			   GPtrArray *findings)
{
	static const struct json_field fields[] = {
		{"downDelay", read_delay, DOWN_DELAY},
		{"upDelay", read_delay, UP_DELAY},
		{"unknownLimit", read_delay, UNKNOWN_LIMIT},
		{"missingScans", read_missing_scans, 0},
		{"initialState", read_initial_state, 0},
		{NULL, NULL, 0},
	};
	static const struct json_level level = {fields, NULL};
	reader_walk(value, &level, health, findings);
}

static char *read_path(const JsonValue *value, GPtrArray *findings)
{
	const char *text = reader_text(value, findings);
	if (text == NULL)
		return NULL;
	const char *problem = value_check_path(text);
	if (problem == NULL)
		return g_strdup(text);
	reader_error(value, findings, "\"%s\" %s", text, problem);
	return NULL;
}

static void read_host_path(const JsonValue *value, const struct json_field *field, gpointer target,
			   GPtrArray *findings)
{
	(void)field;
	struct resource_mount *mount = target;
	mount->host_path = read_path(value, findings);
}

static void read_container_path(const JsonValue *value, const struct json_field *field,
				gpointer target, GPtrArray *findings)
{
	(void)field;
	struct resource_mount *mount = target;
	mount->container_path = read_path(value, findings);
}

static void read_read_only(const JsonValue *value, const struct json_field *field, gpointer target,
			   GPtrArray *findings)
{
	(void)field;
	struct resource_mount *mount = target;
	if (reader_expect(value, JSON_KIND_BOOL, findings))
		mount->read_only = value->boolean;
}

static gboolean is_target_taken(GPtrArray *mounts, const char *container_path)
{
	for (guint i = 0; i < mounts->len; i++) {
		const struct resource_mount *mount = g_ptr_array_index(mounts, i);
		if (g_strcmp0(mount->container_path, container_path) == 0)
			return TRUE;
	}
	return FALSE;
}

static gboolean is_given(const JsonValue *object, const char *key)
{
	const JsonValue *value = json_find(object, key);
	return value != NULL && value->kind != JSON_KIND_NULL;
}

static void finish_mount(const JsonValue *object, struct resource_mount *mount, GPtrArray *mounts,
			 GPtrArray *findings)
{
	if (!is_given(object, "hostPath"))
		reader_error(object, findings, "has no \"hostPath\"");
	if (mount->container_path == NULL && !is_given(object, "containerPath"))
		mount->container_path = g_strdup(mount->host_path);
	if (mount->container_path != NULL && is_target_taken(mounts, mount->container_path))
		reader_error(object, findings, "is the second mount at \"%s\"",
			     mount->container_path);
}

static void parse_mount(const JsonValue *object, GPtrArray *mounts, GPtrArray *findings)
{
	static const struct json_field fields[] = {
		{"hostPath", read_host_path, 0},
		{"containerPath", read_container_path, 0},
		{"readOnly", read_read_only, 0},
		{NULL, NULL, 0},
	};
	static const struct json_advice advice[] = {
		{"mountPath", "it is called \"containerPath\" here"},
		{NULL, NULL},
	};
	static const struct json_level level = {fields, advice};
	struct resource_mount *mount = g_new0(struct resource_mount, 1);
	if (reader_walk(object, &level, mount, findings))
		finish_mount(object, mount, mounts, findings);
	g_ptr_array_add(mounts, mount);
}

void resource_parse_mounts(const JsonValue *value, ResourceConfig *config, GPtrArray *findings)
{
	if (!reader_expect(value, JSON_KIND_ARRAY, findings) || value->items->len == 0)
		return;
	config->mounts = g_ptr_array_new_with_free_func((GDestroyNotify)resource_mount_free);
	for (guint i = 0; i < value->items->len; i++)
		parse_mount(g_ptr_array_index(value->items, i), config->mounts, findings);
}
