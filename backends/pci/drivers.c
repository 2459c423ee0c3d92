/* SPDX-License-Identifier: Apache-2.0 */
#include "pci/drivers.h"

#include <stddef.h>
#include <string.h>

static const struct {
	const char *pci, *rdma;
} pairs[] = {
	{"mlx5_core", "mlx5_ib"},
	{"mlx4_core", "mlx4_ib"},
	{"ice", "irdma"},
	{"i40e", "irdma"},
	{"idpf", "irdma"},
	{"bnxt_en", "bnxt_re"},
	{"hns3", "hns_roce_hw_v2"},
	{"cxgb4", "iw_cxgb4"},
	{"qede", "qedr"},
	{"be2net", "ocrdma"},
	{"mana", "mana_ib"},
	{"ionic", "ionic_rdma"},
	{"hisdk3", "hiroce3"},
	{"hisdk5", "hiroce5"},
	{"efa", "efa"},
	{"erdma", "erdma"},
	{"hfi1", "hfi1"},
	{"ib_qib", "ib_qib"},
	{"ib_mthca", "ib_mthca"},
	{"vmw_pvrdma", "vmw_pvrdma"},
	{"usnic_verbs", "usnic_verbs"},
};

static const struct {
	const char *name, *driver;
} aliases[] = {
	{"hns", "hns3"},       {"hns_roce", "hns3"}, {"hns-roce-hw-v2", "hns3"}, {"qib", "ib_qib"},
	{"mthca", "ib_mthca"}, {"i40iw", "i40e"},    {"hrn3", "hisdk3"},	 {"hrn5", "hisdk5"},
};

/* The version of the uverbs ABI that the kernel's own driver has, and rdma-core expects;
 * drivers of vendors may have another. */
static const struct {
	const char *rdma, *version;
} abis[] = {
	{"mlx5_ib", "1"}, {"bnxt_re", "1"}, {"hns_roce_hw_v2", "1"},
	{"erdma", "1"},	  {"efa", "1"},	    {"mana_ib", "1"},
};

static const char *const passthrough[] = {"vfio-pci", "pci-stub",    "uio_pci_generic",
					  "igb_uio",  "xen-pciback", "mlx5_vfio_pci"};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const char *drivers_rdma_of(const char *pci_driver)
{
	for (size_t i = 0; pci_driver && i < COUNT(pairs); i++)
		if (strcmp(pairs[i].pci, pci_driver) == 0)
			return pairs[i].rdma;
	return NULL;
}

const char *drivers_uverbs_abi(const char *rdma_driver)
{
	for (size_t i = 0; rdma_driver && i < COUNT(abis); i++)
		if (strcmp(abis[i].rdma, rdma_driver) == 0)
			return abis[i].version;
	return NULL;
}

const char *drivers_alias(const char *name)
{
	for (size_t i = 0; i < COUNT(aliases); i++)
		if (strcmp(aliases[i].name, name) == 0)
			return aliases[i].driver;
	return NULL;
}

bool drivers_is_passthrough(const char *pci_driver)
{
	for (size_t i = 0; i < COUNT(passthrough); i++)
		if (strcmp(passthrough[i], pci_driver) == 0)
			return true;
	return false;
}

const char *drivers_of_vfs(const char *pf_driver)
{
	static const struct {
		const char *pf, *vf;
	} drivers[] = {
		{"mlx5_core", "mlx5_core"},
		{"mlx4_core", "mlx4_core"},
		{"bnxt_en", "bnxt_en"},
		{"hns3", "hns3"},
		{"ice", "iavf"},
		{"i40e", "iavf"},
	};

	for (size_t i = 0; pf_driver && i < COUNT(drivers); i++)
		if (strcmp(drivers[i].pf, pf_driver) == 0)
			return drivers[i].vf;
	return NULL;
}

/* Connect-IB (1011) and all later ones are mlx5's; the ids are in order of age. */
const char *drivers_wanted(const char *vendor, const char *device)
{
	if (!vendor || !device || strcmp(vendor, "15b3") != 0)
		return NULL;
	return strcmp(device, "1011") < 0 ? "mlx4_core" : "mlx5_core";
}
