/* SPDX-License-Identifier: Apache-2.0 */
#include "model/selector_list.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "model/vf_range.h"

/* --- the lists of a selector --- */

static void add_list(GArray *lists, enum selector_key key, const char *attribute, GStrv values)
{
	struct selector_list list = {key, attribute, (const char *const *)values};

	if (values != NULL && values[0] != NULL)
		g_array_append_val(lists, list);
}

static int by_text(gconstpointer a, gconstpointer b)
{
	return strcmp(a, b);
}

GArray *selector_lists(const struct selector *selector)
{
	GArray *lists = g_array_new(FALSE, FALSE, sizeof(struct selector_list));
	g_autoptr(GList) keys = NULL;

	for (int key = 0; key < SELECTOR_N_KEYS; key++)
		add_list(lists, key, NULL, selector->values[key]);
	if (selector->attributes != NULL)
		keys = g_list_sort(g_hash_table_get_keys(selector->attributes), by_text);
	for (const GList *key = keys; key != NULL; key = key->next)
		add_list(lists, SELECTOR_N_KEYS, key->data,
			 g_hash_table_lookup(selector->attributes, key->data));
	return lists;
}

char *selector_list_name(const struct selector_list *list)
{
	if (list->attribute != NULL)
		return g_strconcat("attributes.", list->attribute, NULL);
	return g_strdup(selector_key_name(list->key));
}

void selector_add_once(GPtrArray *texts, const char *text)
{
	if (!g_ptr_array_find_with_equal_func(texts, text, g_str_equal, NULL))
		g_ptr_array_add(texts, g_strdup(text));
}

/* What the device has where the list looks: char *, none twice; may be empty. */
static GPtrArray *names_seen(const struct selector_list *list, const Device *device);

/* --- what only the backend judges --- */

/* The key under which the backend knows what the list is about, or NULL. */
static const char *backend_key(const struct selector_list *list)
{
	switch (list->key) {
	case SELECTOR_VENDORS:
		return "vendor";
	case SELECTOR_DEVICE_IDS:
		return "device";
	case SELECTOR_DRIVERS:
		return "driver";
	default:
		return list->attribute;
	}
}

static void add_attributes(GPtrArray *seen, const Device *device, const char *key)
{
	const struct rdmadp_device *abi = device_abi(device);

	for (guint32 i = 0; i < abi->n_attributes; i++)
		if (strcmp(abi->attributes[i]->key, key) == 0)
			selector_add_once(seen, abi->attributes[i]->value);
}

static gboolean has_text(GPtrArray *texts, const char *text)
{
	return g_ptr_array_find_with_equal_func(texts, text, g_str_equal, NULL);
}

static gboolean backend_takes(const struct selector_list *list, const char *value,
			      const Device *device, const struct selector_matcher *matcher)
{
	g_autoptr(GPtrArray) seen = NULL;

	if (matcher->ask != NULL &&
	    matcher->ask(device, backend_key(list), value, matcher->data) > 0)
		return TRUE;
	if (matcher->ask != NULL && list->key != SELECTOR_DRIVERS)
		return FALSE;
	seen = names_seen(list, device);
	return has_text(seen, value);
}

/* The names of the drivers are members of the contract, not only attributes. */
static void add_drivers(GPtrArray *seen, const Device *device)
{
	const struct rdmadp_device *abi = device_abi(device);

	if (abi->driver != NULL)
		selector_add_once(seen, abi->driver);
	for (guint32 i = 0; i < abi->n_rdma_devices; i++)
		if (abi->rdma_devices[i]->driver != NULL)
			selector_add_once(seen, abi->rdma_devices[i]->driver);
}

/* --- interfaces, link layers, RDMA devices, addresses --- */

static void add_interfaces(GPtrArray *seen, const Device *device)
{
	const struct rdmadp_device *abi = device_abi(device);

	for (guint32 i = 0; i < abi->n_netdevs; i++)
		if (!(abi->netdevs[i]->flags & RDMADP_NET_REPRESENTOR))
			selector_add_once(seen, abi->netdevs[i]->name);
}

static void add_layer(GPtrArray *seen, guint32 layer)
{
	if (layer == RDMADP_LINK_ETHERNET || layer == RDMADP_LINK_INFINIBAND)
		selector_add_once(seen, device_link_name(layer));
}

static gboolean is_usable(const struct rdmadp_rdma_device *rdma)
{
	return !(rdma->flags & RDMADP_RDMA_MANAGEMENT_ONLY);
}

/* The ports know it; without one that does (no RDMA driver), the interfaces do. */
static void add_layers(GPtrArray *seen, const Device *device)
{
	const struct rdmadp_device *abi = device_abi(device);

	for (guint32 i = 0; i < abi->n_rdma_devices; i++)
		for (guint32 j = 0;
		     is_usable(abi->rdma_devices[i]) && j < abi->rdma_devices[i]->n_ports; j++)
			add_layer(seen, abi->rdma_devices[i]->ports[j]->link_layer);
	for (guint32 i = 0; seen->len == 0 && i < abi->n_netdevs; i++)
		if (!(abi->netdevs[i]->flags & RDMADP_NET_REPRESENTOR))
			add_layer(seen, abi->netdevs[i]->link_layer);
}

static void add_rdma_names(GPtrArray *seen, const Device *device)
{
	const struct rdmadp_device *abi = device_abi(device);

	for (guint32 i = 0; i < abi->n_rdma_devices; i++)
		if (is_usable(abi->rdma_devices[i]))
			selector_add_once(seen, abi->rdma_devices[i]->name);
}

static gboolean matches_pattern(const char *pattern, GPtrArray *names)
{
	for (guint i = 0; i < names->len; i++)
		if (fnmatch(pattern, g_ptr_array_index(names, i), 0) == 0)
			return TRUE;
	return FALSE;
}

/* "3b:00.0" is in the PCI domain 0. */
static gboolean same_address(const char *value, const char *id)
{
	static const char domain[] = "0000:";

	if (g_ascii_strcasecmp(value, id) == 0)
		return TRUE;
	return g_str_has_prefix(id, domain) && g_ascii_strcasecmp(value, id + strlen(domain)) == 0;
}

/* --- functions of a PF --- */

static gboolean is_part(const Device *device)
{
	const struct rdmadp_device *abi = device_abi(device);

	return abi->parent_id != NULL || (abi->flags & RDMADP_DEVICE_VF) != 0;
}

/* A PF that has virtual functions stands for these, one without for itself. */
static gboolean is_plain(const Device *device)
{
	return !is_part(device) && !(device_abi(device)->flags & RDMADP_DEVICE_PF);
}

static void add_pf_names(GPtrArray *seen, const Device *device)
{
	if (is_part(device))
		add_attributes(seen, device, "pf_name");
	else if (is_plain(device))
		add_interfaces(seen, device);
}

static void add_roots(GPtrArray *seen, const Device *device)
{
	if (device_abi(device)->parent_id != NULL)
		selector_add_once(seen, device_abi(device)->parent_id);
	else if (is_plain(device))
		selector_add_once(seen, device_id(device));
}

/* The number of a virtual function or sub-function below its PF; -1: none. */
static int part_index(const Device *device)
{
	const char *text = device_attribute(device, "vf_index");

	if (text == NULL)
		text = device_attribute(device, "sfnum");
	return text == NULL || !is_part(device) ? -1 : (int)strtol(text, NULL, 10);
}

static gboolean part_takes(const struct selector_list *list, const char *value,
			   const Device *device)
{
	g_autoptr(GPtrArray) seen = names_seen(list, device);
	gsize length = vf_range_name_length(value);
	g_autofree char *name = g_strndup(value, length);
	gboolean named = FALSE;

	for (guint i = 0; i < seen->len && !named; i++)
		named = list->key == SELECTOR_ROOT_DEVICES
				? same_address(name, g_ptr_array_index(seen, i))
				: g_ascii_strcasecmp(name, g_ptr_array_index(seen, i)) == 0;
	return named && vf_range_contains(value + length, part_index(device));
}

/* --- all together --- */

static void add_numa(GPtrArray *seen, const Device *device)
{
	char text[16];

	if (device_abi(device)->numa_node < 0)
		return;
	g_snprintf(text, sizeof(text), "%d", device_abi(device)->numa_node);
	selector_add_once(seen, text);
}

static void add_address(GPtrArray *seen, const Device *device)
{
	selector_add_once(seen, device_id(device));
}

static GPtrArray *names_seen(const struct selector_list *list, const Device *device)
{
	static void (*const adders[SELECTOR_N_KEYS])(GPtrArray * seen, const Device *device) = {
		[SELECTOR_DRIVERS] = add_drivers,	  [SELECTOR_IF_NAMES] = add_interfaces,
		[SELECTOR_LINK_TYPES] = add_layers,	  [SELECTOR_ADDRESSES] = add_address,
		[SELECTOR_RDMA_DEVICES] = add_rdma_names, [SELECTOR_PF_NAMES] = add_pf_names,
		[SELECTOR_ROOT_DEVICES] = add_roots,	  [SELECTOR_NUMA_NODES] = add_numa,
	};
	GPtrArray *seen = g_ptr_array_new_with_free_func(g_free);

	if (list->key < SELECTOR_N_KEYS && adders[list->key] != NULL)
		adders[list->key](seen, device);
	else
		add_attributes(seen, device, backend_key(list));
	return seen;
}

GPtrArray *selector_list_seen(const struct selector_list *list, const Device *device)
{
	g_autoptr(GPtrArray) names = names_seen(list, device);
	int index = part_index(device);
	GPtrArray *seen;

	if (index < 0 || (list->key != SELECTOR_PF_NAMES && list->key != SELECTOR_ROOT_DEVICES))
		return g_steal_pointer(&names);
	seen = g_ptr_array_new_with_free_func(g_free);
	for (guint i = 0; i < names->len; i++)
		g_ptr_array_add(seen, g_strdup_printf("%s#%d", (char *)names->pdata[i], index));
	return seen;
}

static gboolean is_number_of(const char *value, const Device *device)
{
	char *end;
	long node = strtol(value, &end, 10);

	return *value != '\0' && *end == '\0' && node == device_abi(device)->numa_node;
}

gboolean selector_list_value_takes(const struct selector_list *list, const char *value,
				   const Device *device, const struct selector_matcher *matcher)
{
	g_autoptr(GPtrArray) seen = NULL;

	if (backend_key(list) != NULL)
		return backend_takes(list, value, device, matcher);
	switch (list->key) {
	case SELECTOR_ADDRESSES:
		return same_address(value, device_id(device)) ||
		       g_ascii_strcasecmp(value, device_identity(device)) == 0;
	case SELECTOR_PF_NAMES:
	case SELECTOR_ROOT_DEVICES:
		return part_takes(list, value, device);
	case SELECTOR_NUMA_NODES:
		return is_number_of(value, device);
	default:
		break;
	}
	seen = names_seen(list, device);
	if (list->key == SELECTOR_RDMA_DEVICES)
		return matches_pattern(value, seen);
	return has_text(seen, value);
}

gboolean selector_list_takes(const struct selector_list *list, const Device *device,
			     const struct selector_matcher *matcher)
{
	for (gsize i = 0; list->values[i] != NULL; i++)
		if (selector_list_value_takes(list, list->values[i], device, matcher))
			return TRUE;
	return FALSE;
}
