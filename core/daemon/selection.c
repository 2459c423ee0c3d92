/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/selection.h"

#include "edge/backend.h"
#include "edge/log.h"
#include "edge/netlink.h"
#include "model/candidates.h"
#include "model/mixture.h"
#include "model/netns.h"
#include "model/overlap.h"

struct selection {
	char *bus;
	char *area; /* of what is said about several resources */
	char *sysfs_root;
	Custodian *custodian;
	GHashTable *before; /* what the last run had to say: areas and texts */
	GHashTable *now; /* and this one */
};

/* One run over the pools of a bus. */
struct run {
	Selection *selection;
	GPtrArray *pools;
	const struct rdmadp_backend *vtable;
	GPtrArray *devices;
	GPtrArray *claims; /* struct overlap_claim *, one a pool */
};

static GHashTable *texts_new(void)
{
	return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
}

Selection *selection_new(const char *bus, const char *sysfs_root, Custodian *custodian)
{
	Selection *selection = g_new0(Selection, 1);

	selection->bus = g_strdup(bus);
	selection->area = g_strconcat("backend ", bus, NULL);
	selection->sysfs_root = g_strdup(sysfs_root);
	selection->custodian = custodian;
	selection->before = texts_new();
	selection->now = texts_new();
	return selection;
}

void selection_free(Selection *selection)
{
	if (selection == NULL)
		return;
	g_free(selection->area);
	g_free(selection->sysfs_root);
	g_free(selection->bus);
	g_hash_table_unref(selection->before);
	g_hash_table_unref(selection->now);
	g_free(selection);
}

/* --- what is said --- */

static void begin(Selection *selection)
{
	g_hash_table_unref(selection->before);
	selection->before = selection->now;
	selection->now = texts_new();
}

static void say(Selection *selection, enum log_level level, const char *area, const char *text)
{
	char *key = g_strdup_printf("%s: %s", area, text);

	if (!g_hash_table_contains(selection->before, key))
		log_message(level, area, "%s", text);
	g_hash_table_add(selection->now, key);
}

static void say_overlaps(Selection *selection, GPtrArray *overlaps)
{
	g_autoptr(GPtrArray) findings = findings_new();

	overlap_tell(overlaps, findings);
	for (guint i = 0; i < findings->len; i++) {
		const struct finding *finding = g_ptr_array_index(findings, i);

		say(selection,
		    finding->level == FINDING_ERROR ? LOG_LEVEL_ERROR : LOG_LEVEL_WARNING,
		    selection->area, finding->text);
	}
}

static int match(const Device *device, const char *key, const char *value, gpointer data)
{
	return backend_match(data, device, key, value);
}

/* What is there instead of what its selectors ask for, or that it is too much. */
static void say_about(const struct run *run, const ResourceConfig *config, GPtrArray *taken)
{
	g_autoptr(GPtrArray) candidates = selector_candidates(
		config, run->devices, match, (gpointer)run->vtable, run->vtable->keys);
	g_autofree char *mixture = mixture_remark(taken);
	g_autofree char *unmatched = NULL;
	g_autofree char *text = NULL;

	g_ptr_array_add(candidates, NULL);
	unmatched = g_strjoinv("; ", (char **)candidates->pdata);
	text = g_strconcat(taken->len == 0 ? "offers nothing: " : "", unmatched, NULL);
	if (candidates->len > 1)
		say(run->selection, LOG_LEVEL_WARNING, config->full_name, text);
	if (mixture != NULL)
		say(run->selection, LOG_LEVEL_WARNING, config->full_name, mixture);
}

/* --- network namespaces --- */

static gboolean is_exclusive(const Pool *pool)
{
	return resource_is_exclusive(pool_resource(pool));
}

/* Looked at again and again: whoever repairs the node need not restart the daemon. */
static void check(Selection *selection, GPtrArray *pools)
{
	gboolean exclusive_netns =
		netlink_rdma_netns_mode(selection->sysfs_root) == RDMA_NETNS_EXCLUSIVE;

	for (guint i = 0; i < pools->len; i++) {
		Pool *pool = g_ptr_array_index(pools, i);
		const char *name = pool_config(pool)->full_name;
		const char *refusal = netns_refusal(is_exclusive(pool), exclusive_netns);
		const char *remark = netns_remark(is_exclusive(pool), exclusive_netns);

		pool_bar(pool, refusal);
		if (refusal != NULL)
			say(selection, LOG_LEVEL_ERROR, name, refusal);
		if (remark != NULL)
			say(selection, LOG_LEVEL_WARNING, name, remark);
	}
}

void selection_check(Selection *selection, GPtrArray *pools)
{
	begin(selection);
	check(selection, pools);
}

/* --- devices --- */

static void claim_free(gpointer data)
{
	struct overlap_claim *claim = data;

	g_ptr_array_unref(claim->devices);
	g_ptr_array_unref(claim->shown);
	g_free(claim->waits);
	g_free(claim);
}

static void claim(struct run *run, Pool *pool)
{
	struct overlap_claim *claim = g_new0(struct overlap_claim, 1);

	claim->config = pool_config(pool);
	claim->exclusive = is_exclusive(pool);
	claim->devices = pool_select(pool, run->vtable, run->devices);
	claim->shown = pool_shown_devices(pool);
	say_about(run, claim->config, claim->devices);
	g_ptr_array_add(run->claims, claim);
}

/* A resource that is not served, or not for long, keeps nothing from the others. */
static GPtrArray *competing(const struct run *run)
{
	GPtrArray *claims = g_ptr_array_new();

	for (guint i = 0; i < run->pools->len; i++)
		if (pool_competes(g_ptr_array_index(run->pools, i)))
			g_ptr_array_add(claims, g_ptr_array_index(run->claims, i));
	return claims;
}

static void settle(const struct run *run)
{
	g_autoptr(GPtrArray) claims = competing(run);
	g_autoptr(GPtrArray) overlaps = overlap_resolve(claims);

	say_overlaps(run->selection, overlaps);
	custodian_settle(run->selection->custodian, run->selection->bus, claims);
}

void selection_run(Selection *selection, GPtrArray *pools, const struct rdmadp_backend *vtable,
		   GPtrArray *devices, enum offer_scan scan)
{
	g_autoptr(GPtrArray) claims = g_ptr_array_new_with_free_func(claim_free);
	struct run run = {selection, pools, vtable, devices, claims};

	begin(selection);
	check(selection, pools);
	for (guint i = 0; i < pools->len; i++)
		claim(&run, g_ptr_array_index(pools, i));
	settle(&run);
	for (guint i = 0; i < pools->len; i++) {
		const struct overlap_claim *claimed = g_ptr_array_index(claims, i);

		pool_set_waiting(g_ptr_array_index(pools, i), claimed->waits);
		pool_take(g_ptr_array_index(pools, i), claimed->devices, devices, scan);
	}
}
