/* SPDX-License-Identifier: Apache-2.0 */
#include "model/selector.h"

#include "model/selector_list.h"

/* Where a selector object stopped: the further, the closer the device came. */
struct verdict {
	const struct selector_list *list; /* NULL: taken */
	guint stage;
	gboolean excluded;
};

void refusal_clear(struct refusal *refusal)
{
	g_clear_pointer(&refusal->key, g_free);
	g_clear_pointer(&refusal->seen, g_free);
	g_clear_pointer(&refusal->wanted, g_free);
}

static char *join_seen(const struct selector_list *list, const Device *device)
{
	g_autoptr(GPtrArray) seen = selector_list_seen(list, device);

	if (seen->len == 0)
		return g_strdup("none");
	g_ptr_array_add(seen, NULL);
	return g_strjoinv(", ", (char **)seen->pdata);
}

static void refusal_set(struct refusal *refusal, const struct verdict *verdict,
			const Device *device)
{
	g_autofree char *name = selector_list_name(verdict->list);

	refusal->key = g_strconcat(verdict->excluded ? "exclude." : "", name, NULL);
	refusal->seen = join_seen(verdict->list, device);
	refusal->wanted = g_strjoinv(", ", (char **)verdict->list->values);
}

/* The first list that does not take the device; NULL if all do. */
static const struct selector_list *first_refusing(GArray *lists, const Device *device,
						  const struct selector_matcher *matcher,
						  guint *ret_stage)
{
	for (guint i = 0; i < lists->len; i++) {
		const struct selector_list *list = &g_array_index(lists, struct selector_list, i);

		if (!selector_list_takes(list, device, matcher)) {
			*ret_stage = i;
			return list;
		}
	}
	*ret_stage = lists->len;
	return NULL;
}

/* The last list of an exclude that takes the device with all of its lists. */
static const struct selector_list *excluding(GArray *lists, const Device *device,
					     const struct selector_matcher *matcher)
{
	guint stage;

	if (lists->len == 0 || first_refusing(lists, device, matcher, &stage) != NULL)
		return NULL;
	return &g_array_index(lists, struct selector_list, lists->len - 1);
}

/* TRUE if the object takes the device. Otherwise the refusal is told if the device
 * came further than 'furthest', which is then updated. */
static gboolean judge_one(const struct selector *selector, const Device *device,
			  const struct selector_matcher *matcher, int *furthest,
			  struct refusal *refusal)
{
	g_autoptr(GArray) lists = selector_lists(selector);
	g_autoptr(GArray) removed =
		selector->exclude == NULL ? NULL : selector_lists(selector->exclude);
	struct verdict verdict = {0};

	verdict.list = first_refusing(lists, device, matcher, &verdict.stage);
	if (verdict.list == NULL && removed != NULL) {
		verdict.list = excluding(removed, device, matcher);
		verdict.excluded = TRUE;
	}
	if (verdict.list == NULL)
		return TRUE;
	if ((int)verdict.stage > *furthest) {
		*furthest = (int)verdict.stage;
		refusal_clear(refusal);
		refusal_set(refusal, &verdict, device);
	}
	return FALSE;
}

gboolean selector_judge(const ResourceConfig *config, const Device *device, selector_match_fn match,
			gpointer match_data, struct refusal *ret_refusal)
{
	const struct selector_matcher matcher = {match, match_data};
	struct refusal refusal = {0};
	gboolean taken = FALSE;
	int furthest = -1;

	for (guint i = 0; i < config->selectors->len && !taken; i++)
		taken = judge_one(g_ptr_array_index(config->selectors, i), device, &matcher,
				  &furthest, &refusal);
	if (!taken && ret_refusal != NULL) {
		*ret_refusal = refusal;
		return FALSE;
	}
	refusal_clear(&refusal);
	return taken;
}
