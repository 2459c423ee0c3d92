/* SPDX-License-Identifier: Apache-2.0 */
#include "model/mixture.h"

#include "model/device.h"
#include "model/selector_list.h"

static void add_links(GPtrArray *links, const struct rdmadp_rdma_device *rdma)
{
	if (rdma->flags & RDMADP_RDMA_MANAGEMENT_ONLY)
		return;
	for (guint32 i = 0; i < rdma->n_ports; i++)
		selector_add_once(links, device_link_name(rdma->ports[i]->link_layer));
}

/* Each of 'links' is what one device has: a card with ports of both kinds is one kind of
 * device. */
static void add_device(GPtrArray *vendors, GPtrArray *links, const Device *device)
{
	const struct rdmadp_device *abi = device_abi(device);
	g_autoptr(GPtrArray) own = g_ptr_array_new_with_free_func(g_free);
	g_autofree char *text = NULL;

	if (abi->note != NULL || abi->n_rdma_devices == 0)
		return;
	if (device_attribute(device, "vendor") != NULL)
		selector_add_once(vendors, device_attribute(device, "vendor"));
	for (guint32 i = 0; i < abi->n_rdma_devices; i++)
		add_links(own, abi->rdma_devices[i]);
	if (own->len == 0)
		return;
	g_ptr_array_add(own, NULL);
	text = g_strjoinv("+", (char **)own->pdata);
	selector_add_once(links, text);
}

static void append(GString *text, const char *what, GPtrArray *values)
{
	if (values->len < 2)
		return;
	g_string_append_printf(text, "%s%s ", text->len > 0 ? ", " : "", what);
	for (guint i = 0; i < values->len; i++)
		g_string_append_printf(text, "%s%s", i > 0 ? " and " : "",
				       (const char *)g_ptr_array_index(values, i));
}

char *mixture_remark(GPtrArray *devices)
{
	g_autoptr(GPtrArray) vendors = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GPtrArray) links = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GString) text = g_string_new(NULL);

	for (guint i = 0; i < devices->len; i++)
		add_device(vendors, links, g_ptr_array_index(devices, i));
	append(text, "vendors", vendors);
	append(text, "link types", links);
	if (text->len == 0)
		return NULL;
	return g_strdup_printf("its devices are of different kinds (%s), and a pod cannot choose "
			       "among them: make resources of their own with vendors, drivers or "
			       "linkTypes",
			       text->str);
}
