/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/commands.h"

#include <string.h>

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

char *describe_netdevs(const Device *device)
{
	const struct rdmadp_device *abi = device_abi(device);
	GString *text = g_string_new(NULL);
	guint representors = 0;

	for (guint32 i = 0; i < abi->n_netdevs; i++) {
		if (abi->netdevs[i]->flags & RDMADP_NET_REPRESENTOR)
			representors++;
		else
			append_word(text, abi->netdevs[i]->name);
	}
	if (representors > 0)
		g_string_append_printf(text, " (+%u representors)", representors);
	return g_string_free(text, FALSE);
}

static const char *link_name(guint32 link_layer)
{
	switch (link_layer) {
	case RDMADP_LINK_ETHERNET:
		return "ether";
	case RDMADP_LINK_INFINIBAND:
		return "infiniband";
	default:
		return "unknown";
	}
}

/* Each link layer once: an HCA can have ports of both. */
char *describe_link(const Device *device)
{
	const struct rdmadp_device *abi = device_abi(device);
	GString *text = g_string_new(NULL);

	for (guint32 i = 0; i < abi->n_rdma_devices; i++) {
		const struct rdmadp_rdma_device *rdma = abi->rdma_devices[i];

		for (guint32 j = 0; j < rdma->n_ports; j++) {
			const char *name = link_name(rdma->ports[j]->link_layer);

			if (strstr(text->str, name) == NULL)
				append_word(text, name);
		}
	}
	return g_string_free(text, FALSE);
}

char *describe_ports(const Device *device)
{
	static const char *const states[] = {"?",     "NOP",	"DOWN",	       "INIT",
					     "ARMED", "ACTIVE", "ACTIVE_DEFER"};
	const struct rdmadp_device *abi = device_abi(device);
	GString *text = g_string_new(NULL);

	for (guint32 i = 0; i < abi->n_rdma_devices; i++) {
		const struct rdmadp_rdma_device *rdma = abi->rdma_devices[i];

		for (guint32 j = 0; j < rdma->n_ports; j++) {
			guint32 state = MIN(rdma->ports[j]->state, G_N_ELEMENTS(states) - 1);
			g_autofree char *port =
				g_strdup_printf("%u %s", rdma->ports[j]->number, states[state]);

			append_word(text, port);
		}
	}
	return g_string_free(text, FALSE);
}
