/* SPDX-License-Identifier: Apache-2.0 */
/* The public header needs nothing before it, in any language that may include it, and
 * survives being included twice. */
#include "rdmadp/backend.h"

int header_is_usable(const struct rdmadp_device *device);

int header_is_usable(const struct rdmadp_device *device)
{
	return device->size >= sizeof(*device) && rdmadp_backend_v1.size != RDMADP_HEALTH_UNKNOWN;
}
