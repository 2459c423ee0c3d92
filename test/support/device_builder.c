/* SPDX-License-Identifier: Apache-2.0 */
#include "support/device_builder.h"

#include <stdlib.h>
#include <string.h>

struct rdma {
	struct rdmadp_rdma_device abi;
	GPtrArray *ports; /* struct rdmadp_port * */
};

struct device_builder {
	struct rdmadp_device abi;
	GStringChunk *texts;
	GPtrArray *attributes, *rdmas, *netdevs, *nodes;
};

struct name {
	const char *name;
	guint32 value;
};

static const struct name device_flags[] = {
	{"vf", RDMADP_DEVICE_VF},
	{"pf", RDMADP_DEVICE_PF},
	{"elsewhere", RDMADP_DEVICE_ELSEWHERE},
	{"software", RDMADP_DEVICE_SOFTWARE},
	{0},
};
static const struct name layers[] = {
	{"unknown", RDMADP_LINK_UNKNOWN},
	{"ib", RDMADP_LINK_INFINIBAND},
	{"eth", RDMADP_LINK_ETHERNET},
	{0},
};
static const struct name states[] = {
	{"unknown", RDMADP_PORT_UNKNOWN},
	{"down", RDMADP_PORT_DOWN},
	{"init", RDMADP_PORT_INIT},
	{"active", RDMADP_PORT_ACTIVE},
	{0},
};
static const struct name net_flags[] = {
	{"upper", RDMADP_NET_UPPER},
	{"representor", RDMADP_NET_REPRESENTOR},
	{"child", RDMADP_NET_CHILD},
	{0},
};

static const struct name *find(const struct name *table, const char *name)
{
	for (const struct name *n = table; n->name != NULL; n++)
		if (strcmp(n->name, name) == 0)
			return n;
	return NULL;
}

static guint32 value_of(const struct name *table, const char *name)
{
	const struct name *found = find(table, name);

	if (found == NULL)
		g_error("device builder: '%s' is not known", name);
	return found->value;
}

/* NULL is the first part of an empty text. */
static const char *keep(DeviceBuilder *builder, const char *text)
{
	return g_string_chunk_insert(builder->texts, text == NULL ? "" : text);
}

/* The element'th part of "a:b:c", or NULL. */
static const char *part(GStrv parts, guint element)
{
	return element < g_strv_length(parts) ? parts[element] : NULL;
}

static guint32 number(const char *text)
{
	return (guint32)strtoul(text, NULL, 10);
}

static struct rdma *last_rdma(DeviceBuilder *builder)
{
	if (builder->rdmas->len == 0)
		g_error("device builder: no rdma= before");
	return g_ptr_array_index(builder->rdmas, builder->rdmas->len - 1);
}

static void set_identity(DeviceBuilder *builder, const char *value)
{
	builder->abi.identity = keep(builder, value);
}

static void set_parent(DeviceBuilder *builder, const char *value)
{
	builder->abi.parent_id = keep(builder, value);
}

static void set_driver(DeviceBuilder *builder, const char *value)
{
	builder->abi.driver = keep(builder, value);
}

static void set_pcie(DeviceBuilder *builder, const char *value)
{
	g_auto(GStrv) parts = g_strsplit(value, ",", 2);

	builder->abi.pcie_root = keep(builder, parts[0]);
	if (part(parts, 1) != NULL)
		builder->abi.pcie_path = keep(builder, parts[1]);
}

static void set_numa(DeviceBuilder *builder, const char *value)
{
	builder->abi.numa_node = (gint32)strtol(value, NULL, 10);
}

static void set_note(DeviceBuilder *builder, const char *value)
{
	g_autofree char *note = g_strdelimit(g_strdup(value), "_", ' ');

	builder->abi.note = keep(builder, note);
}

static void add_attribute(DeviceBuilder *builder, const char *word)
{
	g_auto(GStrv) parts = g_strsplit(word, "=", 2);
	struct rdmadp_attribute *attribute = g_new0(struct rdmadp_attribute, 1);

	attribute->size = sizeof(*attribute);
	attribute->key = keep(builder, parts[0]);
	attribute->value = keep(builder, part(parts, 1));
	g_ptr_array_add(builder->attributes, attribute);
}

static void add_rdma(DeviceBuilder *builder, const char *value)
{
	g_auto(GStrv) parts = g_strsplit(value, ",", 2);
	struct rdma *rdma = g_new0(struct rdma, 1);

	rdma->abi.size = sizeof(rdma->abi);
	rdma->abi.name = keep(builder, parts[0]);
	if (part(parts, 1) != NULL)
		rdma->abi.driver = keep(builder, parts[1]);
	rdma->ports = g_ptr_array_new_with_free_func(g_free);
	g_ptr_array_add(builder->rdmas, rdma);
}

static void add_port(DeviceBuilder *builder, const char *value)
{
	g_auto(GStrv) parts = g_strsplit(value, ":", -1);
	struct rdmadp_port *port = g_new0(struct rdmadp_port, 1);

	if (g_strv_length(parts) != 3)
		g_error("device builder: port=%s is not NUMBER:LAYER:STATE", value);
	port->size = sizeof(*port);
	port->number = number(parts[0]);
	port->link_layer = value_of(layers, parts[1]);
	port->state = value_of(states, parts[2]);
	g_ptr_array_add(last_rdma(builder)->ports, port);
}

static void add_netdev(DeviceBuilder *builder, const char *value)
{
	g_auto(GStrv) parts = g_strsplit(value, ":", -1);
	struct rdmadp_netdev *netdev = g_new0(struct rdmadp_netdev, 1);

	netdev->size = sizeof(*netdev);
	netdev->name = keep(builder, parts[0]);
	netdev->link_layer = value_of(layers, part(parts, 1) == NULL ? "eth" : parts[1]);
	netdev->flags = part(parts, 2) == NULL ? 0 : value_of(net_flags, parts[2]);
	g_ptr_array_add(builder->netdevs, netdev);
}

static struct rdmadp_node *add_node(DeviceBuilder *builder, guint32 kind, const char *name)
{
	struct rdmadp_node *node = g_new0(struct rdmadp_node, 1);

	node->size = sizeof(*node);
	node->kind = kind;
	node->name = keep(builder, name);
	g_ptr_array_add(builder->nodes, node);
	return node;
}

/* uverbs, umad, issm: value is "N[:PORT]". */
static struct rdmadp_node *add_class_node(DeviceBuilder *builder, guint32 kind, const char *stem,
					  const char *value)
{
	g_auto(GStrv) parts = g_strsplit(value, ":", 2);
	const char *class = kind == RDMADP_NODE_UVERBS ? "infiniband_verbs" : "infiniband_mad";
	g_autofree char *name = g_strconcat("infiniband/", stem, part(parts, 0), NULL);
	g_autofree char *dir = g_strconcat("class/", class, "/", stem, parts[0], NULL);
	struct rdmadp_node *node = add_node(builder, kind, name);

	node->rdma_device = last_rdma(builder)->abi.name;
	node->sysfs_dir = keep(builder, dir);
	node->dev_major = 231;
	node->dev_minor = part(parts, 0) == NULL ? 0 : number(parts[0]);
	if (kind != RDMADP_NODE_UVERBS)
		node->port = part(parts, 1) == NULL ? 1 : number(parts[1]);
	return node;
}

static void add_uverbs(DeviceBuilder *builder, const char *value)
{
	add_class_node(builder, RDMADP_NODE_UVERBS, "uverbs", value)->dev_minor += 192;
}

static void add_umad(DeviceBuilder *builder, const char *value)
{
	add_class_node(builder, RDMADP_NODE_UMAD, "umad", value);
}

static void add_issm(DeviceBuilder *builder, const char *value)
{
	add_class_node(builder, RDMADP_NODE_ISSM, "issm", value)->dev_minor += 64;
}

static void add_other(DeviceBuilder *builder, const char *value)
{
	add_node(builder, RDMADP_NODE_OTHER, value)->dev_major = 240;
}

static void add_cm(DeviceBuilder *builder)
{
	struct rdmadp_node *node = add_node(builder, RDMADP_NODE_RDMA_CM, "infiniband/rdma_cm");

	node->sysfs_dir = "class/misc/rdma_cm";
	node->dev_major = 10;
	node->dev_minor = 121;
}

static const struct {
	const char *key;
	void (*set)(DeviceBuilder *builder, const char *value);
} setters[] = {
	{"identity", set_identity}, {"parent", set_parent}, {"driver", set_driver},
	{"pcie", set_pcie},	    {"numa", set_numa},	    {"note", set_note},
	{"rdma", add_rdma},	    {"port", add_port},	    {"net", add_netdev},
	{"uverbs", add_uverbs},	    {"umad", add_umad},	    {"issm", add_issm},
	{"node", add_other},
};

static void take_pair(DeviceBuilder *builder, const char *word)
{
	for (guint i = 0; i < G_N_ELEMENTS(setters); i++) {
		gsize length = strlen(setters[i].key);

		if (strncmp(word, setters[i].key, length) == 0 && word[length] == '=') {
			setters[i].set(builder, word + length + 1);
			return;
		}
	}
	g_error("device builder: '%s' is not known", word);
}

static void take_word(DeviceBuilder *builder, const char *word)
{
	if (*word == '\0')
		return;
	if (*word == '@')
		add_attribute(builder, word + 1);
	else if (find(device_flags, word) != NULL)
		builder->abi.flags |= value_of(device_flags, word);
	else if (strcmp(word, "management") == 0)
		last_rdma(builder)->abi.flags |= RDMADP_RDMA_MANAGEMENT_ONLY;
	else if (strcmp(word, "cm") == 0)
		add_cm(builder);
	else
		take_pair(builder, word);
}

/* The arrays have stopped moving: point at them. */
static void finish(DeviceBuilder *builder)
{
	struct rdmadp_device *abi = &builder->abi;

	abi->n_attributes = builder->attributes->len;
	abi->attributes = (const struct rdmadp_attribute *const *)builder->attributes->pdata;
	abi->n_rdma_devices = builder->rdmas->len;
	abi->rdma_devices = (const struct rdmadp_rdma_device *const *)builder->rdmas->pdata;
	abi->n_netdevs = builder->netdevs->len;
	abi->netdevs = (const struct rdmadp_netdev *const *)builder->netdevs->pdata;
	abi->n_nodes = builder->nodes->len;
	abi->nodes = (const struct rdmadp_node *const *)builder->nodes->pdata;
	for (guint i = 0; i < builder->rdmas->len; i++) {
		struct rdma *rdma = g_ptr_array_index(builder->rdmas, i);

		rdma->abi.n_ports = rdma->ports->len;
		rdma->abi.ports = (const struct rdmadp_port *const *)rdma->ports->pdata;
	}
}

static void rdma_free(gpointer data)
{
	struct rdma *rdma = data;

	g_ptr_array_unref(rdma->ports);
	g_free(rdma);
}

DeviceBuilder *device_builder_new(const char *words)
{
	g_auto(GStrv) list = g_strsplit(words, " ", -1);
	DeviceBuilder *builder = g_new0(DeviceBuilder, 1);

	builder->texts = g_string_chunk_new(256);
	builder->attributes = g_ptr_array_new_with_free_func(g_free);
	builder->rdmas = g_ptr_array_new_with_free_func(rdma_free);
	builder->netdevs = g_ptr_array_new_with_free_func(g_free);
	builder->nodes = g_ptr_array_new_with_free_func(g_free);
	builder->abi.size = sizeof(builder->abi);
	builder->abi.id = keep(builder, list[0]);
	builder->abi.identity = builder->abi.id;
	builder->abi.numa_node = -1;
	for (guint i = 1; list[i] != NULL; i++)
		take_word(builder, list[i]);
	finish(builder);
	return builder;
}

void device_builder_free(DeviceBuilder *builder)
{
	if (builder == NULL)
		return;
	g_ptr_array_unref(builder->attributes);
	g_ptr_array_unref(builder->rdmas);
	g_ptr_array_unref(builder->netdevs);
	g_ptr_array_unref(builder->nodes);
	g_string_chunk_free(builder->texts);
	g_free(builder);
}

struct rdmadp_device *device_builder_abi(DeviceBuilder *builder)
{
	return &builder->abi;
}

struct rdmadp_attribute *device_builder_attribute(DeviceBuilder *builder, guint i)
{
	return g_ptr_array_index(builder->attributes, i);
}

struct rdmadp_rdma_device *device_builder_rdma(DeviceBuilder *builder, guint i)
{
	struct rdma *rdma = g_ptr_array_index(builder->rdmas, i);

	return &rdma->abi;
}

struct rdmadp_netdev *device_builder_netdev(DeviceBuilder *builder, guint i)
{
	return g_ptr_array_index(builder->netdevs, i);
}

struct rdmadp_node *device_builder_node(DeviceBuilder *builder, guint i)
{
	return g_ptr_array_index(builder->nodes, i);
}

Device *device_build(const char *words)
{
	DeviceBuilder *builder = device_builder_new(words);
	g_autoptr(GError) error = NULL;
	Device *device = device_copy(&builder->abi, &error);

	if (device == NULL)
		g_error("device builder: '%s': %s", words, error->message);
	device_builder_free(builder);
	return device;
}

static int compare(gconstpointer a, gconstpointer b)
{
	return device_compare(*(const Device *const *)a, *(const Device *const *)b);
}

GPtrArray *device_build_all(const char *const *words)
{
	GPtrArray *devices = g_ptr_array_new_with_free_func((GDestroyNotify)device_unref);

	for (gsize i = 0; words[i] != NULL; i++)
		g_ptr_array_add(devices, device_build(words[i]));
	g_ptr_array_sort(devices, compare);
	return devices;
}
