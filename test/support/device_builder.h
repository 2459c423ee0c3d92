/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices from one line of words, for the tables of the tests:
 *
 *	"0000:3b:00.0 driver=mlx5_core @vendor=15b3 @device=101d rdma=mlx5_0 "
 *	"port=1:eth:active net=ens1f0np0:eth uverbs=0 umad=0 cm"
 *
 * The first word is the id. What follows an rdma= belongs to that RDMA device.
 *
 *	identity= parent= driver= pcie=ROOT,PATH numa= note=   underscores become spaces in note
 *	vf pf elsewhere software                               flags of the device
 *	@KEY=VALUE                                             attribute
 *	rdma=NAME[,DRIVER]  management                         RDMA device, its flag
 *	port=NUMBER:eth|ib|unknown:active|down|init|unknown
 *	net=NAME:eth|ib|unknown[:upper|:representor|:child]
 *	uverbs=N umad=N[:PORT] issm=N[:PORT] cm node=NAME      numbers are the kernel's
 *
 * A word that is none of these ends the test program.
 */
#pragma once

#include <glib.h>

#include "model/device.h"

typedef struct device_builder DeviceBuilder;

DeviceBuilder *device_builder_new(const char *words);
void device_builder_free(DeviceBuilder *builder);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DeviceBuilder, device_builder_free)

/* What discover would emit; the builder's. The others are its elements, to be
 * changed by tests of what is refused. */
struct rdmadp_device *device_builder_abi(DeviceBuilder *builder);
struct rdmadp_attribute *device_builder_attribute(DeviceBuilder *builder, guint i);
struct rdmadp_rdma_device *device_builder_rdma(DeviceBuilder *builder, guint i);
struct rdmadp_netdev *device_builder_netdev(DeviceBuilder *builder, guint i);
struct rdmadp_node *device_builder_node(DeviceBuilder *builder, guint i);

/* The core's copy of it. */
Device *device_build(const char *words);
/* NULL-terminated words -> Device *, sorted by device_compare. */
GPtrArray *device_build_all(const char *const *words);
