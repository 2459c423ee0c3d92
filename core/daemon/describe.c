/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/commands.h"

#include <string.h>

#include "model/text.h"

static void append_word(GString *text, const char *word)
{
	if (text->len > 0)
		g_string_append(text, ", ");
	g_string_append(text, word);
}

char *describe_rdma(const Device *device)
{
	const struct rdmadp_device *abi = device_abi(device);
	GString *text = g_string_new(NULL);

	for (guint32 i = 0; i < abi->n_rdma_devices; i++) {
		const struct rdmadp_rdma_device *rdma = abi->rdma_devices[i];

		append_word(text, rdma->name);
		if (rdma->flags & RDMADP_RDMA_MANAGEMENT_ONLY)
			g_string_append(text, " (management)");
	}
	return g_string_free(text, FALSE);
}

char *describe_pcie(const Device *device)
{
	const struct rdmadp_device *abi = device_abi(device);
	const char *last = abi->pcie_path == NULL ? NULL : strrchr(abi->pcie_path, '/');
	GString *text = g_string_new(abi->pcie_root);

	if (last == NULL)
		return g_string_free(text, FALSE);
	if (text->len > 0)
		g_string_append_c(text, '/');
	g_string_append_len(text, abi->pcie_path, last - abi->pcie_path);
	return g_string_free(text, FALSE);
}

char *describe_netdevs(const Device *device)
{
	const struct rdmadp_device *abi = device_abi(device);
	GString *text = g_string_new(NULL);
	g_autofree char *count = NULL;
	guint representors = 0;

	for (guint32 i = 0; i < abi->n_netdevs; i++) {
		if (abi->netdevs[i]->flags & RDMADP_NET_REPRESENTOR)
			representors++;
		else
			append_word(text, abi->netdevs[i]->name);
	}
	count = text_count(representors, "representor");
	if (representors > 0)
		g_string_append_printf(text, " (+%s)", count);
	return g_string_free(text, FALSE);
}

/* As they are in selectors; a vendor that the backend assumes is in brackets. */
char *describe_ids(const Device *device)
{
	const char *vendor = device_attribute(device, "vendor");
	const char *model = device_attribute(device, "device");
	gboolean assumed = device_attribute(device, "vendor_assumed") != NULL;

	if (vendor == NULL && model == NULL)
		return NULL;
	return g_strdup_printf("%s%s%s:%s", assumed ? "(" : "", vendor != NULL ? vendor : "?",
			       assumed ? ")" : "", model != NULL ? model : "?");
}

/* Each link layer once: an HCA can have ports of both. */
char *describe_link(const Device *device)
{
	const struct rdmadp_device *abi = device_abi(device);
	GString *text = g_string_new(NULL);

	for (guint32 i = 0; i < abi->n_rdma_devices; i++) {
		const struct rdmadp_rdma_device *rdma = abi->rdma_devices[i];

		for (guint32 j = 0; j < rdma->n_ports; j++) {
			const char *name = device_link_name(rdma->ports[j]->link_layer);

			if (strstr(text->str, name) == NULL)
				append_word(text, name);
		}
	}
	return g_string_free(text, FALSE);
}

static const char *port_state_name(guint32 state)
{
	static const char *const states[] = {"?",     "NOP",	"DOWN",	       "INIT",
					     "ARMED", "ACTIVE", "ACTIVE_DEFER"};

	return states[state < G_N_ELEMENTS(states) ? state : 0];
}

char *describe_ports(const Device *device)
{
	const struct rdmadp_device *abi = device_abi(device);
	GString *text = g_string_new(NULL);

	for (guint32 i = 0; i < abi->n_rdma_devices; i++) {
		const struct rdmadp_rdma_device *rdma = abi->rdma_devices[i];

		for (guint32 j = 0; j < rdma->n_ports; j++) {
			g_autofree char *port =
				g_strdup_printf("%u %s", rdma->ports[j]->number,
						port_state_name(rdma->ports[j]->state));

			append_word(text, port);
		}
	}
	return g_string_free(text, FALSE);
}

/* --- JSON --- */

static void write_flag(JsonWriter *json, const char *key, guint32 flags, guint32 flag)
{
	if ((flags & flag) != 0)
		json_add_bool(json, key, TRUE);
}

static void write_rdma(JsonWriter *json, const struct rdmadp_rdma_device *rdma)
{
	json_begin_object(json, NULL);
	json_add_string(json, "name", rdma->name);
	json_add_string(json, "driver", rdma->driver);
	write_flag(json, "managementOnly", rdma->flags, RDMADP_RDMA_MANAGEMENT_ONLY);
	json_begin_array(json, "ports");
	for (guint32 i = 0; i < rdma->n_ports; i++) {
		json_begin_object(json, NULL);
		json_add_int(json, "number", rdma->ports[i]->number);
		json_add_string(json, "link", device_link_name(rdma->ports[i]->link_layer));
		json_add_string(json, "state", port_state_name(rdma->ports[i]->state));
		json_end_object(json);
	}
	json_end_array(json);
	json_end_object(json);
}

static void write_netdev(JsonWriter *json, const struct rdmadp_netdev *netdev)
{
	json_begin_object(json, NULL);
	json_add_string(json, "name", netdev->name);
	json_add_string(json, "link", device_link_name(netdev->link_layer));
	write_flag(json, "upper", netdev->flags, RDMADP_NET_UPPER);
	write_flag(json, "representor", netdev->flags, RDMADP_NET_REPRESENTOR);
	write_flag(json, "child", netdev->flags, RDMADP_NET_CHILD);
	json_end_object(json);
}

/* Values of a key together, whichever order they are in. */
static void write_attribute(JsonWriter *json, const struct rdmadp_device *abi, guint32 first)
{
	const char *key = abi->attributes[first]->key;
	g_autoptr(GPtrArray) values = g_ptr_array_new();

	for (guint32 i = 0; i < abi->n_attributes; i++) {
		if (strcmp(abi->attributes[i]->key, key) != 0)
			continue;
		if (i < first)
			return;
		g_ptr_array_add(values, (gpointer)abi->attributes[i]->value);
	}
	g_ptr_array_add(values, NULL);
	json_add_strings(json, key, (const char *const *)values->pdata);
}

static void write_nodes(JsonWriter *json, const struct rdmadp_device *abi)
{
	json_begin_array(json, "nodes");
	for (guint32 i = 0; i < abi->n_nodes; i++) {
		g_autofree char *path = g_strconcat("/dev/", abi->nodes[i]->name, NULL);

		json_add_string(json, NULL, path);
	}
	json_end_array(json);
}

void describe_json(JsonWriter *json, const Device *device)
{
	const struct rdmadp_device *abi = device_abi(device);

	json_add_string(json, "id", abi->id);
	json_add_string(json, "identity", abi->identity);
	json_add_string(json, "parent", abi->parent_id);
	json_add_string(json, "driver", abi->driver);
	json_add_string(json, "pcieRoot", abi->pcie_root);
	json_add_string(json, "pciePath", abi->pcie_path);
	if (abi->numa_node >= 0)
		json_add_int(json, "numaNode", abi->numa_node);
	write_flag(json, "virtualFunction", abi->flags, RDMADP_DEVICE_VF);
	write_flag(json, "physicalFunction", abi->flags, RDMADP_DEVICE_PF);
	write_flag(json, "elsewhere", abi->flags, RDMADP_DEVICE_ELSEWHERE);
	write_flag(json, "software", abi->flags, RDMADP_DEVICE_SOFTWARE);
	json_begin_object(json, "attributes");
	for (guint32 i = 0; i < abi->n_attributes; i++)
		write_attribute(json, abi, i);
	json_end_object(json);
	json_begin_array(json, "rdmaDevices");
	for (guint32 i = 0; i < abi->n_rdma_devices; i++)
		write_rdma(json, abi->rdma_devices[i]);
	json_end_array(json);
	json_begin_array(json, "interfaces");
	for (guint32 i = 0; i < abi->n_netdevs; i++)
		write_netdev(json, abi->netdevs[i]);
	json_end_array(json);
	write_nodes(json, abi);
	json_add_string(json, "note", abi->note);
}
