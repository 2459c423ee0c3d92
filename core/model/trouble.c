/* SPDX-License-Identifier: Apache-2.0 */
/* resource_trouble: one sentence for the log, 'status' and 'explain'. */
#include <string.h>

#include "model/exclusive.h"
#include "model/resource.h"
#include "model/shared.h"
#include "model/text.h"

/* HCAs that have the same problem are told together. */
struct group {
	const char *problem;
	const char *remedy;
	const char *first; /* the id of one */
	guint n;
};

static struct group *group_of(GArray *groups, const char *problem)
{
	for (guint i = 0; i < groups->len; i++) {
		struct group *group = &g_array_index(groups, struct group, i);

		if (strcmp(group->problem, problem) == 0)
			return group;
	}
	return NULL;
}

/* In shared mode health alone decides about the slots; a device that is given away by
 * itself has to be there as well. */
static gboolean is_bad(const struct hca *hca, gboolean exclusive)
{
	return !hca_is_good(hca) || (exclusive && !hca_is_complete(hca));
}

static void count(GArray *groups, const struct hca *hca, gboolean exclusive)
{
	const char *problem = is_bad(hca, exclusive) ? hca_problem(hca) : NULL;
	struct group *group;

	if (problem == NULL)
		return;
	group = group_of(groups, problem);
	if (group == NULL) {
		/* The id of one that is gone may be another one's by now. */
		const char *id = hca->present ? device_id(hca->device) : exclusive_id(hca->device);
		struct group added = {problem, NULL, id, 0};

		if (hca->present)
			added.remedy = hca->remedy;
		g_array_append_val(groups, added);
		group = &g_array_index(groups, struct group, groups->len - 1);
	}
	group->n++;
}

static void append_group(GString *text, const struct group *group)
{
	g_string_append_printf(text, "%s ('%s'", group->problem, group->first);
	if (group->n > 1)
		g_string_append_printf(text, " and %u more", group->n - 1);
	g_string_append_c(text, ')');
	if (group->remedy != NULL)
		g_string_append_printf(text, ", %s", group->remedy);
}

static void append_groups(GString *text, GPtrArray *hcas, gboolean exclusive)
{
	g_autoptr(GArray) groups = g_array_new(FALSE, FALSE, sizeof(struct group));

	for (guint i = 0; i < hcas->len; i++)
		count(groups, g_ptr_array_index(hcas, i), exclusive);
	for (guint i = 0; i < groups->len; i++) {
		g_string_append(text, i == 0 ? ": " : "; ");
		append_group(text, &g_array_index(groups, struct group, i));
	}
}

/* What the HCAs' trouble has to do with the slots. */
static void append_effect(GString *text, const ResourceConfig *config, GPtrArray *hcas,
			  gboolean exclusive)
{
	g_autofree char *slots = text_count((guint64)MAX(config->rdma_hca_max, 0), "slot");
	guint n_bad = 0;

	for (guint i = 0; i < hcas->len; i++)
		n_bad += is_bad(g_ptr_array_index(hcas, i), exclusive) ? 1 : 0;
	if (hcas->len == 1)
		g_string_append(text, "its only HCA cannot be used");
	else if (n_bad == hcas->len)
		g_string_append_printf(text, "none of its %u HCAs can be used", hcas->len);
	else if (config->health_policy == HEALTH_ANY_DEVICE)
		g_string_append_printf(text,
				       "%u of its %u HCAs cannot be used and its healthPolicy is "
				       "anyDevice",
				       n_bad, hcas->len);
	else
		g_string_append_printf(text, "%u of its %u HCAs cannot be used and it has %s",
				       n_bad, hcas->len, slots);
}

static gboolean offers_something(const Resource *resource)
{
	g_autoptr(Snapshot) snapshot = NULL;
	g_autoptr(GByteArray) bad = NULL;

	if (resource_is_exclusive(resource)) {
		snapshot = resource_snapshot(resource);
		return snapshot_n_healthy(snapshot) > 0;
	}
	bad = shared_bad_slots(resource_config(resource), resource_hcas(resource));
	return bad->len > 0 && memchr(bad->data, FALSE, bad->len) != NULL;
}

char *resource_trouble(const Resource *resource)
{
	const ResourceConfig *config = resource_config(resource);
	gboolean exclusive = resource_is_exclusive(resource);
	GPtrArray *hcas = resource_hcas(resource);
	g_autoptr(GString) text = NULL;

	if (offers_something(resource))
		return NULL;
	if (config->rdma_hca_max == 0 && !exclusive)
		return g_strdup("rdmaHcaMax is 0, so nothing is offered");
	if (hcas->len == 0)
		return g_strdup(
			"no device matches its selectors; 'rdmadp explain' tells what is there");
	text = g_string_new(NULL);
	append_effect(text, config, hcas, exclusive);
	append_groups(text, hcas, exclusive);
	return g_string_free(g_steal_pointer(&text), FALSE);
}
