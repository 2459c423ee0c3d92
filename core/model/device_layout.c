/* SPDX-License-Identifier: Apache-2.0 */
#include "model/device_layout.h"

#include <stddef.h>
#include <string.h>

#include "model/device.h"
#include "model/device_text.h"

/* Each table ends with an entry without a name. */

struct text_member {
	const char *name;
	gsize offset;
	enum text_rule rule;
	gboolean required;
	gsize limit; /* bytes */
};

struct number_member {
	const char *name;
	gsize offset; /* of 32 bits; signed if min is negative */
	gint64 min, max;
};

struct layout;

struct list_member {
	const char *name;
	gsize array, count;
	guint32 limit;
	const struct layout *element;
};

struct layout {
	guint32 size; /* as this core knows it */
	guint32 least; /* up to the last member that must be there */
	const struct text_member *texts;
	const struct number_member *numbers;
	const struct list_member *lists;
	/* What concerns several members: a phrase about 'name', or NULL. */
	const char *(*check)(const void *copy);
};

#define END_OF(type, member) (offsetof(struct type, member) + sizeof(((struct type *)0)->member))

/* A member that is added to the contract has to be added to the tables below. */
#define ENDS_WITH(type, member) G_STATIC_ASSERT(sizeof(struct type) == END_OF(type, member))
ENDS_WITH(rdmadp_attribute, value);
ENDS_WITH(rdmadp_port, state);
ENDS_WITH(rdmadp_rdma_device, ports);
ENDS_WITH(rdmadp_netdev, reserved);
ENDS_WITH(rdmadp_node, reserved);
ENDS_WITH(rdmadp_device, nodes);

static const struct text_member no_texts[] = {{0}};
static const struct number_member no_numbers[] = {{0}};
static const struct list_member no_lists[] = {{0}};

#define AT(member) #member, offsetof(struct rdmadp_attribute, member)
static const struct text_member attribute_texts[] = {
	{AT(key), TEXT_WORD, TRUE, 63},
	{AT(value), TEXT_LINE, TRUE, 1023},
	{0},
};
#undef AT
static const struct layout attribute_layout = {
	sizeof(struct rdmadp_attribute),
	END_OF(rdmadp_attribute, value),
	attribute_texts,
	no_numbers,
	no_lists,
	NULL,
};

#define AT(member) #member, offsetof(struct rdmadp_port, member)
static const struct number_member port_numbers[] = {
	{AT(number), 1, G_MAXUINT32},
	{AT(link_layer), 0, G_MAXUINT32},
	{AT(state), 0, G_MAXUINT32},
	{0},
};
#undef AT
static const struct layout port_layout = {
	sizeof(struct rdmadp_port),
	END_OF(rdmadp_port, number),
	no_texts,
	port_numbers,
	no_lists,
	NULL,
};

#define AT(member) #member, offsetof(struct rdmadp_rdma_device, member)
static const struct text_member rdma_texts[] = {
	{AT(name), TEXT_NAME, TRUE, 63},
	{AT(driver), TEXT_LINE, FALSE, 63},
	{0},
};
static const struct number_member rdma_numbers[] = {{AT(flags), 0, G_MAXUINT32}, {0}};
static const struct list_member rdma_lists[] = {
	{AT(ports), offsetof(struct rdmadp_rdma_device, n_ports), 1024, &port_layout},
	{0},
};
#undef AT
static const struct layout rdma_layout = {
	sizeof(struct rdmadp_rdma_device),
	END_OF(rdmadp_rdma_device, name),
	rdma_texts,
	rdma_numbers,
	rdma_lists,
	NULL,
};

#define AT(member) #member, offsetof(struct rdmadp_netdev, member)
static const struct text_member netdev_texts[] = {{AT(name), TEXT_LINE, TRUE, 127}, {0}};
static const struct number_member netdev_numbers[] = {
	{AT(flags), 0, G_MAXUINT32},
	{AT(link_layer), 0, G_MAXUINT32},
	{0},
};
#undef AT
static const struct layout netdev_layout = {
	sizeof(struct rdmadp_netdev),
	END_OF(rdmadp_netdev, name),
	netdev_texts,
	netdev_numbers,
	no_lists,
	NULL,
};

#define AT(member) #member, offsetof(struct rdmadp_node, member)
static const struct text_member node_texts[] = {
	{AT(name), TEXT_DEV_PATH, TRUE, 255},
	{AT(rdma_device), TEXT_NAME, FALSE, 63},
	{AT(sysfs_dir), TEXT_SYSFS_PATH, FALSE, 1023},
	{0},
};
static const struct number_member node_numbers[] = {
	{AT(kind), 0, G_MAXUINT32},  {AT(dev_major), 0, 4095}, /* 12 bits and 20 bits in Linux */
	{AT(dev_minor), 0, 1048575}, {AT(port), 0, G_MAXUINT32}, {0},
};
#undef AT

static const char *node_check(const void *copy)
{
	const struct rdmadp_node *node = copy;

	if (node->rdma_device == NULL && node->kind >= RDMADP_NODE_UVERBS &&
	    node->kind <= RDMADP_NODE_ISSM)
		return "needs its rdma_device";
	return text_node_problem(node->kind, node->name);
}

static const struct layout node_layout = {
	sizeof(struct rdmadp_node),
	END_OF(rdmadp_node, name),
	node_texts,
	node_numbers,
	no_lists,
	node_check,
};

#define AT(member) #member, offsetof(struct rdmadp_device, member)
#define LIST(member) AT(member), offsetof(struct rdmadp_device, n_##member)
static const struct text_member device_texts[] = {
	{AT(id), TEXT_WORD, TRUE, 63}, /* first: errors name the device by it */
	{AT(identity), TEXT_WORD, TRUE, 255},
	{AT(parent_id), TEXT_WORD, FALSE, 63},
	{AT(driver), TEXT_LINE, FALSE, 63},
	{AT(pcie_root), TEXT_LINE, FALSE, 255},
	{AT(pcie_path), TEXT_LINE, FALSE, 1023},
	{AT(note), TEXT_LINE, FALSE, 1023},
	{0},
};
static const struct number_member device_numbers[] = {
	{AT(flags), 0, G_MAXUINT32},
	{AT(numa_node), -1, G_MAXUINT16},
	{0},
};
static const struct list_member device_lists[] = {
	{LIST(attributes), 256, &attribute_layout},
	{LIST(rdma_devices), 64, &rdma_layout},
	{LIST(netdevs), 1024, &netdev_layout},
	{LIST(nodes), 4096, &node_layout},
	{0},
};
#undef LIST
#undef AT
static const struct layout device_layout = {
	sizeof(struct rdmadp_device),
	END_OF(rdmadp_device, identity),
	device_texts,
	device_numbers,
	device_lists,
	NULL,
};

void device_arena_init(struct device_arena *arena)
{
	arena->texts = g_string_chunk_new(512);
	arena->blocks = g_ptr_array_new_with_free_func(g_free);
}

void device_arena_clear(struct device_arena *arena)
{
	g_string_chunk_free(arena->texts);
	g_ptr_array_unref(arena->blocks);
}

struct copier {
	struct device_arena *arena;
	GString *path; /* "rdma_devices[0].ports[1]." */
	const char *subject; /* the device's id, once it is copied */
	GError **error;
};

/* Always FALSE, so that a check can return it. */
static gboolean fail(struct copier *copier, const char *member, const char *value,
		     const char *problem)
{
	g_autofree char *device =
		copier->subject == NULL ? NULL : g_strdup_printf("device '%s': ", copier->subject);

	g_set_error(copier->error, DEVICE_ERROR, 0, "%s%s%s %s%s%s", device == NULL ? "" : device,
		    copier->path->str, member, value == NULL ? "" : value, value == NULL ? "" : " ",
		    problem);
	return FALSE;
}

static gboolean fail_text(struct copier *copier, const char *member, const char *value,
			  const char *problem)
{
	g_autofree char *start = g_strndup(value, 80);
	g_autofree char *escaped = g_strescape(start, NULL);
	g_autofree char *quoted = g_strdup_printf("'%s'", escaped);

	return fail(copier, member, quoted, problem);
}

static gboolean fail_number(struct copier *copier, const char *member, gint64 value,
			    const char *problem)
{
	g_autofree char *text = g_strdup_printf("%" G_GINT64_FORMAT, value);

	return fail(copier, member, text, problem);
}

static gint64 number_get(const void *structure, const struct number_member *member)
{
	if (member->min < 0)
		return G_STRUCT_MEMBER(gint32, structure, member->offset);
	return G_STRUCT_MEMBER(guint32, structure, member->offset);
}

static gboolean check_numbers(struct copier *copier, const struct layout *layout, const void *copy)
{
	for (const struct number_member *m = layout->numbers; m->name != NULL; m++) {
		gint64 value = number_get(copy, m);

		if (value < m->min || value > m->max) {
			g_autofree char *problem = g_strdup_printf(
				"is not in the range %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT,
				m->min, m->max);

			return fail_number(copier, m->name, value, problem);
		}
	}
	return TRUE;
}

static gboolean copy_text(struct copier *copier, const struct text_member *member, void *copy)
{
	const char **text = &G_STRUCT_MEMBER(const char *, copy, member->offset);
	const char *problem;

	if (*text == NULL)
		return member->required ? fail(copier, member->name, NULL, "is missing") : TRUE;
	if (strnlen(*text, member->limit + 1) > member->limit) {
		g_autofree char *limit =
			g_strdup_printf("is longer than %" G_GSIZE_FORMAT " bytes", member->limit);

		return fail_text(copier, member->name, *text, limit);
	}
	problem = text_problem(member->rule, *text);
	if (problem != NULL)
		return fail_text(copier, member->name, *text, problem);
	*text = g_string_chunk_insert(copier->arena->texts, *text);
	if (copier->subject == NULL)
		copier->subject = *text;
	return TRUE;
}

static gboolean copy_texts(struct copier *copier, const struct layout *layout, void *copy)
{
	for (const struct text_member *m = layout->texts; m->name != NULL; m++)
		if (!copy_text(copier, m, copy))
			return FALSE;
	return TRUE;
}

static gboolean copy_struct(struct copier *copier, const struct layout *layout, const void *from,
			    void *to);

static gboolean copy_element(struct copier *copier, const struct list_member *member, guint32 i,
			     const void *from, void *to)
{
	gsize length = copier->path->len;
	gboolean ok;

	g_string_append_printf(copier->path, "%s[%u]", member->name, i);
	if (from == NULL)
		return fail(copier, "", NULL, "is NULL");
	g_string_append_c(copier->path, '.');
	ok = copy_struct(copier, member->element, from, to);
	g_string_truncate(copier->path, length);
	return ok;
}

/* One block: the array of pointers, then the elements. */
static gboolean copy_list(struct copier *copier, const struct list_member *member, void *copy)
{
	guint32 n = G_STRUCT_MEMBER(guint32, copy, member->count);
	const void *const *from = G_STRUCT_MEMBER(const void *const *, copy, member->array);
	const void **pointers;
	char *elements;

	G_STRUCT_MEMBER(const void *const *, copy, member->array) = NULL;
	if (n == 0)
		return TRUE;
	if (from == NULL)
		return fail(copier, member->name, NULL, "is NULL, but its count is not 0");
	if (n > member->limit) {
		g_autofree char *problem =
			g_strdup_printf("has %u elements; the limit is %u", n, member->limit);

		return fail(copier, member->name, NULL, problem);
	}
	pointers = g_malloc0(n * (sizeof(void *) + member->element->size));
	g_ptr_array_add(copier->arena->blocks, (gpointer)pointers);
	elements = (char *)(pointers + n);
	for (guint32 i = 0; i < n; i++) {
		pointers[i] = elements + (gsize)i * member->element->size;
		if (!copy_element(copier, member, i, from[i], (void *)pointers[i]))
			return FALSE;
	}
	G_STRUCT_MEMBER(const void *const *, copy, member->array) = pointers;
	return TRUE;
}

static gboolean copy_lists(struct copier *copier, const struct layout *layout, void *copy)
{
	for (const struct list_member *m = layout->lists; m->name != NULL; m++)
		if (!copy_list(copier, m, copy))
			return FALSE;
	return TRUE;
}

static gboolean copy_size(struct copier *copier, const struct layout *layout, const void *from,
			  void *to)
{
	guint32 size = G_STRUCT_MEMBER(guint32, from, 0);

	if (size < layout->least)
		return fail_number(copier, "size", size,
				   "is too small: members that must be there are not; set it "
				   "to sizeof of the struct");
	/* Else a pointer could be cut in two. */
	if (size % sizeof(void *) != 0 && size < layout->size)
		return fail_number(copier, "size", size, "is no size that this struct ever had");
	memcpy(to, from, MIN(size, layout->size));
	G_STRUCT_MEMBER(guint32, to, 0) = layout->size;
	return TRUE;
}

static gboolean check_struct(struct copier *copier, const struct layout *layout, const void *copy)
{
	const char *problem = layout->check == NULL ? NULL : layout->check(copy);
	const struct text_member *name = layout->texts;

	if (problem == NULL)
		return TRUE;
	return fail_text(copier, name->name, G_STRUCT_MEMBER(const char *, copy, name->offset),
			 problem);
}

static gboolean copy_struct(struct copier *copier, const struct layout *layout, const void *from,
			    void *to)
{
	return copy_size(copier, layout, from, to) && copy_texts(copier, layout, to) &&
	       check_numbers(copier, layout, to) && copy_lists(copier, layout, to) &&
	       check_struct(copier, layout, to);
}

gboolean device_layout_copy(struct device_arena *arena, const struct rdmadp_device *from,
			    struct rdmadp_device *to, GError **error)
{
	g_autoptr(GString) path = g_string_new(NULL);
	struct copier copier = {.arena = arena, .path = path, .error = error};

	return copy_struct(&copier, &device_layout, from, to);
}

static gboolean struct_equal(const struct layout *layout, const void *a, const void *b);

static gboolean list_equal(const struct list_member *member, const void *a, const void *b)
{
	guint32 n = G_STRUCT_MEMBER(guint32, a, member->count);
	const void *const *as = G_STRUCT_MEMBER(const void *const *, a, member->array);
	const void *const *bs = G_STRUCT_MEMBER(const void *const *, b, member->array);

	if (n != G_STRUCT_MEMBER(guint32, b, member->count))
		return FALSE;
	for (guint32 i = 0; i < n; i++)
		if (!struct_equal(member->element, as[i], bs[i]))
			return FALSE;
	return TRUE;
}

static gboolean struct_equal(const struct layout *layout, const void *a, const void *b)
{
	for (const struct number_member *m = layout->numbers; m->name != NULL; m++)
		if (number_get(a, m) != number_get(b, m))
			return FALSE;
	for (const struct text_member *m = layout->texts; m->name != NULL; m++)
		if (g_strcmp0(G_STRUCT_MEMBER(const char *, a, m->offset),
			      G_STRUCT_MEMBER(const char *, b, m->offset)) != 0)
			return FALSE;
	for (const struct list_member *m = layout->lists; m->name != NULL; m++)
		if (!list_equal(m, a, b))
			return FALSE;
	return TRUE;
}

gboolean device_layout_equal(const struct rdmadp_device *a, const struct rdmadp_device *b)
{
	return struct_equal(&device_layout, a, b);
}
