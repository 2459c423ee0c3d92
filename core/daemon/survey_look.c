/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/survey_look.h"

#include "edge/backend.h"
#include "edge/module.h"
#include "edge/rehearsal.h"
#include "model/inventory.h"

/* Longest wait for a scan and for the health of its devices. */
#define LOOK_LIMIT_MS 5000
#define END_WAIT_MS 200

struct party;

/* One bus being looked at. */
struct look {
	struct party *party;
	struct survey_bus *bus;
	Rehearsal *rehearsal;
	Backend *backend;
	guint limit; /* timer */
	guint pending; /* health reads that have not come back */
	gboolean is_over;
};

/* All of them. */
struct party {
	const struct survey_plan *plan;
	const SavedState *before;
	GMainLoop *loop;
	guint pending; /* looks that are not over */
};

static void look_end(struct look *look)
{
	if (look->is_over)
		return;
	look->is_over = TRUE;
	if (--look->party->pending == 0)
		g_main_loop_quit(look->party->loop);
}

static void look_fail(struct look *look, const char *trouble)
{
	look->bus->trouble = g_strdup(trouble);
	look_end(look);
}

static void note_double(gpointer data, gpointer user_data)
{
	struct survey_bus *bus = user_data;

	g_ptr_array_add(bus->left_out, g_strdup_printf("device '%s' is left out: another one has "
						       "its identity '%s'",
						       device_id(data), device_identity(data)));
}

static void look_take_left_out(struct look *look, const GPtrArray *left_out)
{
	for (guint i = 0; left_out != NULL && i < left_out->len; i++)
		g_ptr_array_add(look->bus->left_out, g_strdup(left_out->pdata[i]));
}

/* Health is asked for what was seen now, shown is what is known. */
static void look_take(struct look *look, Backend *backend, GPtrArray *found)
{
	struct survey_bus *bus = look->bus;
	const struct saved_bus *before = look->party->before == NULL
						 ? NULL
						 : saved_state_bus(look->party->before, bus->name);
	g_autoptr(Inventory) inventory = inventory_new();
	g_autoptr(GPtrArray) entries = NULL;
	struct inventory_change change;

	if (before != NULL)
		inventory_restore(inventory, bus->name, before->devices);
	inventory_update(inventory, bus->name, found, &change);
	g_ptr_array_foreach(change.doubles, note_double, bus);
	inventory_change_clear(&change);
	look_take_left_out(look, backend_left_out(backend));
	entries = inventory_list(inventory, bus->name);
	for (guint i = 0; i < entries->len; i++) {
		const struct inventory_entry *entry = g_ptr_array_index(entries, i);

		g_ptr_array_add(bus->devices, device_ref(entry->known));
		look->pending += backend_check_health(backend, entry->reported, NULL);
	}
}

static void look_on_scanned(Backend *backend, GPtrArray *devices, const GError *error,
			    gboolean event_driven G_GNUC_UNUSED, gpointer data)
{
	struct look *look = data;

	/* A later scan, which an event caused, tells nothing else. */
	if (look->is_over || look->pending > 0)
		return;
	if (devices == NULL) {
		look_fail(look, error->message);
		return;
	}
	look_take(look, backend, devices);
	if (look->pending == 0)
		look_end(look);
}

static void look_on_health(Backend *backend G_GNUC_UNUSED, Device *device,
			   const struct rdmadp_health *health, gpointer data)
{
	struct look *look = data;

	g_hash_table_insert(look->bus->health, g_strdup(device_identity(device)),
			    g_memdup2(health, sizeof(*health)));
	if (--look->pending == 0)
		look_end(look);
}

static gboolean look_on_limit(gpointer data)
{
	struct look *look = data;

	if (!look->is_over && look->pending == 0) {
		g_autofree char *trouble =
			g_strdup_printf("backend '%s': no answer to a scan within %d ms",
					look->bus->name, LOOK_LIMIT_MS);

		look_fail(look, trouble);
	}
	look_end(look);
	return G_SOURCE_CONTINUE;
}

static const struct backend_callbacks look_callbacks = {
	.scanned = look_on_scanned,
	.health = look_on_health,
};

static void look_on_rehearsed(const GError *error, gpointer data)
{
	struct look *look = data;
	const Settings *settings = look->party->plan->settings;
	g_autoptr(GError) trouble = NULL;

	if (error != NULL) {
		look_fail(look, error->message);
		return;
	}
	look->bus->vtable = module_load(settings->backend_dir, look->bus->name, &trouble);
	if (look->bus->vtable == NULL) {
		look_fail(look, trouble->message);
		return;
	}
	look->limit = g_timeout_add(LOOK_LIMIT_MS, look_on_limit, look);
	look->backend = backend_new(look->bus->vtable, settings->sysfs_root, settings->dev_root,
				    &look_callbacks, look);
}

static void look_begin(struct look *look)
{
	const struct survey_plan *plan = look->party->plan;
	const struct rehearsal_plan rehearsal = {
		.program = plan->program,
		.backend_dir = plan->settings->backend_dir,
		.name = look->bus->name,
		.sysfs_root = plan->settings->sysfs_root,
		.dev_root = plan->settings->dev_root,
	};
	g_autoptr(GError) error = NULL;

	look->rehearsal = rehearsal_start(&rehearsal, look_on_rehearsed, look, &error);
	if (look->rehearsal == NULL)
		look_fail(look, error->message);
}

static void look_free(gpointer data)
{
	struct look *look = data;

	rehearsal_free(look->rehearsal);
	if (look->limit != 0)
		g_source_remove(look->limit);
	backend_free(look->backend, END_WAIT_MS);
	g_free(look);
}

void survey_look(GPtrArray *buses, const struct survey_plan *plan, const SavedState *before)
{
	g_autoptr(GPtrArray) looks = g_ptr_array_new_with_free_func(look_free);
	struct party party = {
		.plan = plan,
		.before = before,
		.loop = g_main_loop_new(NULL, FALSE),
		.pending = buses->len,
	};

	for (guint i = 0; i < buses->len; i++) {
		struct look *look = g_new0(struct look, 1);

		look->party = &party;
		look->bus = g_ptr_array_index(buses, i);
		g_ptr_array_add(looks, look);
		look_begin(look);
	}
	if (party.pending > 0)
		g_main_loop_run(party.loop);
	g_main_loop_unref(party.loop);
}
