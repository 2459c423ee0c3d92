/* SPDX-License-Identifier: Apache-2.0 */
#include "model/retire.h"

struct ghost {
	char *id;
	gint64 since_us;
};

struct retire {
	gint64 after_us;
	Snapshot *shown; /* what was wanted last; NULL before the first */
	GPtrArray *ghosts; /* struct ghost *, the oldest first */
};

static void ghost_free(gpointer data)
{
	struct ghost *ghost = data;

	g_free(ghost->id);
	g_free(ghost);
}

Retire *retire_new(gint64 after_us)
{
	Retire *self = g_new0(Retire, 1);

	self->after_us = after_us;
	self->ghosts = g_ptr_array_new_with_free_func(ghost_free);
	return self;
}

void retire_free(Retire *retire)
{
	if (!retire)
		return;
	snapshot_unref(retire->shown);
	g_ptr_array_unref(retire->ghosts);
	g_free(retire);
}

void retire_set_after(Retire *retire, gint64 after_us)
{
	retire->after_us = after_us;
}

/* Ids that are wanted again are no ghosts. */
static void welcome_back(Retire *self, const Snapshot *wanted)
{
	for (guint i = self->ghosts->len; i > 0; i--) {
		const struct ghost *ghost = g_ptr_array_index(self->ghosts, i - 1);

		if (snapshot_find(wanted, ghost->id))
			g_ptr_array_remove_index(self->ghosts, i - 1);
	}
}

static void add_ghost(Retire *self, const struct slot *slot, gint64 now_us)
{
	struct ghost *ghost = g_new(struct ghost, 1);

	ghost->id = g_strdup(slot->id);
	ghost->since_us = now_us;
	g_ptr_array_add(self->ghosts, ghost);
}

static void find_ghosts(Retire *self, const Snapshot *wanted, gint64 now_us)
{
	/* The same ids, shared: the usual case, and then there can be many. */
	if (!self->shown || self->shown->slot_index == wanted->slot_index)
		return;
	for (guint i = 0; i < self->shown->slots->len; i++) {
		const struct slot *slot = g_ptr_array_index(self->shown->slots, i);

		if (!snapshot_find(wanted, slot->id))
			add_ghost(self, slot, now_us);
	}
}

static struct char_file *copy_file(const struct char_file *file)
{
	struct char_file *copy = g_new(struct char_file, 1);

	*copy = *file;
	copy->host_path = g_strdup(file->host_path);
	copy->dev_name = g_strdup(file->dev_name);
	copy->rdma_device = g_strdup(file->rdma_device);
	copy->sysfs_dir = g_strdup(file->sysfs_dir);
	return copy;
}

static Snapshot *copy_snapshot(const Snapshot *from)
{
	Snapshot *copy = snapshot_new(from->resource);

	for (guint i = 0; i < from->slots->len; i++) {
		const struct slot *slot = g_ptr_array_index(from->slots, i);

		snapshot_add_slot(copy, g_strdup(slot->id), slot->healthy, slot->numa_node);
	}
	for (guint i = 0; i < from->files->len; i++)
		snapshot_add_file(copy, copy_file(g_ptr_array_index(from->files, i)));
	snapshot_share_units(copy, from);
	for (guint i = 0; i < from->notes->len; i++)
		g_ptr_array_add(copy->notes, g_strdup(g_ptr_array_index(from->notes, i)));
	return copy;
}

static void remember(Retire *self, Snapshot *wanted)
{
	snapshot_ref(wanted);
	snapshot_unref(self->shown);
	self->shown = wanted;
}

Snapshot *retire_apply(Retire *retire, Snapshot *wanted, gint64 now_us)
{
	Snapshot *copy;

	welcome_back(retire, wanted);
	find_ghosts(retire, wanted, now_us);
	remember(retire, wanted);
	if (retire->ghosts->len == 0)
		return snapshot_ref(wanted);
	copy = copy_snapshot(wanted);
	for (guint i = 0; i < retire->ghosts->len; i++) {
		const struct ghost *ghost = g_ptr_array_index(retire->ghosts, i);

		/* Without a NUMA node: kubelets count Unhealthy devices, too, when they see how
		 * many nodes a container needs. */
		snapshot_add_slot(copy, g_strdup(ghost->id), FALSE, -1);
	}
	return copy;
}

gboolean retire_release(Retire *retire, gint64 asked_us,
			gboolean (*is_held)(const char *id, gpointer data), gpointer data)
{
	guint before = retire->ghosts->len;

	for (guint i = before; i > 0; i--) {
		const struct ghost *ghost = g_ptr_array_index(retire->ghosts, i - 1);

		if (asked_us - ghost->since_us >= retire->after_us && !is_held(ghost->id, data))
			g_ptr_array_remove_index(retire->ghosts, i - 1);
	}
	return retire->ghosts->len < before;
}

guint retire_count(const Retire *retire)
{
	return retire->ghosts->len;
}

gint64 retire_due_us(const Retire *retire)
{
	const struct ghost *first;

	if (retire->ghosts->len == 0)
		return G_MAXINT64;
	first = g_ptr_array_index(retire->ghosts, 0);
	return first->since_us + retire->after_us;
}
