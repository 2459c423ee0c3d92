/* SPDX-License-Identifier: Apache-2.0 */
#include "common/health.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/netdev.h"
#include "common/port_probe.h"
#include "common/rdma.h"
#include "common/text.h"

enum finding {
	FOUND_NOTHING, /* there is no port to look at */
	FOUND_FILES, /* a character device is gone */
	FOUND_ELSEWHERE,
	FOUND_DOWN,
	FOUND_UNREADABLE,
	FOUND_ACTIVE
};

/* What was found on the ports of one device; the better finding replaces the other. */
struct look {
	const struct sysfs *sysfs;
	enum finding finding;
	char text[200];
};

void health_set(struct rdmadp_health *health, enum rdmadp_health_state state,
		enum rdmadp_health_reason reason, const char *format, ...)
{
	va_list args;

	health->state = state;
	health->reason = reason;
	va_start(args, format);
	vsnprintf(health->text, sizeof(health->text), format, args);
	va_end(args);
}

__attribute__((format(printf, 3, 4))) static void note(struct look *look, enum finding finding,
						       const char *format, ...)
{
	va_list args;

	if (finding <= look->finding)
		return;
	look->finding = finding;
	va_start(args, format);
	vsnprintf(look->text, sizeof(look->text), format, args);
	va_end(args);
}

static bool is_active(const char *text)
{
	return port_state_parse(text) >= RDMADP_PORT_ACTIVE;
}

/* What a port waits for that has a cable and is not up. */
static const char *why_init(const struct look *look, const char *ib_dir, uint32_t port)
{
	char dir[SYSFS_PATH];
	char layer[SYSFS_TEXT];

	if (snprintf(dir, sizeof(dir), "%s/ports/%u", ib_dir, port) >= SYSFS_PATH ||
	    !sysfs_read_in(look->sysfs, dir, "link_layer", layer))
		return "";
	if (strcmp(layer, "InfiniBand") == 0)
		return ": it waits for a subnet manager";
	return ": an iWARP port waits for an IPv4 address of its interface";
}

static void look_at_port(struct look *look, const char *ib_dir, const char *name, uint32_t port)
{
	char path[SYSFS_PATH];
	char text[SYSFS_TEXT];
	int result;

	if (snprintf(path, sizeof(path), "%s/ports/%u/state", ib_dir, port) >= SYSFS_PATH)
		return;
	result = sysfs_read(look->sysfs, SYSFS_WAIT, path, text, sizeof(text));
	if (result < 0)
		note(look, FOUND_UNREADABLE, "%s port %u: 'state' cannot be read: %s", name, port,
		     strerror(-result));
	else if (port_state_parse(text) == RDMADP_PORT_UNKNOWN)
		note(look, FOUND_UNREADABLE, "%s port %u: 'state' is '%s'", name, port, text);
	else if (is_active(text))
		note(look, FOUND_ACTIVE, "%s port %u is '%s'", name, port, text);
	else
		note(look, FOUND_DOWN, "%s port %u is '%s'%s", name, port, text,
		     port_state_parse(text) == RDMADP_PORT_INIT ? why_init(look, ib_dir, port)
								: "");
}

static const struct rdmadp_node *find_uverbs(const struct rdmadp_device *device, const char *name)
{
	for (uint32_t i = 0; i < device->n_nodes; i++) {
		const struct rdmadp_node *node = device->nodes[i];

		if (node->kind == RDMADP_NODE_UVERBS && node->sysfs_dir &&
		    strcmp(node->rdma_device, name) == 0)
			return node;
	}
	return NULL;
}

/* "<device>/infiniband_verbs/uverbs0" -> "<device>/infiniband/<name>" */
static bool rdma_dir(const char *uverbs_dir, const char *name, char dir[SYSFS_PATH])
{
	const char *class = strstr(uverbs_dir, "/infiniband_verbs/");

	return class && snprintf(dir, SYSFS_PATH, "%.*s/infiniband/%s", (int)(class - uverbs_dir),
				 uverbs_dir, name) < SYSFS_PATH;
}

static void look_at_ports(struct look *look, const struct rdmadp_rdma_device *rdma,
			  const char *ib_dir, const char *name)
{
	if (sysfs_is_gone(look->sysfs, ib_dir)) {
		note(look, FOUND_ELSEWHERE, "%s is in another network namespace", name);
		return;
	}
	if (rdma->n_ports == 0)
		look_at_port(look, ib_dir, name, 1);
	for (uint32_t i = 0; i < rdma->n_ports && look->finding != FOUND_ACTIVE; i++)
		look_at_port(look, ib_dir, name, rdma->ports[i]->number);
}

/* The name is read again: it may have changed since the scan. */
static void look_at_rdma(struct look *look, const struct rdmadp_device *device,
			 const struct rdmadp_rdma_device *rdma)
{
	const struct rdmadp_node *node = find_uverbs(device, rdma->name);
	char path[SYSFS_PATH];
	char name[SYSFS_TEXT];
	int result;

	if (!node || !sysfs_join(path, node->sysfs_dir, "ibdev")) {
		note(look, FOUND_FILES, "%s has no uverbs device", rdma->name);
		return;
	}
	result = sysfs_read(look->sysfs, SYSFS_WAIT, path, name, sizeof(name));
	if (result == -ENOENT || result == -ENODEV)
		note(look, FOUND_FILES, "/dev/%s of %s is gone", node->name, rdma->name);
	else if (result < 0)
		note(look, FOUND_UNREADABLE, "%s: 'ibdev' cannot be read: %s", node->name,
		     strerror(-result));
	else if (rdma_dir(node->sysfs_dir, name, path))
		look_at_ports(look, rdma, path, name);
}

static void look_at_device(struct look *look, const struct rdmadp_device *device)
{
	for (uint32_t i = 0; i < device->n_rdma_devices && look->finding != FOUND_ACTIVE; i++)
		if (!(device->rdma_devices[i]->flags & RDMADP_RDMA_MANAGEMENT_ONLY))
			look_at_rdma(look, device, device->rdma_devices[i]);
}

struct uplink {
	struct look *look;
	const char *rdma; /* the RDMA device whose ports are listed */
	char dir[SYSFS_PATH];
};

static int visit_uplink_port(void *data, const char *name)
{
	struct uplink *uplink = data;
	uint32_t port;

	if (text_unsigned(name, 10, &port) && port > 0)
		look_at_port(uplink->look, uplink->dir, uplink->rdma, port);
	return uplink->look->finding == FOUND_ACTIVE;
}

static int visit_uplink(void *data, const char *name)
{
	struct uplink *above = data;
	struct uplink uplink = {.look = above->look, .rdma = name};
	char path[SYSFS_PATH];

	if (!sysfs_join(uplink.dir, above->dir, name) || !sysfs_join(path, uplink.dir, "ports"))
		return 0;
	if (rdma_is_raw(above->look->sysfs, uplink.dir))
		look_at_port(above->look, uplink.dir, name, 1);
	else
		sysfs_list(above->look->sysfs, path, visit_uplink_port, &uplink);
	return above->look->finding == FOUND_ACTIVE;
}

static void look_at_uplink(struct look *look, const char *uplink_dir)
{
	struct uplink uplink = {.look = look};

	if (sysfs_join(uplink.dir, uplink_dir, "infiniband"))
		sysfs_list(look->sysfs, uplink.dir, visit_uplink, &uplink);
}

/* Its first own interface that is administratively down, or NULL. */
static const char *down_interface(const struct sysfs *sysfs, const struct rdmadp_device *device)
{
	char path[SYSFS_PATH];

	for (uint32_t i = 0; i < device->n_netdevs; i++) {
		const char *name = device->netdevs[i]->name;

		if (device->netdevs[i]->flags == 0 &&
		    snprintf(path, sizeof(path), "class/net/%s", name) < SYSFS_PATH &&
		    netdev_is_down(sysfs, path))
			return name;
	}
	return NULL;
}

static void judge_down(const struct sysfs *sysfs, const struct rdmadp_device *device,
		       const struct look *look, struct rdmadp_health *ret)
{
	const char *interface = down_interface(sysfs, device);

	if (interface)
		health_set(ret, RDMADP_UNHEALTHY, RDMADP_REASON_LINK,
			   "%s: interface '%s' is administratively down; 'ip link set %s "
			   "up' changes that",
			   look->text, interface, interface);
	else
		health_set(ret, RDMADP_UNHEALTHY, RDMADP_REASON_LINK, "%s", look->text);
}

static void judge_own(const struct rdmadp_device *device, const struct look *look,
		      struct rdmadp_health *ret)
{
	switch (look->finding) {
	case FOUND_ACTIVE:
	case FOUND_ELSEWHERE:
		health_set(ret, RDMADP_HEALTHY, RDMADP_REASON_NONE, "%s", look->text);
		break;
	case FOUND_UNREADABLE:
		health_set(ret, RDMADP_HEALTH_UNKNOWN, RDMADP_REASON_LINK, "%s", look->text);
		break;
	case FOUND_DOWN:
		judge_down(look->sysfs, device, look, ret);
		break;
	case FOUND_FILES:
		health_set(ret, RDMADP_UNHEALTHY, RDMADP_REASON_FILES, "%s", look->text);
		break;
	default:
		health_set(ret, RDMADP_UNHEALTHY, RDMADP_REASON_FILES, "%s",
			   device->note ? device->note : "it has no RDMA device");
	}
}

/* TRUE if the uplink decides. */
static bool judge_by_uplink(const char *uplink_dir, const struct look *own,
			    const struct look *uplink, struct rdmadp_health *ret)
{
	const char *name = strrchr(uplink_dir, '/') + 1;

	if (uplink->finding == FOUND_ACTIVE && own->finding == FOUND_ACTIVE)
		health_set(ret, RDMADP_HEALTHY, RDMADP_REASON_NONE, "%s", own->text);
	else if (uplink->finding == FOUND_ACTIVE)
		health_set(ret, RDMADP_HEALTHY, RDMADP_REASON_NONE,
			   "%s, which counts as idle: the uplink '%s' has %s", own->text, name,
			   uplink->text);
	else if (uplink->finding == FOUND_DOWN)
		health_set(ret, RDMADP_UNHEALTHY, RDMADP_REASON_LINK, "uplink '%s': %s", name,
			   uplink->text);
	else if (uplink->finding == FOUND_UNREADABLE)
		health_set(ret, RDMADP_HEALTH_UNKNOWN, RDMADP_REASON_LINK, "uplink '%s': %s", name,
			   uplink->text);
	return uplink->finding >= FOUND_DOWN;
}

/* A port of a device that may be handed out. 'dir' is that of its RDMA device. */
typedef bool (*visit_port_fn)(void *data, const struct sysfs *sysfs, const char *dir,
			      const struct rdmadp_port *port);

/* FALSE if not all of them could be visited. */
static bool visit_ports(const struct sysfs *sysfs, const struct rdmadp_device *device,
			visit_port_fn visit_port, void *data)
{
	char dir[SYSFS_PATH];
	bool ok = true;

	for (uint32_t i = 0; i < device->n_rdma_devices && ok; i++) {
		const struct rdmadp_rdma_device *rdma = device->rdma_devices[i];
		const struct rdmadp_node *node = find_uverbs(device, rdma->name);

		if (rdma->flags & RDMADP_RDMA_MANAGEMENT_ONLY)
			continue;
		ok = node && rdma_dir(node->sysfs_dir, rdma->name, dir);
		for (uint32_t j = 0; j < rdma->n_ports && ok; j++)
			ok = visit_port(data, sysfs, dir, rdma->ports[j]);
	}
	return ok;
}

static bool read_port(const struct sysfs *sysfs, const char *dir, const struct rdmadp_port *port,
		      const char *name, char text[SYSFS_TEXT])
{
	char path[SYSFS_PATH];

	return snprintf(path, sizeof(path), "%s/ports/%u/%s", dir, port->number, name) <
		       SYSFS_PATH &&
	       sysfs_read(sysfs, SYSFS_WAIT, path, text, SYSFS_TEXT) == 0;
}

static bool add_downs(void *data, const struct sysfs *sysfs, const char *dir,
		      const struct rdmadp_port *port)
{
	uint64_t *sum = data;
	char text[SYSFS_TEXT];
	uint32_t downs;

	if (!read_port(sysfs, dir, port, "counters/link_downed", text) ||
	    !text_unsigned(text, 10, &downs))
		return false;
	*sum += downs;
	return true;
}

/* All of them or 0: a sum without one of its parts would look like a restart. */
static uint64_t sum_downs(const struct sysfs *sysfs, const struct rdmadp_device *device)
{
	uint64_t sum = 0;

	return visit_ports(sysfs, device, add_downs, &sum) ? sum : 0;
}

/* As the scan saw them: nothing is read. */
static bool layers_differ(const struct rdmadp_device *device)
{
	uint32_t mask = 0;

	for (uint32_t i = 0; i < device->n_rdma_devices; i++) {
		const struct rdmadp_rdma_device *rdma = device->rdma_devices[i];

		for (uint32_t j = 0; j < rdma->n_ports; j++)
			if (!(rdma->flags & RDMADP_RDMA_MANAGEMENT_ONLY))
				mask |= 1U << rdma->ports[j]->link_layer;
	}
	/* A port of an unknown one may be what is wanted. */
	return mask == (1U << RDMADP_LINK_INFINIBAND | 1U << RDMADP_LINK_ETHERNET);
}

static bool add_layer(void *data, const struct sysfs *sysfs, const char *dir,
		      const struct rdmadp_port *port)
{
	uint32_t *active = data;
	char text[SYSFS_TEXT];

	if (!read_port(sysfs, dir, port, "state", text))
		return false;
	*active |= is_active(text) ? 1U << port->link_layer : 0;
	return true;
}

/* Most devices have ports of one layer, which need not be read once more. */
static uint32_t find_active(const struct sysfs *sysfs, const struct rdmadp_device *device)
{
	uint32_t active = 0;

	return layers_differ(device) && visit_ports(sysfs, device, add_layer, &active) ? active : 0;
}

static void judge(const struct sysfs *sysfs, const struct rdmadp_device *device,
		  const char *uplink_dir, struct look *own, struct rdmadp_health *ret)
{
	struct look uplink = {.sysfs = sysfs};

	look_at_device(own, device);
	if (!uplink_dir || own->finding <= FOUND_FILES) {
		judge_own(device, own, ret);
		return;
	}
	look_at_uplink(&uplink, uplink_dir);
	if (judge_by_uplink(uplink_dir, own, &uplink, ret))
		return;
	judge_own(device, own, ret);
	if (own->finding == FOUND_DOWN && down_interface(sysfs, device))
		health_set(ret, RDMADP_HEALTHY, RDMADP_REASON_NONE,
			   "%s because its interface is not in use", own->text);
}

void health_judge(const struct sysfs *sysfs, const struct rdmadp_device *device,
		  const char *uplink_dir, struct rdmadp_health *ret)
{
	struct look own = {.sysfs = sysfs};

	judge(sysfs, device, uplink_dir, &own, ret);
	/* The firmware is asked for a counter, so the news of a lost link do not wait for it:
	 * it is read when the link is there again. */
	if (own.finding == FOUND_ACTIVE) {
		ret->active = find_active(sysfs, device);
		if (ret->size >= sizeof(*ret))
			ret->link_downs = sum_downs(sysfs, device);
	}
}
