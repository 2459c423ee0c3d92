/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/nag.h"

gboolean nag_again(struct nag *nag, const char *text, gint64 now_us)
{
	gboolean known = g_strcmp0(nag->last, text) == 0;

	if (known && now_us - nag->told_us < NAG_INTERVAL_US)
		return FALSE;
	if (!known) {
		g_free(nag->last);
		nag->last = g_strdup(text);
	}
	nag->told_us = now_us;
	return TRUE;
}

gboolean nag_over(struct nag *nag)
{
	gboolean told = nag->last != NULL;

	g_clear_pointer(&nag->last, g_free);
	return told;
}
