/* SPDX-License-Identifier: Apache-2.0 */
#include "model/overlap.h"

#include <string.h>

/* More ids than this help nobody. */
#define SHOWN 4

void overlap_free(struct overlap *overlap)
{
	if (overlap == NULL)
		return;
	device_unref(overlap->device);
	g_free(overlap);
}

static void add(GPtrArray *overlaps, enum overlap_kind kind, Device *device,
		const struct overlap_claim *first, const struct overlap_claim *second)
{
	struct overlap *overlap = g_new0(struct overlap, 1);

	overlap->kind = kind;
	overlap->device = device_ref(device);
	overlap->first = first->config;
	overlap->second = second->config;
	g_ptr_array_add(overlaps, overlap);
}

/* The first of the resources that have the device already and cannot have it together
 * with this one; NULL if all can. *ret_any is the first that has it at all. */
static const struct overlap_claim *opponent(GPtrArray *holders, const struct overlap_claim *claim,
					    const struct overlap_claim **ret_any)
{
	*ret_any = NULL;
	for (guint i = 0; holders != NULL && i < holders->len; i++) {
		const struct overlap_claim *holder = g_ptr_array_index(holders, i);

		if (*ret_any == NULL)
			*ret_any = holder;
		if (holder->exclusive || claim->exclusive)
			return holder;
	}
	return NULL;
}

static void hold(GHashTable *holders, Device *device, struct overlap_claim *claim)
{
	const char *identity = device_identity(device);
	GPtrArray *list = g_hash_table_lookup(holders, identity);

	if (list == NULL) {
		list = g_ptr_array_new();
		g_hash_table_insert(holders, g_strdup(identity), list);
	}
	g_ptr_array_add(list, claim);
}

/* Lets one resource have what those before it leave to it. */
static void resolve_claim(struct overlap_claim *claim, GHashTable *holders, GPtrArray *overlaps)
{
	guint kept = 0;

	while (kept < claim->devices->len) {
		Device *device = g_ptr_array_index(claim->devices, kept);
		const struct overlap_claim *any;
		const struct overlap_claim *stronger = opponent(
			g_hash_table_lookup(holders, device_identity(device)), claim, &any);

		if (stronger != NULL) {
			add(overlaps, OVERLAP_EXCLUSIVE, device, stronger, claim);
			g_ptr_array_remove_index(claim->devices, kept);
			continue;
		}
		if (any != NULL)
			add(overlaps, OVERLAP_SHARED, device, any, claim);
		hold(holders, device, claim);
		kept++;
	}
}

static void add_parents(GHashTable *parents, GPtrArray *devices, struct overlap_claim *claim)
{
	for (guint i = 0; devices != NULL && i < devices->len; i++) {
		const struct rdmadp_device *abi = device_abi(devices->pdata[i]);

		if ((abi->flags & RDMADP_DEVICE_VF) != 0 && abi->parent_id != NULL &&
		    !g_hash_table_contains(parents, abi->parent_id))
			g_hash_table_insert(parents, (gpointer)abi->parent_id, claim);
	}
}

/* The resource that gives away a virtual function of each physical function, by id. */
static GHashTable *parents_of(GPtrArray *claims)
{
	GHashTable *parents = g_hash_table_new(g_str_hash, g_str_equal);

	for (guint i = 0; i < claims->len; i++) {
		struct overlap_claim *claim = g_ptr_array_index(claims, i);

		if (!claim->exclusive)
			continue;
		add_parents(parents, claim->devices, claim);
		add_parents(parents, claim->shown, claim);
	}
	return parents;
}

static void refuse_parents(GPtrArray *claims, GPtrArray *overlaps)
{
	g_autoptr(GHashTable) parents = parents_of(claims);

	for (guint i = 0; i < claims->len; i++) {
		struct overlap_claim *claim = g_ptr_array_index(claims, i);

		for (guint j = claim->exclusive ? claim->devices->len : 0; j-- > 0;) {
			Device *device = g_ptr_array_index(claim->devices, j);
			const struct overlap_claim *giver =
				g_hash_table_lookup(parents, device_id(device));

			if (giver == NULL)
				continue;
			add(overlaps, OVERLAP_PARENT, device, giver, claim);
			g_ptr_array_remove_index(claim->devices, j);
		}
	}
}

GPtrArray *overlap_resolve(GPtrArray *claims)
{
	GPtrArray *overlaps = g_ptr_array_new_with_free_func((GDestroyNotify)overlap_free);
	g_autoptr(GHashTable) holders = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
							      (GDestroyNotify)g_ptr_array_unref);

	for (guint i = 0; i < claims->len; i++)
		resolve_claim(g_ptr_array_index(claims, i), holders, overlaps);
	refuse_parents(claims, overlaps);
	return overlaps;
}

/* --- in words --- */

static gboolean is_alike(const struct overlap *a, const struct overlap *b)
{
	return a->kind == b->kind && a->first == b->first && a->second == b->second;
}

/* "'0000:3b:00.0', '0000:5e:00.0' and 2 more": those like the i-th, which is the first. */
static char *devices_like(GPtrArray *overlaps, guint i)
{
	const struct overlap *like = g_ptr_array_index(overlaps, i);
	GString *text = g_string_new(NULL);
	guint n = 0;

	for (; i < overlaps->len; i++) {
		const struct overlap *overlap = g_ptr_array_index(overlaps, i);

		if (!is_alike(overlap, like))
			continue;
		if (n++ < SHOWN)
			g_string_append_printf(text, "%s'%s'", n > 1 ? ", " : "",
					       device_id(overlap->device));
	}
	if (n > SHOWN)
		g_string_append_printf(text, " and %u more", n - SHOWN);
	return g_string_free(text, FALSE);
}

static void tell(const struct overlap *overlap, const char *devices, GPtrArray *findings)
{
	const char *first = overlap->first->full_name;
	const char *second = overlap->second->full_name;
	gboolean may_change =
		overlap->first->mode == RESOURCE_AUTO || overlap->second->mode == RESOURCE_AUTO;

	switch (overlap->kind) {
	case OVERLAP_SHARED:
		findings_add(findings, FINDING_WARNING,
			     "%s: selected by \"%s\" and by \"%s\": pods of both get it, and each "
			     "counts its slots as if it were alone%s",
			     devices, first, second,
			     may_change ? "; once the node's label makes one of the two "
					  "exclusive, only the first keeps it"
					: "");
		break;
	case OVERLAP_EXCLUSIVE:
		findings_add(findings, FINDING_ERROR,
			     "%s: selected by \"%s\" and by \"%s\", and one of the two is "
			     "exclusive: \"%s\" keeps it, because it comes first in the file; "
			     "leave it to one of them, with \"exclude\" in the selectors of "
			     "the other, such as \"exclude\": {\"addresses\": [\"%s\"]}",
			     devices, first, second, first, device_id(overlap->device));
		break;
	case OVERLAP_PARENT:
		findings_add(findings, FINDING_WARNING,
			     "%s: not offered by \"%s\", because \"%s\" gives away virtual "
			     "functions of it; exclude it to have this silent",
			     devices, second, first);
		break;
	}
}

static gboolean is_first_of_its_kind(GPtrArray *overlaps, guint i)
{
	for (guint j = 0; j < i; j++)
		if (is_alike(g_ptr_array_index(overlaps, j), g_ptr_array_index(overlaps, i)))
			return FALSE;
	return TRUE;
}

void overlap_tell(GPtrArray *overlaps, GPtrArray *findings)
{
	for (guint i = 0; i < overlaps->len; i++) {
		g_autofree char *devices = NULL;

		if (!is_first_of_its_kind(overlaps, i))
			continue;
		devices = devices_like(overlaps, i);
		tell(g_ptr_array_index(overlaps, i), devices, findings);
	}
}
