/* SPDX-License-Identifier: Apache-2.0 */
#include "pci/note.h"

#include "common/text.h"
#include "pci/drivers.h"

static const char *read_id(const struct sysfs_value *value, char id[TEXT_ID])
{
	return text_hex_id(value->text, id) ? id : NULL;
}

static bool is_loaded(const struct pci_scan *pci, const char *driver)
{
	char path[SYSFS_PATH];

	return sysfs_join(path, "bus/pci/drivers", driver) && sysfs_exists(pci->scan.sysfs, path);
}

/* Virtual functions are mostly made while their driver is there; who makes them can have
 * the kernel leave them alone. */
static const char *note_unbound_vf(struct pci_scan *pci, const struct function *pf,
				   const char *driver)
{
	char autoprobe[SYSFS_TEXT];
	bool is_off =
		sysfs_read_in(pci->scan.sysfs, pf->dir, "sriov_drivers_autoprobe", autoprobe) &&
		autoprobe[0] == '0';

	return arena_printf(&pci->scan.arena, "no driver is bound; bind it to %s%s%s%s", driver,
			    is_off ? " (sriov_drivers_autoprobe of " : "", is_off ? pf->id : "",
			    is_off ? " is off)" : "");
}

static const char *note_unbound(struct pci_scan *pci, const struct function *function)
{
	char vendor[TEXT_ID];
	char device[TEXT_ID];
	const char *wanted = drivers_wanted(read_id(&function->facts.ids[FACTS_VENDOR], vendor),
					    read_id(&function->facts.ids[FACTS_DEVICE], device));

	const char *vf_driver = function->pf ? drivers_of_vfs(function->pf->facts.driver) : NULL;

	if (vf_driver)
		return note_unbound_vf(pci, function->pf, vf_driver);
	if (!wanted)
		return "no driver is bound; load its network driver";
	return arena_printf(&pci->scan.arena, "no driver is bound; %s %s",
			    is_loaded(pci, wanted) ? "bind it to" : "load", wanted);
}

static const char *note_no_rdma(struct pci_scan *pci, const struct function *function)
{
	const char *driver = function->facts.driver;
	const char *rdma = drivers_rdma_of(driver);

	if (drivers_is_passthrough(driver))
		return arena_printf(&pci->scan.arena,
				    "bound to %s, for virtual machines or user-space drivers; "
				    "bind its network driver to use it here",
				    driver);
	if (!rdma)
		return arena_printf(&pci->scan.arena,
				    "no RDMA device: driver %s has a network interface only",
				    driver);
	if (rdma == drivers_rdma_of(rdma))
		return arena_printf(&pci->scan.arena,
				    "driver %s has made no RDMA device; see the kernel's log",
				    driver);
	return arena_printf(&pci->scan.arena,
			    "no RDMA device on driver %s; load %s, and see that RDMA is not "
			    "switched off for this function",
			    driver, rdma);
}

static const char *note_management(struct pci_scan *pci, const struct function *function)
{
	const struct rdmadp_rdma_device *rdma = function->adapter.rdma.items[0];

	if (function->adapter.raw_only)
		return arena_printf(&pci->scan.arena,
				    "switchdev representor device: %s carries raw packets only, "
				    "no RoCE; select its virtual functions (pfNames)",
				    rdma->name);
	return arena_printf(&pci->scan.arena, "its RDMA device %s is for fabric management only",
			    rdma->name);
}

const char *function_note(struct pci_scan *pci, const struct function *function)
{
	if (adapter_usable_rdma(&function->adapter))
		return NULL;
	if (function->adapter.rdma.n)
		return note_management(pci, function);
	if (function->port_owner)
		return adapter_bond_note(&pci->scan, &function->adapter,
					 &function->port_owner->adapter, function->port_owner->id);
	return function->facts.driver ? note_no_rdma(pci, function) : note_unbound(pci, function);
}
