/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/device_json.h"

#include <stddef.h>
#include <string.h>

enum member_kind {
	MEMBER_TEXT,
	MEMBER_NUMBER, /* 32 bits, left out when 0 */
	MEMBER_NODE, /* signed, left out when -1 */
};

struct member {
	const char *key; /* NULL ends a table */
	enum member_kind kind;
	gsize offset;
};

struct shape;

struct list {
	const char *key; /* NULL ends a table */
	gsize array, count;
	const struct shape *element;
};

/* One of the contract's structs. */
struct shape {
	guint32 size;
	const struct member *members;
	const struct list *lists;
};

#define LIST(type, member) offsetof(struct type, member), offsetof(struct type, n_##member)

static const struct list no_lists[] = {{0}};

#define AT(member) offsetof(struct rdmadp_attribute, member)
static const struct member attribute_members[] = {
	{"key", MEMBER_TEXT, AT(key)},
	{"value", MEMBER_TEXT, AT(value)},
	{0},
};
#undef AT
static const struct shape attribute_shape = {sizeof(struct rdmadp_attribute), attribute_members,
					     no_lists};

#define AT(member) offsetof(struct rdmadp_port, member)
static const struct member port_members[] = {
	{"number", MEMBER_NUMBER, AT(number)},
	{"link", MEMBER_NUMBER, AT(link_layer)},
	{"state", MEMBER_NUMBER, AT(state)},
	{0},
};
#undef AT
static const struct shape port_shape = {sizeof(struct rdmadp_port), port_members, no_lists};

#define AT(member) offsetof(struct rdmadp_rdma_device, member)
static const struct member rdma_members[] = {
	{"name", MEMBER_TEXT, AT(name)},
	{"driver", MEMBER_TEXT, AT(driver)},
	{"flags", MEMBER_NUMBER, AT(flags)},
	{0},
};
#undef AT
static const struct list rdma_lists[] = {
	{"ports", LIST(rdmadp_rdma_device, ports), &port_shape},
	{0},
};
static const struct shape rdma_shape = {sizeof(struct rdmadp_rdma_device), rdma_members,
					rdma_lists};

#define AT(member) offsetof(struct rdmadp_netdev, member)
static const struct member netdev_members[] = {
	{"name", MEMBER_TEXT, AT(name)},
	{"flags", MEMBER_NUMBER, AT(flags)},
	{"link", MEMBER_NUMBER, AT(link_layer)},
	{0},
};
#undef AT
static const struct shape netdev_shape = {sizeof(struct rdmadp_netdev), netdev_members, no_lists};

#define AT(member) offsetof(struct rdmadp_node, member)
static const struct member node_members[] = {
	{"kind", MEMBER_NUMBER, AT(kind)},
	{"name", MEMBER_TEXT, AT(name)},
	{"rdmaDevice", MEMBER_TEXT, AT(rdma_device)},
	{"sysfsDir", MEMBER_TEXT, AT(sysfs_dir)},
	{"major", MEMBER_NUMBER, AT(dev_major)},
	{"minor", MEMBER_NUMBER, AT(dev_minor)},
	{"port", MEMBER_NUMBER, AT(port)},
	{0},
};
#undef AT
static const struct shape node_shape = {sizeof(struct rdmadp_node), node_members, no_lists};

#define AT(member) offsetof(struct rdmadp_device, member)
static const struct member device_members[] = {
	{"id", MEMBER_TEXT, AT(id)},
	{"identity", MEMBER_TEXT, AT(identity)},
	{"flags", MEMBER_NUMBER, AT(flags)},
	{"parent", MEMBER_TEXT, AT(parent_id)},
	{"driver", MEMBER_TEXT, AT(driver)},
	{"pcieRoot", MEMBER_TEXT, AT(pcie_root)},
	{"pciePath", MEMBER_TEXT, AT(pcie_path)},
	{"note", MEMBER_TEXT, AT(note)},
	{"numaNode", MEMBER_NODE, AT(numa_node)},
	{0},
};
#undef AT
static const struct list device_lists[] = {
	{"attributes", LIST(rdmadp_device, attributes), &attribute_shape},
	{"rdmaDevices", LIST(rdmadp_device, rdma_devices), &rdma_shape},
	{"interfaces", LIST(rdmadp_device, netdevs), &netdev_shape},
	{"nodes", LIST(rdmadp_device, nodes), &node_shape},
	{0},
};
static const struct shape device_shape = {sizeof(struct rdmadp_device), device_members,
					  device_lists};

/* --- writing --- */

static void write_member(JsonWriter *writer, const char *from, const struct member *member)
{
	const void *at = from + member->offset;
	const char *text = NULL;
	guint32 number = 0;

	if (member->kind == MEMBER_TEXT) {
		memcpy(&text, at, sizeof(text));
		if (text != NULL)
			json_add_string(writer, member->key, text);
		return;
	}
	memcpy(&number, at, sizeof(number));
	if (member->kind == MEMBER_NODE && (gint32)number >= 0)
		json_add_int(writer, member->key, (gint32)number);
	else if (member->kind == MEMBER_NUMBER && number != 0)
		json_add_int(writer, member->key, number);
}

static void write_list(JsonWriter *writer, const char *from, const struct list *list);

static void write_shape(JsonWriter *writer, const char *key, const char *from,
			const struct shape *shape)
{
	json_begin_object(writer, key);
	for (gsize i = 0; shape->members[i].key != NULL; i++)
		write_member(writer, from, &shape->members[i]);
	for (gsize i = 0; shape->lists[i].key != NULL; i++)
		write_list(writer, from, &shape->lists[i]);
	json_end_object(writer);
}

static void write_list(JsonWriter *writer, const char *from, const struct list *list)
{
	const void *const *elements = NULL;
	guint32 n = 0;

	memcpy(&elements, from + list->array, sizeof(elements));
	memcpy(&n, from + list->count, sizeof(n));
	if (n == 0)
		return;
	json_begin_array(writer, list->key);
	for (guint32 i = 0; i < n; i++)
		write_shape(writer, NULL, elements[i], list->element);
	json_end_array(writer);
}

void device_json_write(JsonWriter *writer, const char *key, const Device *device)
{
	write_shape(writer, key, (const char *)device_abi(device), &device_shape);
}

/* --- reading --- */

static gboolean refuse(const JsonValue *value, const char *rule, GError **error)
{
	g_autofree char *path = json_path(value);
	g_autofree char *seen = json_describe(value);

	g_set_error(error, JSON_ERROR, 0, "%s: %s is not %s", path, seen, rule);
	return FALSE;
}

static gboolean read_member(const JsonValue *value, const struct member *member, char *to,
			    GError **error)
{
	const char *text = value->string;
	guint32 number = (guint32)value->integer;

	if (member->kind == MEMBER_TEXT) {
		if (value->kind != JSON_KIND_STRING)
			return refuse(value, "text", error);
		memcpy(to + member->offset, &text, sizeof(text));
		return TRUE;
	}
	if (value->kind != JSON_KIND_INT || value->integer < 0 ||
	    value->integer > (member->kind == MEMBER_NODE ? G_MAXINT32 : G_MAXUINT32))
		return refuse(value, "a number of 32 bits", error);
	memcpy(to + member->offset, &number, sizeof(number));
	return TRUE;
}

static gpointer block_new(GPtrArray *blocks, gsize size)
{
	gpointer block = g_malloc0(size);

	g_ptr_array_add(blocks, block);
	return block;
}

static gboolean read_list(const JsonValue *value, const struct list *list, char *to,
			  GPtrArray *blocks, GError **error);

/* A struct in one of the blocks; its texts are the JSON value's. */
static gpointer read_shape(const JsonValue *value, const struct shape *shape, GPtrArray *blocks,
			   GError **error)
{
	char *to = block_new(blocks, shape->size);

	if (value->kind != JSON_KIND_OBJECT) {
		refuse(value, "an object", error);
		return NULL;
	}
	memcpy(to, &shape->size, sizeof(shape->size)); /* the first member of each */
	for (gsize i = 0; shape->members[i].key != NULL; i++) {
		const JsonValue *member = json_find(value, shape->members[i].key);

		if (member != NULL && !read_member(member, &shape->members[i], to, error))
			return NULL;
	}
	for (gsize i = 0; shape->lists[i].key != NULL; i++) {
		const JsonValue *list = json_find(value, shape->lists[i].key);

		if (list != NULL && !read_list(list, &shape->lists[i], to, blocks, error))
			return NULL;
	}
	return to;
}

static gboolean read_list(const JsonValue *value, const struct list *list, char *to,
			  GPtrArray *blocks, GError **error)
{
	const void **elements;
	guint32 n;

	if (value->kind != JSON_KIND_ARRAY)
		return refuse(value, "a list", error);
	n = value->items->len;
	elements = block_new(blocks, (n + 1) * sizeof(gpointer));
	for (guint32 i = 0; i < n; i++) {
		elements[i] = read_shape(value->items->pdata[i], list->element, blocks, error);
		if (elements[i] == NULL)
			return FALSE;
	}
	memcpy(to + list->array, &elements, sizeof(elements));
	memcpy(to + list->count, &n, sizeof(n));
	return TRUE;
}

Device *device_json_read(const JsonValue *value, GError **error)
{
	g_autoptr(GPtrArray) blocks = g_ptr_array_new_with_free_func(g_free);
	struct rdmadp_device *reported = read_shape(value, &device_shape, blocks, error);
	Device *device;

	if (reported == NULL)
		return NULL;
	if (json_find(value, "numaNode") == NULL)
		reported->numa_node = -1;
	device = device_copy(reported, error);
	if (device == NULL) {
		g_autofree char *path = json_path(value);

		g_prefix_error(error, "%s: ", path);
	}
	return device;
}
