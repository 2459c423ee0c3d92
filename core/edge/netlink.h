/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel tells about devices and links, as hints: something may have changed,
 * look. Nothing is decided from a hint, and a process that hears none (another
 * network namespace, a container runtime that forbids the sockets) loses only time.
 * The only file that speaks netlink.
 */
#pragma once

#include <glib.h>

enum netlink_hint {
	NETLINK_HINT_BUS, /* a device, driver or class entry came, went or was renamed */
	NETLINK_HINT_LINK, /* an interface went up or down; 'name' is the interface */
	NETLINK_HINT_LOST, /* messages were lost: anything may have changed */
};

/* 'name' is the interface, the subsystem of the device, or NULL. */
typedef void (*netlink_hint_fn)(enum netlink_hint hint, const char *name, gpointer data);

typedef struct netlink Netlink;

/* Listens in the thread-default main context. Never NULL; what cannot be opened is
 * named in *ret_trouble (owned by the caller, NULL if all is well). */
Netlink *netlink_new(netlink_hint_fn hint, gpointer data, char **ret_trouble);
void netlink_free(Netlink *netlink);

enum rdma_netns_mode { RDMA_NETNS_SHARED, RDMA_NETNS_EXCLUSIVE };

/* The namespace mode of the RDMA subsystem. Asks the kernel if 'sysfs_root' is a real
 * sysfs, else (or if the kernel does not answer) reads the module parameter below
 * it. A kernel that knows neither is in shared mode. Never changes it. */
enum rdma_netns_mode netlink_rdma_netns_mode(const char *sysfs_root);

/* For tests: feeds one datagram of a kernel uevent as if it had been received. */
gboolean netlink_uevent_concerns_us(const char *message, gsize length, const char **ret_subsystem);
