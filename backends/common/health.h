/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Health of a device by its ports, the same on every bus. May block as long as the
 * hardware does; a signal ends a read that can be interrupted, and is "unknown".
 *
 *	a port is ACTIVE			healthy
 *	a port cannot be read			unknown
 *	every port can be read, none is ACTIVE	unhealthy (link)
 *	in another network namespace		healthy: its ports cannot be seen from here
 *	its character device is gone		unhealthy (files)
 *
 * A function of another one (VF, SF) follows the uplink of that, for its own port is
 * down as long as nobody uses it.
 */
#pragma once

#include "common/sysfs.h"

/* 'uplink_dir': the directory of the parent function, or NULL. */
void health_judge(const struct sysfs *sysfs, const struct rdmadp_device *device,
		  const char *uplink_dir, struct rdmadp_health *ret);

/* For the bus' own findings. */
void health_set(struct rdmadp_health *health, enum rdmadp_health_state state,
		enum rdmadp_health_reason reason, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
