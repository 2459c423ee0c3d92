/* SPDX-License-Identifier: Apache-2.0 */
/* What the devices say, beyond what the core refuses (check_scan shows that). */
#include <string.h>

#include "check.h"

/* One rule: looks at one device, reports what breaks it. 'seen' is the rule's own, from
 * device to device. */
struct rule {
	const char *holds; /* what is true if nothing was reported */
	void (*look)(const struct rdmadp_device *device, const struct rdmadp_backend *backend,
		     GHashTable *seen);
};

/* FALSE if the text was there before. */
static gboolean is_new(GHashTable *seen, const char *text)
{
	return g_hash_table_add(seen, g_strdup(text));
}

static void look_ids(const struct rdmadp_device *device, const struct rdmadp_backend *backend,
		     GHashTable *seen)
{
	(void)backend;
	if (!is_new(seen, device->id))
		report_fail("device '%s': another device of the scan has this id", device->id);
}

static void look_identities(const struct rdmadp_device *device,
			    const struct rdmadp_backend *backend, GHashTable *seen)
{
	(void)backend;
	if (!is_new(seen, device->identity))
		report_fail("device '%s': another device has its identity '%s'", device->id,
			    device->identity);
}

static void look_keys(const struct rdmadp_device *device, const struct rdmadp_backend *backend,
		      GHashTable *seen)
{
	for (guint32 i = 0; i < device->n_attributes; i++) {
		const char *key = device->attributes[i]->key;

		if (!g_strv_contains(backend->keys, key) && is_new(seen, key))
			report_fail("device '%s': attribute '%s' is not declared in keys: users "
				    "cannot select by it",
				    device->id, key);
	}
}

static gboolean is_hex_id(const char *value)
{
	gsize digits = strspn(value, "0123456789abcdef");

	return digits >= 4 && value[digits] == '\0';
}

static void look_hex_ids(const struct rdmadp_device *device, const struct rdmadp_backend *backend,
			 GHashTable *seen)
{
	static const char *const ids[] = {"vendor", "device", "subsystem_vendor",
					  "subsystem_device", NULL};

	(void)backend;
	(void)seen;
	for (guint32 i = 0; i < device->n_attributes; i++) {
		const struct rdmadp_attribute *attribute = device->attributes[i];

		if (g_strv_contains(ids, attribute->key) && !is_hex_id(attribute->value))
			report_fail("device '%s': %s '%s' is not a hexadecimal id: lower case, no "
				    "0x, four digits or more",
				    device->id, attribute->key, attribute->value);
	}
}

static void look_ports(const struct rdmadp_device *device, const struct rdmadp_rdma_device *rdma)
{
	g_autoptr(GHashTable) numbers = g_hash_table_new(NULL, NULL);

	for (guint32 i = 0; i < rdma->n_ports; i++) {
		const struct rdmadp_port *port = rdma->ports[i];

		if (!g_hash_table_add(numbers, GUINT_TO_POINTER(port->number)))
			report_fail("device '%s': '%s' has port %u twice", device->id, rdma->name,
				    port->number);
		if (port->link_layer > RDMADP_LINK_ETHERNET ||
		    port->state > RDMADP_PORT_ACTIVE_DEFER)
			report_fail("device '%s': port %u of '%s' has link layer %u and state %u, "
				    "one of which is not in the contract",
				    device->id, port->number, rdma->name, port->link_layer,
				    port->state);
	}
}

static void look_rdma_devices(const struct rdmadp_device *device,
			      const struct rdmadp_backend *backend, GHashTable *seen)
{
	(void)backend;
	for (guint32 i = 0; i < device->n_rdma_devices; i++) {
		if (!is_new(seen, device->rdma_devices[i]->name))
			report_fail("device '%s': RDMA device '%s' was reported before", device->id,
				    device->rdma_devices[i]->name);
		look_ports(device, device->rdma_devices[i]);
	}
}

static gboolean has_rdma_device(const struct rdmadp_device *device, const char *name)
{
	for (guint32 i = 0; i < device->n_rdma_devices; i++)
		if (g_str_equal(device->rdma_devices[i]->name, name))
			return TRUE;
	return FALSE;
}

static void look_node(const struct rdmadp_device *device, const struct rdmadp_node *node)
{
	gboolean of_port = node->kind == RDMADP_NODE_UMAD || node->kind == RDMADP_NODE_ISSM;

	if (node->kind > RDMADP_NODE_RDMA_CM)
		report_fail("device '%s': node '%s' has kind %u, which is not in the contract",
			    device->id, node->name, node->kind);
	if (node->kind == RDMADP_NODE_RDMA_CM && node->rdma_device)
		report_fail("device '%s': node '%s' belongs to no RDMA device, but names '%s'",
			    device->id, node->name, node->rdma_device);
	if (node->kind != RDMADP_NODE_RDMA_CM && node->rdma_device &&
	    !has_rdma_device(device, node->rdma_device))
		report_fail("device '%s': node '%s' names RDMA device '%s', which the device "
			    "does not have",
			    device->id, node->name, node->rdma_device);
	if (of_port != (node->port != 0))
		report_fail("device '%s': node '%s' has port %u; umad and issm have one, others 0",
			    device->id, node->name, node->port);
}

static void look_nodes(const struct rdmadp_device *device, const struct rdmadp_backend *backend,
		       GHashTable *seen)
{
	(void)backend;
	for (guint32 i = 0; i < device->n_nodes; i++) {
		const struct rdmadp_node *node = device->nodes[i];

		look_node(device, node);
		if (node->kind != RDMADP_NODE_RDMA_CM && node->kind != RDMADP_NODE_OTHER &&
		    !is_new(seen, node->name))
			report_fail("device '%s': node '%s' was reported before", device->id,
				    node->name);
	}
}

static void look_parents(const struct rdmadp_device *device, const struct rdmadp_backend *backend,
			 GHashTable *seen)
{
	(void)backend;
	(void)seen;
	if (g_strcmp0(device->parent_id, device->id) == 0)
		report_fail("device '%s' is its own parent", device->id);
}

/* Members of later versions will come in their place. */
static void look_reserved(const struct rdmadp_device *device, const struct rdmadp_backend *backend,
			  GHashTable *seen)
{
	guint32 set = device->reserved;

	(void)backend;
	(void)seen;
	for (guint32 i = 0; i < device->n_attributes; i++)
		set |= device->attributes[i]->reserved;
	for (guint32 i = 0; i < device->n_rdma_devices; i++)
		set |= device->rdma_devices[i]->reserved;
	for (guint32 i = 0; i < device->n_netdevs; i++)
		set |= device->netdevs[i]->reserved;
	for (guint32 i = 0; i < device->n_nodes; i++)
		set |= device->nodes[i]->reserved;
	if (set)
		report_fail("device '%s': a member called 'reserved' is not zero", device->id);
}

static const struct rule rules[] = {
	{"ids are unique", look_ids},
	{"identities are unique", look_identities},
	{"every attribute is declared in keys", look_keys},
	{"hexadecimal ids are normalised", look_hex_ids},
	{"RDMA devices and ports are as the contract says", look_rdma_devices},
	{"character devices are as the contract says", look_nodes},
	{"no device is its own parent", look_parents},
	{"what is reserved is zero", look_reserved},
};

static void apply(const struct rule *rule, const struct subject *subject, GPtrArray *devices)
{
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	guint failures = report_failures();

	for (guint i = 0; i < devices->len; i++)
		rule->look(device_abi(devices->pdata[i]), subject->backend, seen);
	report_ok_since(failures, "%s", rule->holds);
}

void check_devices(const struct options *options)
{
	g_autoptr(GPtrArray) devices = NULL;
	struct subject subject;

	if (!subject_init(&subject, options, options->sysfs_root))
		return;
	devices = subject_scan(&subject, TRUE);
	for (gsize i = 0; devices && devices->len > 0 && i < G_N_ELEMENTS(rules); i++)
		apply(&rules[i], &subject, devices);
	subject_fini(&subject);
}
