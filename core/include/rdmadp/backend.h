/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RDMADP_BACKEND_H
#define RDMADP_BACKEND_H

/*
 * The contract between rdmadp and a bus backend.
 *
 * A backend is a shared object '<name>.so'. It exports exactly one symbol, the
 * const struct rdmadp_backend called rdmadp_backend_v1, and needs no other
 * header and no library of ours. backends/mock is the example to copy;
 * 'rdmadp-backend-check foo.so' runs this contract against a backend.
 *
 * Life of one instance:
 *	init -> event_fd -> discover -> [ health* | match* | event_ack | discover ]* -> fini
 *
 * The first discovery is rehearsed in a process of its own: a backend that crashes,
 * exits or takes longer than 5 s there is not used. The object is never unloaded.
 *
 * Threads: all calls of one instance come from one thread, its scan thread, and
 * never overlap, except match and health: those may come from any thread, at the
 * same time as any other call. fini comes when no other call is left. A thread has
 * 256 KiB of stack. When the daemon ends, a blocked call is interrupted with a
 * signal: let EINTR end it instead of trying again.
 *
 * Memory: nothing is ever freed by the other side. What a caller passes is
 * valid until the call returns; whoever wants it longer copies it. Text is
 * UTF-8 without control characters, NUL-terminated. Optional text may be NULL.
 *
 * Growth: the major version is the number in the symbol's name. Within it,
 * structs only grow at their end and 'size', their first member, says how much
 * of one its maker knew (use sizeof). A reader takes a missing member as zero.
 * Lists are arrays of pointers, so that their elements can grow, too. Zero is
 * always the neutral value; 'reserved' is zero.
 *
 * Errors: calls that return int give 0 (or the positive answer they name), or
 * a negative errno value. A device that breaks a rule is left out and logged.
 */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Severity of a log message; the numbers are syslog's. */
enum rdmadp_log_level {
	RDMADP_LOG_ERROR = 3,
	RDMADP_LOG_WARNING = 4,
	RDMADP_LOG_INFO = 6,
	RDMADP_LOG_DEBUG = 7
};

/* What the core lends to an instance, from init until fini has returned. */
struct rdmadp_host {
	uint32_t size;
	uint32_t reserved;
	const char *sysfs_root; /* stands for /sys: absolute, no trailing slash */
	const char *dev_root; /* stands for /dev; may not exist, as in a container */
	/* Any thread. One line of text, no newline; the core adds the backend's
	 * name. Log a standing condition once, not at every scan. */
	void (*log)(const struct rdmadp_host *host, int level, const char *message);
};

/* One fact about a device, such as {"vendor", "15b3"}. Keys may repeat.
 * Hexadecimal ids are lower case, without 0x, at least four digits. */
struct rdmadp_attribute {
	uint32_t size;
	uint32_t reserved;
	const char *key; /* one of rdmadp_backend.keys: letters, digits, '_', '.', '-' */
	const char *value;
};

enum rdmadp_link_layer {
	RDMADP_LINK_UNKNOWN = 0, /* not read, or neither of the two (EFA) */
	RDMADP_LINK_INFINIBAND = 1,
	RDMADP_LINK_ETHERNET = 2 /* RoCE and iWARP */
};
/* Port state: the kernel's number + 1, so that 0 can say "could not be read". */
enum rdmadp_port_state {
	RDMADP_PORT_UNKNOWN = 0,
	RDMADP_PORT_NOP = 1,
	RDMADP_PORT_DOWN = 2,
	RDMADP_PORT_INIT = 3,
	RDMADP_PORT_ARMED = 4,
	RDMADP_PORT_ACTIVE = 5,
	RDMADP_PORT_ACTIVE_DEFER = 6
};

struct rdmadp_port {
	uint32_t size;
	uint32_t number; /* from 1 */
	uint32_t link_layer; /* enum rdmadp_link_layer */
	uint32_t state; /* enum rdmadp_port_state, at the time of the scan */
};

/* Flags of an RDMA device. */
enum { RDMADP_RDMA_MANAGEMENT_ONLY = 1 << 0 }; /* smiN: never handed to a pod */
struct rdmadp_rdma_device {
	uint32_t size;
	uint32_t flags;
	const char *name; /* as in class/infiniband: "mlx5_0" */
	const char *driver; /* "mlx5_ib", or NULL where it cannot be known */
	uint32_t n_ports;
	uint32_t reserved;
	const struct rdmadp_port *const *ports;
};

/* Flags of a network interface. */
enum {
	RDMADP_NET_UPPER = 1 << 0, /* a bond above the device's own interface */
	RDMADP_NET_REPRESENTOR = 1 << 1, /* switchdev port of a VF or SF: never counts */
	RDMADP_NET_CHILD = 1 << 2 /* IPoIB child interface (ib0.8001) */
};
struct rdmadp_netdev {
	uint32_t size;
	uint32_t flags;
	const char *name; /* "ens1f0np0" */
	uint32_t link_layer; /* enum rdmadp_link_layer, from the interface's type */
	uint32_t reserved;
};

enum rdmadp_node_kind {
	RDMADP_NODE_OTHER = 0, /* a vendor's own node: handed out with the device */
	RDMADP_NODE_UVERBS = 1,
	RDMADP_NODE_UMAD = 2,
	RDMADP_NODE_ISSM = 3,
	RDMADP_NODE_RDMA_CM = 4 /* one for the whole node: every device names it */
};
/* A character device. The core decides per resource which kinds are needed. */
struct rdmadp_node {
	uint32_t size;
	uint32_t kind; /* enum rdmadp_node_kind */
	const char *name; /* path below /dev: "infiniband/uverbs0" */
	const char *rdma_device; /* the RDMA device it belongs to; NULL for rdma_cm */
	/* Directory below the sysfs root whose files 'dev' and, where there is an
	 * RDMA device, 'ibdev' the core reads again before it hands the node out.
	 * NULL: there is nothing to read again. */
	const char *sysfs_dir;
	uint32_t dev_major;
	uint32_t dev_minor;
	uint32_t port; /* umad, issm: port number; else 0 */
	uint32_t reserved;
};

/* Flags of a device. */
enum {
	RDMADP_DEVICE_VF = 1 << 0,
	RDMADP_DEVICE_PF = 1 << 1, /* has virtual functions now */
	RDMADP_DEVICE_ELSEWHERE = 1 << 2, /* its RDMA device or interface is in a pod's namespace */
	RDMADP_DEVICE_SOFTWARE = 1 << 3 /* rxe, siw */
};
/* Reported by discover: an adapter that does RDMA, or could with the right driver. */
struct rdmadp_device {
	uint32_t size;
	uint32_t flags;
	/* Printable ASCII without spaces. 'id' is unique in the scan, at most 63 bytes,
	 * and the user's name for the device: "0000:3b:00.0". 'identity' is stable
	 * over reboot and hot-plug, often the same. */
	const char *id;
	const char *identity;
	const char *parent_id; /* 'id' of the PF of a VF, the function of an SF; else NULL */
	const char *driver; /* bound to the bus device; NULL while unbound */
	const char *pcie_root; /* "pci0000:3a"; NULL where there is none */
	const char *pcie_path; /* from the root down: "0000:3a:00.0/0000:3b:00.0" */
	/* Why it cannot be used now and what to do about it, in one sentence, such as
	 * "no driver is bound; load mlx5_core". NULL: nothing in the way that the
	 * backend knows. A missing node needs no note: the core says that itself. */
	const char *note;
	int32_t numa_node; /* -1: not known */
	uint32_t n_attributes;
	const struct rdmadp_attribute *const *attributes;
	uint32_t n_rdma_devices;
	uint32_t n_netdevs;
	const struct rdmadp_rdma_device *const *rdma_devices;
	const struct rdmadp_netdev *const *netdevs;
	uint32_t n_nodes;
	uint32_t reserved;
	const struct rdmadp_node *const *nodes;
};

enum rdmadp_health_state {
	RDMADP_HEALTH_UNKNOWN = 0, /* could not be read: the last state holds */
	RDMADP_HEALTHY = 1,
	RDMADP_UNHEALTHY = 2
};
enum rdmadp_health_reason {
	RDMADP_REASON_NONE = 0,
	RDMADP_REASON_LINK = 1, /* no port that matters is ACTIVE */
	RDMADP_REASON_FILES = 2, /* a character device or a class entry is missing */
	RDMADP_REASON_GONE = 3, /* the device is not on the bus */
	RDMADP_REASON_FATAL = 4, /* the device says that it is broken */
	RDMADP_REASON_VENDOR = 5 /* any other; see text */
};

struct rdmadp_health {
	uint32_t size; /* set by the core before the call */
	uint32_t state; /* enum rdmadp_health_state */
	uint32_t reason; /* enum rdmadp_health_reason */
	uint32_t active; /* 1 << link layer of each ACTIVE port, if layers differ; else 0 */
	char text[240]; /* one sentence with the value seen, or "" */
	uint64_t link_downs; /* links lost so far, all ports; 0: none, or unknown now */
};

/* Takes a copy of the device. A result other than 0 ends the scan: discover
 * returns it unchanged. */
typedef int (*rdmadp_emit_fn)(void *sink, const struct rdmadp_device *device);

struct rdmadp_backend {
	uint32_t size;
	uint32_t reserved;
	const char *name; /* the file's name without .so: [a-z][a-z0-9_]{0,31} */
	const char *version; /* free text for logs */
	const char *const *keys; /* attributes that discover can report; NULL at the end */
	/* Sets *ret_instance, touches nothing on failure. A bus that is not there is
	 * no failure: it has no devices. Two instances may live at once. */
	int (*init)(const struct rdmadp_host *host, void **ret_instance);
	/* Leaves no descriptor, thread or memory behind. */
	void (*fini)(void *instance);
	/* Calls emit once for each device, in any order. A device that vanishes or
	 * cannot be read is left out or reported with a note; a failure (negative
	 * errno) says that the whole scan is void, and the core keeps what it knew. */
	int (*discover)(void *instance, rdmadp_emit_fn emit, void *sink);
	/* Optional. 1 if the device satisfies 'key' with 'value', 0 if not, -EINVAL
	 * if no device ever could. Pure: depends on its arguments only, never blocks.
	 * 'value' is as the user wrote it, hexadecimal ids normalised. NULL: an
	 * attribute with that key and exactly that value is what satisfies. */
	int (*match)(const struct rdmadp_device *device, const char *key, const char *value);
	/* Looks at one device that discover reported, maybe some scans ago, and fills
	 * *ret. May block for as long as the hardware does, one call for each device.
	 * A failure counts as RDMADP_HEALTH_UNKNOWN. */
	int (*health)(void *instance, const struct rdmadp_device *device,
		      struct rdmadp_health *ret);
	/* Optional pair. A descriptor that polls readable when the bus or a device's
	 * health may have changed, or a negative errno: no events. It stays the
	 * instance's. event_ack makes it unreadable again and returns 1 if a look is
	 * worth while (health at once, a scan soon), else 0. Events are hints: what
	 * they miss is found by polling. */
	int (*event_fd)(void *instance);
	int (*event_ack)(void *instance);
};
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
extern const struct rdmadp_backend rdmadp_backend_v1;

#ifdef __cplusplus
}
#endif
#endif
