/* SPDX-License-Identifier: Apache-2.0 */
#include "model/candidates.h"

#include <string.h>

#include "model/misplaced.h"
#include "model/selector_list.h"
#include "model/suggest.h"
#include "model/vf_range.h"

/* More values than this help nobody. */
#define SHOWN 8

struct search {
	const struct selector_matcher *matcher;
	GPtrArray *devices;
	GArray *lists; /* of the selector object */
	GByteArray *alive; /* for each list: does it take any device? */
	const char *const *keys; /* the attributes that the backend can report; NULL: any */
	const char *start; /* of every text: "", or which object of several */
	GPtrArray *texts;
};

static const struct selector_list *list_at(const struct search *search, guint i)
{
	return &g_array_index(search->lists, struct selector_list, i);
}

static gboolean takes_any(const struct search *search, guint list)
{
	for (guint i = 0; i < search->devices->len; i++)
		if (selector_list_takes(list_at(search, list),
					g_ptr_array_index(search->devices, i), search->matcher))
			return TRUE;
	return FALSE;
}

/* Does the device pass all lists but 'except' and those that pass no device? */
static gboolean passes_others(const struct search *search, const Device *device, guint except)
{
	for (guint i = 0; i < search->lists->len; i++)
		if (i != except && search->alive->data[i] &&
		    !selector_list_takes(list_at(search, i), device, search->matcher))
			return FALSE;
	return TRUE;
}

static void add_seen(GPtrArray *values, const struct selector_list *list, const Device *device)
{
	g_autoptr(GPtrArray) seen = selector_list_seen(list, device);

	for (guint i = 0; i < seen->len; i++)
		selector_add_once(values, g_ptr_array_index(seen, i));
}

static GPtrArray *passing_others(const struct search *search, guint list)
{
	GPtrArray *passing = g_ptr_array_new();

	for (guint i = 0; i < search->devices->len; i++)
		if (passes_others(search, g_ptr_array_index(search->devices, i), list))
			g_ptr_array_add(passing, g_ptr_array_index(search->devices, i));
	return passing;
}

/* What the devices that pass the other lists have; returns how many these are. */
static guint seen_in_others(const struct search *search, guint list, GPtrArray *values)
{
	g_autoptr(GPtrArray) passing = passing_others(search, list);

	for (guint i = 0; i < passing->len; i++)
		add_seen(values, list_at(search, list), g_ptr_array_index(passing, i));
	return passing->len;
}

static void append_values(GString *text, GPtrArray *values)
{
	guint shown = MIN(values->len, SHOWN);

	if (values->len == 0)
		g_string_append(text, "none");
	for (guint i = 0; i < shown; i++)
		g_string_append_printf(text, "%s%s", i > 0 ? ", " : "",
				       (const char *)g_ptr_array_index(values, i));
	if (values->len > shown)
		g_string_append_printf(text, " and %u more", values->len - shown);
}

static gboolean has_representor(const Device *device, const char *name)
{
	const struct rdmadp_device *abi = device_abi(device);

	for (guint32 i = 0; i < abi->n_netdevs; i++)
		if ((abi->netdevs[i]->flags & RDMADP_NET_REPRESENTOR) &&
		    strcmp(abi->netdevs[i]->name, name) == 0)
			return TRUE;
	return FALSE;
}

/* How pfNames calls the function: by its own interface. */
static const char *uplink_of(const Device *device)
{
	const struct rdmadp_device *abi = device_abi(device);

	for (guint32 i = 0; i < abi->n_netdevs; i++)
		if (abi->netdevs[i]->flags == 0)
			return abi->netdevs[i]->name;
	return "…";
}

/* A name that is there, but stands for a function of its own. */
static void append_representors(GString *text, const struct search *search,
				const struct selector_list *list)
{
	if (list->key != SELECTOR_IF_NAMES)
		return;
	for (gsize i = 0; list->values[i] != NULL; i++)
		for (guint j = 0; j < search->devices->len; j++)
			if (has_representor(g_ptr_array_index(search->devices, j), list->values[i]))
				g_string_append_printf(
					text,
					"; %s is a switchdev representor of '%s', which never "
					"counts: select its functions with \"pfNames\": [\"%s\"]",
					list->values[i],
					device_id(g_ptr_array_index(search->devices, j)),
					uplink_of(search->devices->pdata[j]));
}

static gboolean has_management(const Device *device, const char *name)
{
	const struct rdmadp_device *abi = device_abi(device);

	for (guint32 i = 0; i < abi->n_rdma_devices; i++)
		if ((abi->rdma_devices[i]->flags & RDMADP_RDMA_MANAGEMENT_ONLY) &&
		    strcmp(abi->rdma_devices[i]->name, name) == 0)
			return TRUE;
	return FALSE;
}

/* A name that is there, of an RDMA device that no pod can use. */
static void append_management(GString *text, const struct search *search,
			      const struct selector_list *list)
{
	if (list->key != SELECTOR_RDMA_DEVICES)
		return;
	for (gsize i = 0; list->values[i] != NULL; i++)
		for (guint j = 0; j < search->devices->len; j++)
			if (has_management(g_ptr_array_index(search->devices, j), list->values[i]))
				g_string_append_printf(
					text,
					"; %s of '%s' is for management or raw packets only and is "
					"never offered",
					list->values[i],
					device_id(g_ptr_array_index(search->devices, j)));
}

/* No device of the bus has any: the selector may be right and the view wrong. */
static void append_no_interfaces(GString *text, const struct selector_list *list, GPtrArray *values)
{
	if (values->len == 0 && (list->key == SELECTOR_IF_NAMES || list->key == SELECTOR_PF_NAMES))
		g_string_append(text, "; InfiniBand without ib_ipoib has no interface, and "
				      "without hostNetwork a daemon sees none");
}

static gboolean is_childless(const Device *device)
{
	const struct rdmadp_device *abi = device_abi(device);

	return abi->parent_id == NULL && !(abi->flags & (RDMADP_DEVICE_VF | RDMADP_DEVICE_PF));
}

static gboolean is_called(const struct selector_list *list, const Device *device, const char *value)
{
	g_autoptr(GPtrArray) names = selector_list_seen(list, device);
	g_autofree char *name = g_strndup(value, vf_range_name_length(value));

	return g_ptr_array_find_with_equal_func(names, name, g_str_equal, NULL);
}

/* "ens1f0#0-3", and ens1f0 is there without any function below it. */
static void append_childless(GString *text, const struct search *search,
			     const struct selector_list *list)
{
	if (list->key != SELECTOR_PF_NAMES && list->key != SELECTOR_ROOT_DEVICES)
		return;
	for (gsize i = 0; list->values[i] != NULL; i++)
		for (guint j = 0; j < search->devices->len; j++) {
			const Device *device = g_ptr_array_index(search->devices, j);

			if (is_childless(device) && is_called(list, device, list->values[i]))
				g_string_append_printf(text,
						       "; '%s' has no virtual functions "
						       "(sriov_numvfs)",
						       device_id(device));
		}
}

static void append_misplaced(GString *text, GPtrArray *devices, const struct selector_list *list)
{
	g_autofree char *remark = misplaced_remark(devices, list);

	if (remark != NULL)
		g_string_append(text, remark);
}

static GString *text_new(const struct search *search, const struct selector_list *list)
{
	g_autofree char *name = selector_list_name(list);
	g_autofree char *values = g_strjoinv(", ", (char **)list->values);
	GString *text = g_string_new(search->start);

	g_string_append_printf(text, "%s %s", name, values);
	return text;
}

static void tell(const struct search *search, GString *text)
{
	g_ptr_array_add(search->texts, g_string_free(text, FALSE));
}

/* --- attributes that no device of the bus can have --- */

static gboolean is_declared(const struct search *search, const struct selector_list *list)
{
	return list->attribute == NULL || search->keys == NULL ||
	       g_strv_contains(search->keys, list->attribute);
}

static void append_declared(GString *text, const struct search *search, const char *wanted)
{
	const char *nearest = suggest_nearest(wanted, search->keys);
	g_autofree char *all = g_strjoinv(", ", (char **)search->keys);

	if (nearest != NULL)
		g_string_append_printf(text, "did you mean '%s'?", nearest);
	else
		g_string_append_printf(text, "it reports %s", *all == '\0' ? "none" : all);
}

/* Said even of a selector that takes devices: an exclude with such a key removes none. */
static void tell_undeclared(const struct search *search, const struct selector *selector,
			    const char *where)
{
	g_autoptr(GArray) lists = selector_lists(selector);

	for (guint i = 0; i < lists->len; i++) {
		const struct selector_list *list = &g_array_index(lists, struct selector_list, i);
		GString *text;

		if (is_declared(search, list))
			continue;
		text = g_string_new(search->start);
		g_string_append_printf(text,
				       "%sattributes.%s matches nothing: the backend reports no "
				       "attribute '%s'; ",
				       where, list->attribute, list->attribute);
		append_declared(text, search, list->attribute);
		tell(search, text);
	}
}

/* Is there another list that takes a device, so that passing the others means something? */
static gboolean others_are_alive(const struct search *search, guint list)
{
	for (guint i = 0; i < search->lists->len; i++)
		if (i != list && search->alive->data[i])
			return TRUE;
	return FALSE;
}

/* The list takes no device at all. */
static void explain_list(const struct search *search, guint index, const struct selector_list *list)
{
	g_autoptr(GPtrArray) values = g_ptr_array_new_with_free_func(g_free);
	GString *text = text_new(search, list);

	if (others_are_alive(search, index) && seen_in_others(search, index, values) > 0) {
		g_string_append(text, " match no device; devices that pass the other lists have ");
	} else {
		for (guint i = 0; i < search->devices->len; i++)
			add_seen(values, list, g_ptr_array_index(search->devices, i));
		g_string_append(text, " match no device; the devices of this bus have ");
	}
	append_values(text, values);
	append_no_interfaces(text, list, values);
	append_representors(text, search, list);
	append_management(text, search, list);
	append_childless(text, search, list);
	append_misplaced(text, search->devices, list);
	tell(search, text);
}

/* Models may be there on other nodes; a name or an address is that of one thing. */
static gboolean names_one(enum selector_key key)
{
	return key == SELECTOR_IF_NAMES || key == SELECTOR_ADDRESSES ||
	       key == SELECTOR_RDMA_DEVICES || key == SELECTOR_PF_NAMES ||
	       key == SELECTOR_ROOT_DEVICES;
}

static gboolean value_takes_any(const struct search *search, const struct selector_list *list,
				const char *value)
{
	for (guint i = 0; i < search->devices->len; i++)
		if (selector_list_value_takes(list, value, g_ptr_array_index(search->devices, i),
					      search->matcher))
			return TRUE;
	return FALSE;
}

static void explain_strays_of(const struct search *search, guint index)
{
	struct selector_list list = *list_at(search, index);
	g_autoptr(GPtrArray) strays = g_ptr_array_new();

	for (gsize i = 0; names_one(list.key) && list.values[i] != NULL; i++)
		if (!value_takes_any(search, &list, list.values[i]))
			g_ptr_array_add(strays, (gpointer)list.values[i]);
	if (strays->len == 0)
		return;
	g_ptr_array_add(strays, NULL);
	list.values = (const char *const *)strays->pdata;
	explain_list(search, index, &list);
}

/* Devices are taken, and some values of the lists are good for nothing. */
static void explain_strays(const struct search *search)
{
	static const guint8 alive = TRUE;

	for (guint i = 0; i < search->lists->len; i++)
		g_byte_array_append(search->alive, &alive, 1);
	for (guint i = 0; i < search->lists->len; i++)
		explain_strays_of(search, i);
}

/* Each list takes a device, but no device passes all: tells what the ones have that
 * fail in a single list. */
static void explain_combination(const struct search *search)
{
	guint told = 0;

	for (guint i = 0; i < search->lists->len; i++) {
		g_autoptr(GPtrArray) values = g_ptr_array_new_with_free_func(g_free);
		g_autoptr(GPtrArray) passing = passing_others(search, i);
		GString *text;

		if (seen_in_others(search, i, values) == 0)
			continue;
		text = text_new(search, list_at(search, i));
		g_string_append(text, " match none of the devices that pass the other lists; these "
				      "have ");
		append_values(text, values);
		append_misplaced(text, passing, list_at(search, i));
		tell(search, text);
		told++;
	}
	if (told == 0)
		g_ptr_array_add(search->texts,
				g_strconcat(search->start,
					    "each list matches a device, but every device fails at "
					    "least two of them",
					    NULL));
}

static void explain_lists(const struct search *search)
{
	guint dead = 0;

	for (guint i = 0; i < search->lists->len; i++) {
		guint8 alive = takes_any(search, i) ? TRUE : FALSE;

		g_byte_array_append(search->alive, &alive, 1);
	}
	for (guint i = 0; i < search->lists->len; i++) {
		if (search->alive->data[i])
			continue;
		dead++;
		if (is_declared(search, list_at(search, i)))
			explain_list(search, i, list_at(search, i));
	}
	if (dead == 0)
		explain_combination(search);
}

/* TRUE if a device passes all lists, so that only 'exclude' can have removed it. */
static gboolean any_passes(const struct search *search)
{
	for (guint i = 0; i < search->devices->len; i++) {
		const Device *device = g_ptr_array_index(search->devices, i);
		guint list = 0;

		while (list < search->lists->len &&
		       selector_list_takes(list_at(search, list), device, search->matcher))
			list++;
		if (list == search->lists->len)
			return TRUE;
	}
	return FALSE;
}

static gboolean takes_a_device(const ResourceConfig *config, const struct selector *selector,
			       const struct search *search)
{
	g_autoptr(GPtrArray) one = g_ptr_array_new();
	ResourceConfig alone = *config;

	g_ptr_array_add(one, (gpointer)selector);
	alone.selectors = one;
	for (guint i = 0; i < search->devices->len; i++)
		if (selector_judge(&alone, g_ptr_array_index(search->devices, i),
				   search->matcher->ask, search->matcher->data, NULL))
			return TRUE;
	return FALSE;
}

static void explain(const ResourceConfig *config, const struct selector *selector,
		    struct search *search)
{
	g_autoptr(GArray) lists = selector_lists(selector);
	g_autoptr(GByteArray) alive = g_byte_array_new();

	search->lists = lists;
	search->alive = alive;
	if (takes_a_device(config, selector, search))
		explain_strays(search);
	else if (any_passes(search))
		g_ptr_array_add(search->texts,
				g_strconcat(search->start,
					    "exclude removes every device that the lists take",
					    NULL));
	else
		explain_lists(search);
}

static void tell_empty_bus(const struct search *search, const char *bus)
{
	g_ptr_array_add(search->texts,
			g_strdup_printf("the bus '%s' has no device that could do RDMA; 'rdmadp "
					"devices' shows the other buses, of which \"buses\" in the "
					"selectors names one",
					bus));
}

GPtrArray *selector_candidates(const ResourceConfig *config, GPtrArray *devices,
			       selector_match_fn match, gpointer match_data,
			       const char *const *keys)
{
	const struct selector_matcher matcher = {match, match_data};
	GPtrArray *texts = g_ptr_array_new_with_free_func(g_free);
	struct search search = {
		.matcher = &matcher, .devices = devices, .keys = keys, .texts = texts};

	if (devices->len == 0)
		tell_empty_bus(&search, config->bus);
	for (guint i = 0; i < config->selectors->len; i++) {
		const struct selector *selector = g_ptr_array_index(config->selectors, i);
		g_autofree char *start = config->selectors->len == 1
						 ? g_strdup("")
						 : g_strdup_printf("selectors[%u]: ", i);

		search.start = start;
		tell_undeclared(&search, selector, "");
		if (selector->exclude != NULL)
			tell_undeclared(&search, selector->exclude, "exclude.");
		if (devices->len > 0)
			explain(config, selector, &search);
	}
	return texts;
}
