/* SPDX-License-Identifier: Apache-2.0 */
#include "model/link_layers.h"

#include "model/device.h"

static guint32 mask_of(GStrv names)
{
	guint32 mask = 0;

	for (guint32 layer = RDMADP_LINK_INFINIBAND; layer <= RDMADP_LINK_ETHERNET; layer++)
		if (g_strv_contains((const char *const *)names, device_link_name(layer)))
			mask |= 1U << layer;
	return mask;
}

/* Of all selectors together; each of them may take the device. */
static guint32 wanted(const ResourceConfig *config)
{
	guint32 mask = 0;

	for (guint i = 0; i < config->selectors->len; i++) {
		const struct selector *selector = g_ptr_array_index(config->selectors, i);
		GStrv names = selector->values[SELECTOR_LINK_TYPES];

		mask |= names == NULL ? G_MAXUINT32 : mask_of(names);
	}
	return mask;
}

struct rdmadp_health link_layers_judge(const ResourceConfig *config,
				       const struct rdmadp_health *health)
{
	struct rdmadp_health judged = *health;

	if (health->state != RDMADP_HEALTHY || health->active == 0 ||
	    (health->active & wanted(config)) != 0)
		return judged;
	judged.state = RDMADP_UNHEALTHY;
	judged.reason = RDMADP_REASON_LINK;
	g_snprintf(judged.text, sizeof(judged.text),
		   "no port of the linkTypes is ACTIVE, although %s", health->text);
	return judged;
}
