/* SPDX-License-Identifier: Apache-2.0 */
#include "model/custody.h"

#include <string.h>

#include "model/exclusive.h"
#include "model/mode_switch.h"
#include "model/news.h"
#include "model/overlap.h"

/* As in mode_switch.c: until the kubelet's word takes the last list into account. */
#define SETTLE_US ((gint64)500 * 1000)
#define SHORTEST_PAUSE_US ((gint64)1 * G_USEC_PER_SEC)
#define LONGEST_PAUSE_US ((gint64)10 * G_USEC_PER_SEC)
/* So often it may say nothing. */
#define PATIENCE 3

/* A resource that offers a device, or has offered it. */
struct owner {
	char *key; /* of the device: bus and identity */
	char *bus;
	Device *device; /* held */
	char *resource;
	gboolean exclusive;
	gint64 lost_us; /* since when it does not offer it any more; 0: it does */
	gboolean waited_for; /* another resource is to have it */
	GHashTable *pods; /* those that may hold it; NULL: not known yet */
};

struct custody {
	GPtrArray *owners; /* struct owner * */
	GHashTable *by_key; /* key -> GPtrArray of owners, borrowed */
	gint64 asked_us; /* of the last answer or silence; 0: none while one is waited for */
	guint silences; /* in a row */
	GHashTable *said; /* set: what was said about devices that are kept back now */
	GPtrArray *news;
};

static void owner_free(gpointer data)
{
	struct owner *owner = data;

	g_free(owner->key);
	g_free(owner->bus);
	device_unref(owner->device);
	g_free(owner->resource);
	if (owner->pods != NULL)
		g_hash_table_unref(owner->pods);
	g_free(owner);
}

static GHashTable *texts_new(void)
{
	return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
}

Custody *custody_new(void)
{
	Custody *self = g_new0(Custody, 1);

	self->owners = g_ptr_array_new_with_free_func(owner_free);
	self->by_key = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
					     (GDestroyNotify)g_ptr_array_unref);
	self->said = texts_new();
	self->news = news_new();
	return self;
}

void custody_free(Custody *custody)
{
	if (custody == NULL)
		return;
	g_hash_table_unref(custody->by_key);
	g_ptr_array_unref(custody->owners);
	g_hash_table_unref(custody->said);
	g_ptr_array_unref(custody->news);
	g_free(custody);
}

/* --- owners --- */

static char *key_of(const char *bus, const Device *device)
{
	return g_strdup_printf("%s %s", bus, device_identity(device));
}

static struct owner *add_owner(Custody *self, const char *bus, Device *device, const char *resource)
{
	g_autofree char *key = key_of(bus, device);
	GPtrArray *list = g_hash_table_lookup(self->by_key, key);
	struct owner *owner = g_new0(struct owner, 1);

	owner->key = g_strdup(key);
	owner->bus = g_strdup(bus);
	owner->device = device_ref(device);
	owner->resource = g_strdup(resource);
	g_ptr_array_add(self->owners, owner);
	if (list == NULL) {
		list = g_ptr_array_new();
		g_hash_table_insert(self->by_key, g_strdup(key), list);
	}
	g_ptr_array_add(list, owner);
	return owner;
}

static struct owner *find_owner(const Custody *self, const char *bus, const Device *device,
				const char *resource)
{
	g_autofree char *key = key_of(bus, device);
	const GPtrArray *list = g_hash_table_lookup(self->by_key, key);

	for (guint i = 0; list != NULL && i < list->len; i++) {
		struct owner *owner = g_ptr_array_index(list, i);

		if (strcmp(owner->resource, resource) == 0)
			return owner;
	}
	return NULL;
}

/* TRUE if another resource has waited for it. */
static gboolean release(Custody *self, guint i)
{
	struct owner *owner = g_ptr_array_index(self->owners, i);
	gboolean waited_for = owner->waited_for;

	g_ptr_array_remove(g_hash_table_lookup(self->by_key, owner->key), owner);
	g_ptr_array_remove_index(self->owners, i);
	return waited_for;
}

/* --- across a restart --- */

/* Current ids come first in a list. */
static gboolean was_exclusive(const struct saved_resource *saved)
{
	return saved->ids->len > 0 && !mode_id_is_slot(g_ptr_array_index(saved->ids, 0));
}

/* A process that ended before its first discovery has saved what a resource offers twice: as
 * the resource's and as lost. The first entry, the resource's own, tells how it was offered. */
static void restore_owner(Custody *self, const struct saved_resource *saved, Device *device,
			  gint64 now_us)
{
	struct owner *owner = find_owner(self, saved->bus, device, saved->name);

	if (owner != NULL)
		return;
	owner = add_owner(self, saved->bus, device, saved->name);
	owner->exclusive = was_exclusive(saved);
	owner->lost_us = now_us;
}

void custody_restore(Custody *custody, const SavedState *before, gint64 now_us)
{
	for (guint i = 0; i < before->resources->len; i++) {
		const struct saved_resource *saved = g_ptr_array_index(before->resources, i);

		for (guint j = 0; j < saved->hcas->len; j++) {
			const struct saved_hca *hca = g_ptr_array_index(saved->hcas, j);

			restore_owner(custody, saved, hca->device, now_us);
		}
	}
}

static void save_owner(const struct owner *owner, SavedState *state)
{
	struct saved_resource *saved = saved_resource_new(
		g_strdup(owner->resource), g_strdup(owner->bus), g_strdup("none any more"));
	struct saved_hca *hca = g_new0(struct saved_hca, 1);

	hca->device = device_ref(owner->device);
	g_ptr_array_add(saved->hcas, hca);
	g_ptr_array_add(saved->ids, owner->exclusive ? g_strdup(exclusive_id(owner->device))
						     : g_strdup_printf("%s-0", owner->resource));
	g_ptr_array_add(state->resources, saved);
}

void custody_save(const Custody *custody, SavedState *state)
{
	for (guint i = 0; i < custody->owners->len; i++) {
		const struct owner *owner = g_ptr_array_index(custody->owners, i);

		if (owner->lost_us != 0)
			save_owner(owner, state);
	}
}

/* --- who gets what --- */

static char *pair(const char *resource, const char *key)
{
	return g_strdup_printf("%s %s", resource, key);
}

/* Pairs of resource and device. */
static GHashTable *pairs_of(const char *bus, GPtrArray *claims)
{
	GHashTable *pairs = texts_new();

	for (guint i = 0; i < claims->len; i++) {
		const struct overlap_claim *claim = g_ptr_array_index(claims, i);

		for (guint j = 0; j < claim->devices->len; j++) {
			g_autofree char *key = key_of(bus, claim->devices->pdata[j]);

			g_hash_table_add(pairs, pair(claim->config->full_name, key));
		}
	}
	return pairs;
}

static gboolean is_on(const struct owner *owner, const char *bus)
{
	gsize length = strlen(bus);

	return strncmp(owner->key, bus, length) == 0 && owner->key[length] == ' ';
}

static void note_losses(Custody *self, const char *bus, GPtrArray *claims, gint64 now_us)
{
	g_autoptr(GHashTable) pairs = pairs_of(bus, claims);

	for (guint i = 0; i < self->owners->len; i++) {
		struct owner *owner = g_ptr_array_index(self->owners, i);
		g_autofree char *own = pair(owner->resource, owner->key);

		if (!is_on(owner, bus))
			continue;
		owner->waited_for = FALSE;
		if (owner->lost_us == 0 && !g_hash_table_contains(pairs, own))
			owner->lost_us = now_us;
	}
}

static gboolean is_claims(const struct owner *owner, const struct overlap_claim *claim)
{
	return strcmp(owner->resource, claim->config->full_name) == 0;
}

/* Another resource whose pods may hold the device that the claim is about; NULL: none. */
static struct owner *rival_of(const Custody *self, const char *key,
			      const struct overlap_claim *claim)
{
	const GPtrArray *list = g_hash_table_lookup(self->by_key, key);

	for (guint i = 0; list != NULL && i < list->len; i++) {
		struct owner *owner = g_ptr_array_index(list, i);

		if (owner->lost_us != 0 && (owner->exclusive || claim->exclusive) &&
		    !is_claims(owner, claim))
			return owner;
	}
	return NULL;
}

static void hand_over(Custody *self, const char *bus, Device *device,
		      const struct overlap_claim *claim)
{
	struct owner *owner = find_owner(self, bus, device, claim->config->full_name);

	if (owner == NULL)
		owner = add_owner(self, bus, device, claim->config->full_name);
	owner->exclusive = claim->exclusive;
	owner->lost_us = 0;
	g_clear_pointer(&owner->pods, g_hash_table_unref);
}

/* Said once for two resources. */
static void keep_back(Custody *self, const Device *device, struct owner *rival,
		      struct overlap_claim *claim)
{
	char *both = pair(claim->config->full_name, rival->resource);

	rival->waited_for = TRUE;
	if (claim->waits == NULL)
		claim->waits = g_strdup_printf("waits until no pod can hold devices, such as '%s', "
					       "through \"%s\", which had them before",
					       device_id(device), rival->resource);
	if (!g_hash_table_contains(self->said, both))
		news_add(self->news, NEWS_WARNING,
			 "\"%s\" gets devices, such as '%s', not before no pod can hold them "
			 "through \"%s\", which had them before",
			 claim->config->full_name, device_id(device), rival->resource);
	g_hash_table_add(self->said, both);
}

static void settle_claim(Custody *self, const char *bus, struct overlap_claim *claim)
{
	for (guint i = 0; i < claim->devices->len;) {
		Device *device = g_ptr_array_index(claim->devices, i);
		g_autofree char *key = key_of(bus, device);
		struct owner *rival = rival_of(self, key, claim);

		if (rival == NULL) {
			hand_over(self, bus, device, claim);
			i++;
			continue;
		}
		keep_back(self, device, rival, claim);
		g_ptr_array_remove_index(claim->devices, i);
	}
}

static gboolean is_waiting(const Custody *self)
{
	for (guint i = 0; i < self->owners->len; i++)
		if (((const struct owner *)g_ptr_array_index(self->owners, i))->waited_for)
			return TRUE;
	return FALSE;
}

void custody_settle(Custody *custody, const char *bus, GPtrArray *claims, gint64 now_us)
{
	note_losses(custody, bus, claims, now_us);
	for (guint i = 0; i < claims->len; i++)
		settle_claim(custody, bus, g_ptr_array_index(claims, i));
	if (is_waiting(custody))
		return;
	custody->asked_us = 0;
	custody->silences = 0;
	g_hash_table_remove_all(custody->said);
}

/* --- the kubelet's word --- */

static gint64 pause_of(const Custody *self, const struct owner *owner)
{
	return CLAMP((self->asked_us - owner->lost_us) / 4, SHORTEST_PAUSE_US, LONGEST_PAUSE_US);
}

gint64 custody_asks_from(const Custody *custody)
{
	gint64 first_us = -1;

	for (guint i = 0; i < custody->owners->len; i++) {
		const struct owner *owner = g_ptr_array_index(custody->owners, i);
		gint64 from_us = owner->lost_us + SETTLE_US;

		if (!owner->waited_for)
			continue;
		if (custody->asked_us != 0)
			from_us = MAX(from_us, custody->asked_us + pause_of(custody, owner));
		first_us = first_us < 0 ? from_us : MIN(first_us, from_us);
	}
	return first_us;
}

/* A slot stands for every device that its resource has. */
static gboolean is_of(const struct custody_holding *holding, const struct owner *owner)
{
	const char *id = exclusive_id(owner->device);

	if (strcmp(holding->resource, owner->resource) != 0)
		return FALSE;
	for (guint i = 0; owner->exclusive && i < holding->ids->len; i++)
		if (strcmp(g_ptr_array_index(holding->ids, i), id) == 0)
			return TRUE;
	return !owner->exclusive && holding->ids->len > 0;
}

/* Those of the pods that were there at first: who comes later has not got the device. */
static void note_pods(struct owner *owner, GPtrArray *holdings)
{
	GHashTable *pods = texts_new();

	for (guint i = 0; i < holdings->len; i++) {
		const struct custody_holding *holding = g_ptr_array_index(holdings, i);

		if (is_of(holding, owner) &&
		    (owner->pods == NULL || g_hash_table_contains(owner->pods, holding->pod)))
			g_hash_table_add(pods, g_strdup(holding->pod));
	}
	if (owner->pods != NULL)
		g_hash_table_unref(owner->pods);
	owner->pods = pods;
}

static gboolean is_late_enough(const struct owner *owner, gint64 asked_us)
{
	return owner->lost_us != 0 && asked_us >= owner->lost_us + SETTLE_US;
}

gboolean custody_told(Custody *custody, GPtrArray *holdings, gint64 asked_us)
{
	gboolean changed = FALSE;

	custody->asked_us = asked_us;
	custody->silences = 0;
	for (guint i = custody->owners->len; i > 0; i--) {
		struct owner *owner = g_ptr_array_index(custody->owners, i - 1);

		if (!is_late_enough(owner, asked_us))
			continue;
		note_pods(owner, holdings);
		if (g_hash_table_size(owner->pods) == 0)
			changed |= release(custody, i - 1);
	}
	return changed;
}

gboolean custody_silent(Custody *custody, const char *reason, gboolean away, gint64 now_us)
{
	gboolean changed = FALSE;

	custody->asked_us = now_us;
	if (away || ++custody->silences < PATIENCE)
		return FALSE;
	for (guint i = custody->owners->len; i > 0; i--)
		if (is_late_enough(g_ptr_array_index(custody->owners, i - 1), now_us))
			changed |= release(custody, i - 1);
	if (changed)
		news_add(custody->news, NEWS_WARNING,
			 "devices go to other resources without knowing whether pods hold them: %s",
			 reason);
	return changed;
}

void custody_tell(Custody *custody, GPtrArray *list)
{
	for (guint i = 0; i < custody->news->len; i++) {
		const struct news *news = g_ptr_array_index(custody->news, i);

		news_add(list, news->level, "%s", news->text);
	}
	g_ptr_array_set_size(custody->news, 0);
}
