/* SPDX-License-Identifier: Apache-2.0 */
#include "model/hca.h"

#include <string.h>

/* The kubelet's set of nodes is a number of 64 bits. */
#define MAX_NUMA_NODES 64

void hca_free(struct hca *hca)
{
	if (hca == NULL)
		return;
	device_unref(hca->device);
	g_free(hca->reason);
	g_free(hca->missing);
	g_free(hca->refusal);
	g_free(hca);
}

/* --- which files there must be --- */

static gboolean is_usable(const struct rdmadp_rdma_device *rdma)
{
	return !(rdma->flags & RDMADP_RDMA_MANAGEMENT_ONLY);
}

static guint n_usable(const struct rdmadp_device *abi)
{
	guint n = 0;

	for (guint32 i = 0; i < abi->n_rdma_devices; i++)
		n += is_usable(abi->rdma_devices[i]) ? 1 : 0;
	return n;
}

/* 'rdma' NULL: of the whole node; 'port' 0: of any port. */
static gboolean has_node(const struct rdmadp_device *abi, guint32 kind,
			 const struct rdmadp_rdma_device *rdma, guint32 port)
{
	for (guint32 i = 0; i < abi->n_nodes; i++) {
		const struct rdmadp_node *node = abi->nodes[i];

		if (node->kind == kind &&
		    (rdma == NULL || g_strcmp0(node->rdma_device, rdma->name) == 0) &&
		    (port == 0 || node->port == port))
			return TRUE;
	}
	return FALSE;
}

static const char *kind_name(guint32 kind)
{
	return kind == RDMADP_NODE_UMAD ? "umad" : "issm";
}

/* Without its module there is neither; with it, this port will never have one. */
static const char *mad_remedy(const struct rdmadp_device *abi, guint32 kind, guint32 layer)
{
	if (!has_node(abi, RDMADP_NODE_UMAD, NULL, 0) && !has_node(abi, RDMADP_NODE_ISSM, NULL, 0))
		return layer == RDMADP_LINK_INFINIBAND
			       ? "load the module ib_umad (modprobe ib_umad)"
			       : "load the module ib_umad (modprobe ib_umad); iWARP has none even "
				 "then: set charDevices.umad to \"optional\"";
	return kind == RDMADP_NODE_UMAD
		       ? "set charDevices.umad to \"optional\" if pods can do without"
		       : "set charDevices.issm to \"optional\" if pods can do without";
}

/* Ports that have management datagrams at all: EFA's (layer unknown) do not, and
 * only InfiniBand has subnet managers, hence issm. */
static gboolean port_has_mad(const struct rdmadp_port *port, guint32 kind)
{
	return port->link_layer == RDMADP_LINK_INFINIBAND ||
	       (port->link_layer == RDMADP_LINK_ETHERNET && kind == RDMADP_NODE_UMAD);
}

static gboolean check_mad(struct hca *hca, const struct rdmadp_rdma_device *rdma, guint32 kind)
{
	const struct rdmadp_device *abi = device_abi(hca->device);

	for (guint32 i = 0; i < rdma->n_ports; i++) {
		const struct rdmadp_port *port = rdma->ports[i];

		if (!port_has_mad(port, kind) || has_node(abi, kind, rdma, port->number))
			continue;
		hca->missing = g_strdup_printf("%s for %s port %u missing", kind_name(kind),
					       rdma->name, port->number);
		hca->remedy = mad_remedy(abi, kind, port->link_layer);
		return FALSE;
	}
	return TRUE;
}

static gboolean check_rdma_device(struct hca *hca, const struct rdmadp_rdma_device *rdma,
				  const ResourceConfig *config)
{
	if (!has_node(device_abi(hca->device), RDMADP_NODE_UVERBS, rdma, 0)) {
		hca->missing = g_strdup_printf("uverbs for %s missing", rdma->name);
		hca->remedy = "load the module ib_uverbs (modprobe ib_uverbs)";
		return FALSE;
	}
	if (config->umad == CHAR_REQUIRED && !check_mad(hca, rdma, RDMADP_NODE_UMAD))
		return FALSE;
	return config->issm != CHAR_REQUIRED || check_mad(hca, rdma, RDMADP_NODE_ISSM);
}

static gboolean check_usable(struct hca *hca)
{
	const struct rdmadp_device *abi = device_abi(hca->device);

	if (abi->note != NULL) {
		hca->missing = g_strdup(abi->note);
		return FALSE;
	}
	if (n_usable(abi) == 0) {
		hca->missing = g_strdup("it has no RDMA device");
		hca->remedy = "load the RDMA driver of this adapter";
		return FALSE;
	}
	return TRUE;
}

static gboolean belongs_to_usable(const struct rdmadp_device *abi, const struct rdmadp_node *node)
{
	for (guint32 i = 0; i < abi->n_rdma_devices; i++)
		if (g_strcmp0(node->rdma_device, abi->rdma_devices[i]->name) == 0)
			return is_usable(abi->rdma_devices[i]);
	return node->rdma_device == NULL;
}

static gboolean is_wanted(const struct rdmadp_device *abi, const struct rdmadp_node *node,
			  const ResourceConfig *config)
{
	switch (node->kind) {
	case RDMADP_NODE_RDMA_CM:
		return config->rdma_cm != CHAR_OFF;
	case RDMADP_NODE_UMAD:
		return config->umad != CHAR_OFF && belongs_to_usable(abi, node);
	case RDMADP_NODE_ISSM:
		return config->issm != CHAR_OFF && belongs_to_usable(abi, node);
	case RDMADP_NODE_UVERBS:
	case RDMADP_NODE_OTHER:
		return belongs_to_usable(abi, node);
	default:
		return FALSE; /* of a newer contract: nothing says that a pod may have it */
	}
}

static gboolean is_required(const struct rdmadp_node *node, const ResourceConfig *config)
{
	switch (node->kind) {
	case RDMADP_NODE_RDMA_CM:
		return config->rdma_cm == CHAR_REQUIRED;
	case RDMADP_NODE_UMAD:
		return config->umad == CHAR_REQUIRED;
	case RDMADP_NODE_ISSM:
		return config->issm == CHAR_REQUIRED;
	default:
		return TRUE;
	}
}

/* What the kernel has may be missing where pods get it from. */
static void probe_nodes(struct hca *hca, const ResourceConfig *config,
			const struct hca_probe *probe)
{
	const struct rdmadp_device *abi = device_abi(hca->device);

	for (guint32 i = 0; i < abi->n_nodes && hca->missing == NULL; i++)
		if (is_wanted(abi, abi->nodes[i], config) && is_required(abi->nodes[i], config))
			hca->missing = probe->look(abi->nodes[i], probe->data);
}

/* Sets 'missing' to the first thing that is, or leaves it NULL. */
static void check_files(struct hca *hca, const ResourceConfig *config)
{
	const struct rdmadp_device *abi = device_abi(hca->device);

	if (!check_usable(hca))
		return;
	hca->usable = TRUE;
	for (guint32 i = 0; i < abi->n_rdma_devices; i++)
		if (is_usable(abi->rdma_devices[i]) &&
		    !check_rdma_device(hca, abi->rdma_devices[i], config))
			return;
	if (config->rdma_cm == CHAR_REQUIRED && !has_node(abi, RDMADP_NODE_RDMA_CM, NULL, 0)) {
		hca->missing = g_strdup("rdma_cm missing");
		hca->remedy = "load the module rdma_ucm (modprobe rdma_ucm)";
	}
}

void hca_set_device(struct hca *hca, Device *device, const ResourceConfig *config,
		    const struct hca_probe *probe)
{
	device_ref(device);
	device_unref(hca->device);
	hca->device = device;
	hca->present = TRUE;
	g_clear_pointer(&hca->refusal, g_free);
	g_clear_pointer(&hca->missing, g_free);
	hca->remedy = NULL;
	check_files(hca, config);
	if (probe != NULL && probe->look != NULL && hca->missing == NULL)
		probe_nodes(hca, config, probe);
	if (hca->missing == NULL)
		hca->ready = TRUE;
}

gboolean hca_counts(const struct hca *hca)
{
	return hca->ready || (hca->usable && !hca->healthy);
}

gboolean hca_is_good(const struct hca *hca)
{
	return hca->ready && hca->healthy;
}

gboolean hca_is_complete(const struct hca *hca)
{
	return hca->present && hca->missing == NULL;
}

int hca_numa_node(const struct hca *hca)
{
	int node = device_abi(hca->device)->numa_node;

	return node >= 0 && node < MAX_NUMA_NODES ? node : -1;
}

const char *hca_problem(const struct hca *hca)
{
	if (!hca->present)
		return hca->refusal != NULL ? hca->refusal
					    : "the device is gone or no longer selected";
	if (hca->missing != NULL)
		return hca->missing;
	if (hca->healthy)
		return NULL;
	return hca->reason == NULL ? "it is not healthy" : hca->reason;
}

/* --- which files a container gets --- */

static struct char_file *file_new(const struct rdmadp_node *node, const ResourceConfig *config)
{
	struct char_file *file = g_new0(struct char_file, 1);

	file->host_path = g_strconcat("/dev/", node->name, NULL);
	file->dev_name = g_strdup(node->name);
	if (node->kind != RDMADP_NODE_RDMA_CM)
		file->rdma_device = g_strdup(node->rdma_device);
	file->sysfs_dir = g_strdup(node->sysfs_dir);
	file->dev_major = node->dev_major;
	file->dev_minor = node->dev_minor;
	file->required = is_required(node, config);
	return file;
}

/* What the node is to its HCA, whatever its name and number are today. */
static char *role_of(const struct rdmadp_device *abi, const struct rdmadp_node *node)
{
	static const char *const kinds[] = {NULL, "uverbs", "umad", "issm", "rdma_cm"};
	guint32 of = 0;

	if (node->kind == RDMADP_NODE_OTHER || node->kind >= G_N_ELEMENTS(kinds))
		return g_strdup(node->name);
	while (of < abi->n_rdma_devices &&
	       g_strcmp0(abi->rdma_devices[of]->name, node->rdma_device) != 0)
		of++;
	if (node->kind == RDMADP_NODE_RDMA_CM || (of == 0 && node->port <= 1))
		return g_strdup(kinds[node->kind]);
	return g_strdup_printf("%s %u/%u", kinds[node->kind], of, node->port);
}

GHashTable *hca_numbers(const struct hca *hca, const ResourceConfig *config)
{
	const struct rdmadp_device *abi = device_abi(hca->device);
	GHashTable *numbers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);

	for (guint32 i = 0; i < abi->n_nodes; i++) {
		const struct rdmadp_node *node = abi->nodes[i];

		if (is_wanted(abi, node, config))
			g_hash_table_insert(
				numbers, role_of(abi, node),
				g_strdup_printf("%u:%u", node->dev_major, node->dev_minor));
	}
	return numbers;
}

void hca_add_files(const struct hca *hca, const ResourceConfig *config, GPtrArray *files)
{
	const struct rdmadp_device *abi = device_abi(hca->device);

	for (guint32 i = 0; i < abi->n_nodes; i++)
		if (is_wanted(abi, abi->nodes[i], config))
			char_files_add(files, file_new(abi->nodes[i], config));
}
