/* SPDX-License-Identifier: Apache-2.0 */
#include "model/list_size.h"

#include <string.h>

/* The longest form that a NUMA node of a real machine has: one byte of number. */
#define LONGEST_NUMA_NODE 127

static gsize varint_size(guint64 value)
{
	gsize size = 1;

	while (value >= 0x80) {
		value >>= 7;
		size++;
	}
	return size;
}

/* A field with a length: tag, length, content. */
static gsize field_size(gsize content)
{
	return 1 + varint_size(content) + content;
}

static gsize topology_size(int numa_node)
{
	gsize node;

	if (numa_node < 0)
		return 0;
	/* Node 0 is the default value: an empty message that is still there. */
	node = numa_node == 0 ? 0 : 1 + varint_size((guint64)numa_node);
	return field_size(field_size(node));
}

gsize list_size_device(gsize id_length, gboolean healthy, int numa_node)
{
	gsize health = strlen(healthy ? "Healthy" : "Unhealthy");

	return field_size(field_size(id_length) + field_size(health) + topology_size(numa_node));
}

/* Adds the slots of one number of digits and returns how many there are. */
static guint64 add_group(gsize *total, guint64 first, guint64 after_last, gsize slot_size,
			 guint n_slots)
{
	guint64 end = MIN(after_last, (guint64)n_slots);

	if (end <= first)
		return 0;
	*total += (gsize)(end - first) * slot_size;
	return end - first;
}

gsize list_size_bytes(const char *full_name, guint n_slots, gboolean topology)
{
	gsize id_length = strlen(full_name) + strlen("-0");
	guint64 first = 0, after_last = 10;
	gsize total = 0;

	while (add_group(&total, first, after_last,
			 list_size_device(id_length, FALSE, topology ? LONGEST_NUMA_NODE : -1),
			 n_slots) > 0) {
		first = after_last;
		after_last *= 10;
		id_length++;
	}
	return total;
}

guint list_size_max_slots(const char *full_name, gboolean topology)
{
	guint fits = 0, too_many = (guint)LIST_SIZE_LIMIT;

	while (too_many - fits > 1) {
		guint middle = fits + (too_many - fits) / 2;

		if (list_size_bytes(full_name, middle, topology) <= LIST_SIZE_LIMIT)
			fits = middle;
		else
			too_many = middle;
	}
	return fits;
}
