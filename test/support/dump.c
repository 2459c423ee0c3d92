/* SPDX-License-Identifier: Apache-2.0 */
#include "support/dump.h"

#include <glib.h>
#include <string.h>

#include "model/device.h"

/* A copy of what the maker of a struct knew; the rest is zero. */
#define KNOWN(type, pointer) known_##type(pointer)
#define DEFINE_KNOWN(type)                                                                         \
	static struct rdmadp_##type known_##type(const struct rdmadp_##type *from)                 \
	{                                                                                          \
		struct rdmadp_##type copy = {0};                                                   \
		memcpy(&copy, from, MIN(from->size, sizeof(copy)));                                \
		return copy;                                                                       \
	}
DEFINE_KNOWN(device)
DEFINE_KNOWN(attribute)
DEFINE_KNOWN(rdma_device)
DEFINE_KNOWN(port)
DEFINE_KNOWN(netdev)
DEFINE_KNOWN(node)

static const char *const layer_names[] = {"unknown", "infiniband", "ethernet"};
static const char *const state_names[] = {"unknown", "nop",    "down",	      "init",
					  "armed",   "active", "active-defer"};
static const char *const kind_names[] = {"node", "uverbs", "umad", "issm", "rdma_cm"};
static const char *const reason_names[] = {"vendor", "down", "files", "gone", "fatal", "vendor"};

/* The name, or the number in place of one that a newer contract may have. */
static void append_name(GString *out, const char *const *names, gsize n_names, guint32 value)
{
	if (value < n_names)
		g_string_append_printf(out, " %s", names[value]);
	else
		g_string_append_printf(out, " %u", value);
}

/* Quoted where the reader would see something else than one word. */
static void append_text(GString *out, const char *text)
{
	g_autofree char *safe = g_strdelimit(g_strdup(text), "\"\n", '\'');

	if (*safe == '\0' || *safe == '#' || strpbrk(safe, " \t"))
		g_string_append_printf(out, " \"%s\"", safe);
	else
		g_string_append_printf(out, " %s", safe);
}

static void append_line(GString *out, const char *word, const char *text)
{
	if (!text)
		return;
	g_string_append_printf(out, "  %s", word);
	append_text(out, text);
	g_string_append_c(out, '\n');
}

static void append_flags(GString *out, guint32 flags, const char *const *names, gsize n_names)
{
	for (gsize i = 0; i < n_names; i++)
		if (flags & (1U << i))
			g_string_append_printf(out, " %s", names[i]);
}

static void append_basics(GString *out, const struct rdmadp_device *device)
{
	static const char *const flags[] = {"vf", "pf", "elsewhere", "software"};

	if (g_strcmp0(device->identity, device->id) != 0)
		append_line(out, "identity", device->identity);
	append_line(out, "parent", device->parent_id);
	append_line(out, "driver", device->driver);
	append_line(out, "pcie_root", device->pcie_root);
	append_line(out, "pcie_path", device->pcie_path);
	if (device->numa_node >= 0)
		g_string_append_printf(out, "  numa %d\n", device->numa_node);
	if (device->flags) {
		g_string_append(out, "  flags");
		append_flags(out, device->flags, flags, G_N_ELEMENTS(flags));
		g_string_append_c(out, '\n');
	}
	append_line(out, "note", device->note);
}

static void append_attribute(GString *out, const struct rdmadp_attribute *attribute)
{
	g_string_append_printf(out, "  attribute %s", attribute->key);
	append_text(out, attribute->value);
	g_string_append_c(out, '\n');
}

static void append_rdma_device(GString *out, const struct rdmadp_rdma_device *rdma)
{
	static const char *const flags[] = {"management"};

	g_string_append_printf(out, "  rdma %s %s", rdma->name, rdma->driver ? rdma->driver : "-");
	append_flags(out, rdma->flags, flags, G_N_ELEMENTS(flags));
	g_string_append_c(out, '\n');
	for (guint32 i = 0; i < rdma->n_ports; i++) {
		struct rdmadp_port port = KNOWN(port, rdma->ports[i]);
		g_string_append_printf(out, "    port %u", port.number);
		append_name(out, layer_names, G_N_ELEMENTS(layer_names), port.link_layer);
		append_name(out, state_names, G_N_ELEMENTS(state_names), port.state);
		g_string_append_c(out, '\n');
	}
}

static void append_netdev(GString *out, const struct rdmadp_netdev *netdev)
{
	static const char *const flags[] = {"upper", "representor", "child"};

	g_string_append_printf(out, "  net %s", netdev->name);
	append_name(out, layer_names, G_N_ELEMENTS(layer_names), netdev->link_layer);
	append_flags(out, netdev->flags, flags, G_N_ELEMENTS(flags));
	g_string_append_c(out, '\n');
}

/* Where the node was found is a comment: a replay has no such files. */
static void append_node(GString *out, const struct rdmadp_node *node)
{
	g_string_append(out, node->rdma_device ? "   " : " ");
	append_name(out, kind_names, G_N_ELEMENTS(kind_names), node->kind);
	g_string_append_printf(out, " %s %u:%u", node->name, node->dev_major, node->dev_minor);
	if (node->port)
		g_string_append_printf(out, " %u", node->port);
	if (node->sysfs_dir)
		g_string_append_printf(out, " # %s", node->sysfs_dir);
	g_string_append_c(out, '\n');
}

/* The nodes of one RDMA device, or, with NULL, those that belong to none. */
static void append_nodes(GString *out, const struct rdmadp_device *device, const char *rdma_device)
{
	for (guint32 i = 0; i < device->n_nodes; i++) {
		struct rdmadp_node node = KNOWN(node, device->nodes[i]);

		if (g_strcmp0(node.rdma_device, rdma_device) == 0)
			append_node(out, &node);
	}
}

void dump_device(GString *out, const struct rdmadp_device *reported)
{
	struct rdmadp_device device = KNOWN(device, reported);

	g_string_append_printf(out, "device %s\n", device.id);
	append_basics(out, &device);
	for (guint32 i = 0; i < device.n_attributes; i++) {
		struct rdmadp_attribute attribute = KNOWN(attribute, device.attributes[i]);
		append_attribute(out, &attribute);
	}
	append_nodes(out, &device, NULL);
	for (guint32 i = 0; i < device.n_netdevs; i++) {
		struct rdmadp_netdev netdev = KNOWN(netdev, device.netdevs[i]);
		append_netdev(out, &netdev);
	}
	for (guint32 i = 0; i < device.n_rdma_devices; i++) {
		struct rdmadp_rdma_device rdma = KNOWN(rdma_device, device.rdma_devices[i]);
		append_rdma_device(out, &rdma);
		append_nodes(out, &device, rdma.name);
	}
}

void dump_health(GString *out, const struct rdmadp_health *health)
{
	g_string_append(out, "  health");
	if (health->state == RDMADP_HEALTHY)
		g_string_append(out, " ok");
	else if (health->state == RDMADP_HEALTH_UNKNOWN)
		g_string_append(out, " unknown");
	else
		append_name(out, reason_names, G_N_ELEMENTS(reason_names), health->reason);
	if (*health->text)
		append_text(out, health->text);
	g_string_append_c(out, '\n');
}

int dump_emit(void *texts, const struct rdmadp_device *device)
{
	GString *text = g_string_new(NULL);

	dump_device(text, device);
	g_ptr_array_add(texts, g_string_free(text, FALSE));
	return 0;
}

static int compare_texts(gconstpointer a, gconstpointer b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

char *dump_join(GPtrArray *texts)
{
	GString *all = g_string_new(NULL);

	g_ptr_array_sort(texts, compare_texts);
	for (guint i = 0; i < texts->len; i++)
		g_string_append_printf(all, "%s%s", i ? "\n" : "", (char *)texts->pdata[i]);
	return g_string_free(all, FALSE);
}

struct dump_host {
	struct rdmadp_host abi;
	GString *log;
};

static void host_log(const struct rdmadp_host *host, int level, const char *message)
{
	static const char *const names[] = {"?",       "?", "?",    "error",
					    "warning", "?", "info", "debug"};
	GString *log = ((const struct dump_host *)host)->log;

	if (log)
		g_string_append_printf(log, "%s: %s\n", names[level & 7], message);
}

static gboolean call_failed(GError **error, const struct rdmadp_backend *backend, const char *call,
			    int result)
{
	if (result < 0)
		g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(-result),
			    "backend '%s': %s failed: %s", backend->name, call,
			    g_strerror(-result));
	return result < 0;
}

/* Health is asked after the scan and of a copy, as the core does it. */
struct scan {
	GPtrArray *texts;
	GPtrArray *devices; /* Device *, or NULL where it broke the contract */
};

static int scan_emit(void *sink, const struct rdmadp_device *device)
{
	struct scan *scan = sink;
	g_autoptr(GError) error = NULL;
	Device *copy = device_copy(device, &error);

	dump_emit(scan->texts, device);
	g_ptr_array_add(scan->devices, copy);
	return 0;
}

static void add_health(const struct rdmadp_backend *backend, void *instance, Device *device,
		       char **text)
{
	struct rdmadp_health health = {.size = sizeof(health)};
	g_autoptr(GString) line = g_string_new(*text);

	if (!device)
		return;
	if (backend->health(instance, device_abi(device), &health) < 0)
		health = (struct rdmadp_health){.size = sizeof(health)};
	dump_health(line, &health);
	g_free(*text);
	*text = g_strdup(line->str);
}

static void free_device(gpointer device)
{
	if (device)
		device_unref(device);
}

char *dump_scan(const struct rdmadp_backend *backend, const char *sysfs_root, const char *dev_root,
		GString *log, GError **error)
{
	struct dump_host host = {{sizeof(host.abi), 0, sysfs_root, dev_root, host_log}, log};
	g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GPtrArray) devices = g_ptr_array_new_with_free_func(free_device);
	struct scan scan = {texts, devices};
	void *instance = NULL;
	int result = backend->init(&host.abi, &instance);

	if (call_failed(error, backend, "init", result))
		return NULL;
	result = backend->discover(instance, scan_emit, &scan);
	for (guint i = 0; i < texts->len; i++)
		add_health(backend, instance, devices->pdata[i], (char **)&texts->pdata[i]);
	backend->fini(instance);
	return call_failed(error, backend, "discover", result) ? NULL : dump_join(texts);
}

static void set_difference(GError **error, const char *path, const char *seen, const char *expected)
{
	g_auto(GStrv) a = g_strsplit(seen, "\n", -1);
	g_auto(GStrv) b = g_strsplit(expected, "\n", -1);
	guint line = 0;

	while (a[line] && b[line] && g_str_equal(a[line], b[line]))
		line++;
	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
		    "'%s' line %u: expected '%s', got '%s'; UPDATE_EXPECTED=1 accepts what is seen",
		    path, line + 1, b[line] ? b[line] : "(no more lines)",
		    a[line] ? a[line] : "(no more lines)");
}

gboolean dump_expect(const char *text, const char *path, GError **error)
{
	g_autofree char *expected = NULL;

	if (g_strcmp0(g_getenv("UPDATE_EXPECTED"), "1") == 0)
		return g_file_set_contents(path, text, -1, error);
	if (!g_file_get_contents(path, &expected, NULL, error))
		return FALSE;
	if (g_str_equal(text, expected))
		return TRUE;
	set_difference(error, path, text, expected);
	return FALSE;
}
