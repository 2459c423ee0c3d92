/* SPDX-License-Identifier: Apache-2.0 */
#include "model/discovered.h"

#include <string.h>

static void append_name(GString *list, const char *name)
{
	g_string_append_printf(list, "%s%s", list->len > 0 ? "," : "", name);
}

static char *rdma_names(const struct rdmadp_device *abi)
{
	GString *list = g_string_new(NULL);

	for (guint32 i = 0; i < abi->n_rdma_devices; i++)
		if (!(abi->rdma_devices[i]->flags & RDMADP_RDMA_MANAGEMENT_ONLY))
			append_name(list, abi->rdma_devices[i]->name);
	return g_string_free(list, FALSE);
}

static char *uverbs_names(const struct unit *unit)
{
	GString *list = g_string_new(NULL);

	for (guint i = 0; i < unit->files->len; i++) {
		const struct char_file *file = g_ptr_array_index(unit->files, i);

		if (g_str_has_prefix(file->dev_name, "infiniband/uverbs"))
			append_name(list, strchr(file->dev_name, '/') + 1);
	}
	return g_string_free(list, FALSE);
}

/* Where there is a PCIe path the id is an address on it, or that of a part of it. */
char *discovered_text(const struct unit *unit)
{
	const struct rdmadp_device *abi = device_abi(unit->device);
	g_autofree char *rdma = rdma_names(abi);
	g_autofree char *uverbs = uverbs_names(unit);
	GString *text = g_string_new(NULL);

	g_string_printf(text, "discovered RDMA device: %s (%s=%s, NUMA=%d, uverbs=%s", rdma,
			abi->pcie_path != NULL ? "PCI" : "ID", unit->id, abi->numa_node, uverbs);
	if (abi->pcie_root != NULL)
		g_string_append_printf(text, ", pcieRoot=%s", abi->pcie_root);
	g_string_append_c(text, ')');
	if (abi->pcie_path != NULL)
		g_string_append_printf(text, " at %s", abi->pcie_path);
	return g_string_free(text, FALSE);
}
