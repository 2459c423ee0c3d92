/* SPDX-License-Identifier: Apache-2.0 */
#include "support/machine.h"

#include "support/dump.h"
#include "support/fixture.h"

static void host_log(const struct rdmadp_host *host, int level, const char *message)
{
	struct machine *machine = (struct machine *)host; /* its first member */
	const char *name = level == RDMADP_LOG_ERROR	 ? "error"
			   : level == RDMADP_LOG_WARNING ? "warning"
			   : level == RDMADP_LOG_INFO	 ? "info"
							 : "debug";

	g_mutex_lock(&machine->lock);
	g_string_append_printf(machine->log, "%s: %s\n", name, message);
	g_mutex_unlock(&machine->lock);
}

struct machine *machine_new(const struct rdmadp_backend *backend, const char *fixture)
{
	struct machine *machine = g_new0(struct machine, 1);
	int result;

	g_mutex_init(&machine->lock);
	machine->backend = backend;
	machine->root = fixture_new(fixture);
	machine->sysfs_root = g_build_filename(machine->root, "sys", NULL);
	machine->dev_root = g_build_filename(machine->root, "dev", NULL);
	machine->log = g_string_new(NULL);
	machine->devices = g_ptr_array_new_with_free_func((GDestroyNotify)device_unref);
	machine->host = (struct rdmadp_host){sizeof(machine->host), 0, machine->sysfs_root,
					     machine->dev_root, host_log};
	result = backend->init(&machine->host, &machine->instance);
	if (result < 0)
		g_error("init of '%s': %s", backend->name, g_strerror(-result));
	return machine;
}

struct machine *machine_scanned(const struct rdmadp_backend *backend, const char *name)
{
	g_autofree char *file = g_strconcat(MACHINES, name, ".txt", NULL);
	struct machine *machine = machine_new(backend, file);

	machine_scan(machine);
	return machine;
}

void machine_free(struct machine *machine)
{
	machine->backend->fini(machine->instance);
	fixture_remove(machine->root);
	g_ptr_array_unref(machine->devices);
	g_string_free(machine->log, TRUE);
	g_free(machine->root);
	g_free(machine->sysfs_root);
	g_free(machine->dev_root);
	g_mutex_clear(&machine->lock);
	g_free(machine);
}

static int take(void *sink, const struct rdmadp_device *reported)
{
	g_autoptr(GError) error = NULL;
	Device *device = device_copy(reported, &error);

	if (!device)
		g_error("%s", error->message);
	g_ptr_array_add(sink, device);
	return 0;
}

static int by_id(gconstpointer a, gconstpointer b)
{
	return device_compare(*(Device *const *)a, *(Device *const *)b);
}

void machine_scan(struct machine *machine)
{
	int result;

	g_ptr_array_set_size(machine->devices, 0);
	result = machine->backend->discover(machine->instance, take, machine->devices);
	if (result < 0)
		g_error("discover of '%s': %s", machine->backend->name, g_strerror(-result));
	g_ptr_array_sort(machine->devices, by_id);
}

const struct rdmadp_device *machine_device(const struct machine *machine, const char *id)
{
	for (guint i = 0; i < machine->devices->len; i++) {
		const Device *device = g_ptr_array_index(machine->devices, i);

		if (g_str_equal(device_id(device), id))
			return device_abi(device);
	}
	return NULL;
}

static const char *verdict(const struct rdmadp_health *health)
{
	static const char *const reasons[] = {"none", "link", "files", "gone", "fatal", "vendor"};

	if (health->state == RDMADP_HEALTHY)
		return "ok";
	if (health->state == RDMADP_HEALTH_UNKNOWN)
		return "unknown";
	return health->reason < G_N_ELEMENTS(reasons) ? reasons[health->reason] : "?";
}

char *machine_health(struct machine *machine, const char *id)
{
	const struct rdmadp_device *device = machine_device(machine, id);
	struct rdmadp_health health = {.size = sizeof(health)};

	if (!device)
		g_error("there is no device '%s'", id);
	if (machine->backend->health(machine->instance, device, &health) < 0)
		return g_strdup("failed");
	return g_strdup_printf("%s%s%s", verdict(&health), *health.text ? " " : "", health.text);
}

char *machine_dump(const struct machine *machine)
{
	g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);

	for (guint i = 0; i < machine->devices->len; i++)
		dump_emit(texts, device_abi(g_ptr_array_index(machine->devices, i)));
	return dump_join(texts);
}

char *machine_take_log(struct machine *machine)
{
	char *log;

	g_mutex_lock(&machine->lock);
	log = g_strdup(machine->log->str);
	g_string_truncate(machine->log, 0);
	g_mutex_unlock(&machine->lock);
	return log;
}
