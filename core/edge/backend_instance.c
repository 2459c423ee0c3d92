/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/backend_instance.h"

#include <stddef.h>
#include <string.h>

#include "edge/log.h"
#include "model/text.h"

/* A backend that repeats itself may fill neither the disk nor the eye. */
static void log_some(struct instance *instance, enum log_level level, const char *message)
{
	guint left_out = 0;
	g_autofree char *count = NULL;
	gboolean passes, is_first;

	g_mutex_lock(&instance->log_lock);
	is_first = instance->throttle.left_out == 0;
	passes = throttle_pass(&instance->throttle, g_get_monotonic_time(), &left_out);
	g_mutex_unlock(&instance->log_lock);
	count = text_count(left_out, "message");
	if (left_out > 0)
		log_warning(instance->area, "left out: %s of it", count);
	if (passes)
		log_message(level, instance->area, "%s", message);
	else if (is_first)
		log_warning(instance->area,
			    "it says more than %d messages a second: the others are left out",
			    THROTTLE_PER_SECOND);
}

static void host_log(const struct rdmadp_host *host, int level, const char *message)
{
	/* The backend may not write to its host; what is around it is ours. */
	struct instance *instance = (void *)((char *)host - offsetof(struct instance, host));
	enum log_level known = LOG_LEVEL_DEBUG;

	if (level <= RDMADP_LOG_ERROR)
		known = LOG_LEVEL_ERROR;
	else if (level <= RDMADP_LOG_WARNING)
		known = LOG_LEVEL_WARNING;
	else if (level <= RDMADP_LOG_INFO)
		known = LOG_LEVEL_INFO;
	if (message && log_enabled(known))
		log_some(instance, known, message);
}

void instance_setup(struct instance *ret_instance, const struct rdmadp_backend *vtable,
		    const char *sysfs_root, const char *dev_root)
{
	ret_instance->vtable = vtable;
	ret_instance->area = g_strdup_printf("backend %s", vtable->name);
	ret_instance->sysfs_root = g_strdup(sysfs_root);
	ret_instance->dev_root = g_strdup(dev_root);
	ret_instance->host = (struct rdmadp_host){.size = sizeof(struct rdmadp_host),
						  .sysfs_root = ret_instance->sysfs_root,
						  .dev_root = ret_instance->dev_root,
						  .log = host_log};
	ret_instance->handle = NULL;
	g_mutex_init(&ret_instance->log_lock);
	ret_instance->throttle = (struct throttle){0};
}

void instance_clear(struct instance *instance)
{
	g_mutex_clear(&instance->log_lock);
	g_free(instance->area);
	g_free(instance->sysfs_root);
	g_free(instance->dev_root);
}

gboolean instance_init(struct instance *instance, GError **error)
{
	g_autofree char *reason = NULL;
	void *handle = NULL;
	int result = instance->vtable->init(&instance->host, &handle);

	if (result == 0) {
		instance->handle = handle;
		return TRUE;
	}
	reason = collect_failure(result);
	g_set_error(error, BACKEND_ERROR, BACKEND_ERROR_INIT, "backend '%s': init failed: %s",
		    instance->vtable->name, reason);
	return FALSE;
}

void instance_fini(struct instance *instance)
{
	instance->vtable->fini(instance->handle);
	instance->handle = NULL;
}

GPtrArray *instance_discover(struct instance *instance, Collector *collector, rdmadp_emit_fn emit,
			     void *sink, GError **error)
{
	GPtrArray *devices;
	int result;

	collector_begin(collector);
	result = instance->vtable->discover(instance->handle, emit, sink);
	devices = collector_end(collector, result, error);
	if (!devices)
		g_prefix_error(error, "backend '%s': ", instance->vtable->name);
	return devices;
}

int instance_event_fd(const struct instance *instance)
{
	return instance->vtable->event_fd ? MAX(instance->vtable->event_fd(instance->handle), -1)
					  : -1;
}

int instance_event_ack(const struct instance *instance)
{
	return instance->vtable->event_ack(instance->handle);
}

void instance_health(const struct instance *instance, const Device *device,
		     struct rdmadp_health *ret)
{
	int result;

	memset(ret, 0, sizeof(*ret));
	ret->size = sizeof(*ret);
	result = instance->vtable->health(instance->handle, device_abi(device), ret);
	collect_health(result, ret);
}

static int match_attributes(const struct rdmadp_device *device, const char *key, const char *value)
{
	for (guint32 i = 0; i < device->n_attributes; i++)
		if (strcmp(device->attributes[i]->key, key) == 0 &&
		    strcmp(device->attributes[i]->value, value) == 0)
			return 1;
	return 0;
}

int instance_match(const struct rdmadp_backend *vtable, const Device *device, const char *key,
		   const char *value)
{
	int result;

	if (!vtable->match)
		return match_attributes(device_abi(device), key, value);
	result = vtable->match(device_abi(device), key, value);
	return MIN(result, 1);
}
