/* SPDX-License-Identifier: Apache-2.0 */
#include "model/sight.h"

/* A scan that takes longer is not waited for. */
#define LONGEST_WAIT_MS 1000

gboolean sight_lacks_files(const struct hca *hca)
{
	return hca->present && hca->usable && hca->missing != NULL;
}

struct health_sight sight_of_files(const struct hca *hca)
{
	return (struct health_sight){
		.observed = hca->ready ? HEALTH_OBSERVED_BAD : HEALTH_OBSERVED_PENDING,
		.code = HEALTH_CODE_FILES,
		.text = hca->missing,
	};
}

static enum health_code code_of(guint32 reason)
{
	static const enum health_code codes[] = {
		[RDMADP_REASON_NONE] = HEALTH_CODE_VENDOR,
		[RDMADP_REASON_LINK] = HEALTH_CODE_LINK,
		[RDMADP_REASON_FILES] = HEALTH_CODE_FILES,
		[RDMADP_REASON_GONE] = HEALTH_CODE_GONE,
		[RDMADP_REASON_FATAL] = HEALTH_CODE_FATAL,
		[RDMADP_REASON_VENDOR] = HEALTH_CODE_VENDOR,
	};

	return reason < G_N_ELEMENTS(codes) ? codes[reason] : HEALTH_CODE_VENDOR;
}

struct health_sight sight_of_health(const struct rdmadp_health *health)
{
	struct health_sight sight = {.observed = HEALTH_OBSERVED_UNREADABLE};

	if (health->text[0] != '\0')
		sight.text = health->text;
	if (health->state == RDMADP_HEALTHY) {
		sight.observed = HEALTH_OBSERVED_GOOD;
	} else if (health->state == RDMADP_UNHEALTHY) {
		sight.code = code_of(health->reason);
		sight.observed = sight.code == HEALTH_CODE_GONE ? HEALTH_OBSERVED_ABSENT
								: HEALTH_OBSERVED_BAD;
	}
	return sight;
}

gboolean sight_waits_for_scan(const struct rdmadp_health *health, gint64 scan_age_ms)
{
	return health->state == RDMADP_UNHEALTHY &&
	       (health->reason == RDMADP_REASON_FILES || health->reason == RDMADP_REASON_GONE) &&
	       scan_age_ms >= 0 && scan_age_ms < LONGEST_WAIT_MS;
}

static gboolean may_be_active(const struct rdmadp_rdma_device *rdma)
{
	for (guint32 i = 0; i < rdma->n_ports; i++)
		if (rdma->ports[i]->state >= RDMADP_PORT_ACTIVE ||
		    rdma->ports[i]->state == RDMADP_PORT_UNKNOWN)
			return TRUE;
	return rdma->n_ports == 0;
}

gboolean sight_is_idle_function(const struct hca *hca)
{
	const struct rdmadp_device *abi = device_abi(hca->device);

	for (guint32 i = 0; i < abi->n_rdma_devices; i++)
		if (may_be_active(abi->rdma_devices[i]))
			return FALSE;
	return (abi->flags & RDMADP_DEVICE_VF) != 0 && abi->n_rdma_devices > 0;
}
