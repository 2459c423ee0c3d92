/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A backend with two devices that keeps the contract, but for the one thing that the
 * environment variable WRONG names.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "rdmadp/backend.h"

struct wrong {
	char room[2048]; /* so that one that is left behind is noticed */
	const struct rdmadp_host *host;
	bool is_empty; /* its root has no bus */
	int event;
};

static const struct rdmadp_device *kept; /* by the wrong "stale" */
static int instances; /* for the wrong "shared" */
static unsigned int scans;
static unsigned int matches;

#ifdef WRONG_EXPORT
__attribute__((visibility("default"))) int wrong_helper(void);

int wrong_helper(void)
{
	return 0;
}
#endif

static bool is_wrong(const char *what)
{
	const char *wrong = getenv("WRONG");

	return wrong && strcmp(wrong, what) == 0;
}

/* By a signal that no sanitizer handles. */
static void crash_if(const char *what)
{
	if (is_wrong(what))
		kill(getpid(), SIGKILL);
}

static void hang_if(const char *what)
{
	while (is_wrong(what))
		pause();
}

/* --- life --- */

static void *sleep_for_ever(void *data)
{
	for (;;)
		pause();
	return data;
}

static void leave_behind(struct wrong *wrong)
{
	pthread_t thread;

	if (is_wrong("leak descriptor") && dup(wrong->event) < 0)
		abort();
	if (is_wrong("leak thread"))
		pthread_create(&thread, NULL, sleep_for_ever, NULL);
}

static int wrong_init(const struct rdmadp_host *host, void **ret_instance)
{
	struct wrong *wrong;

	crash_if("crash init");
	if (is_wrong("init fails"))
		return -EPERM;
	if (is_wrong("init fails and sets")) {
		*ret_instance = NULL;
		return -EPERM;
	}
	wrong = calloc(1, sizeof(*wrong));
	if (!wrong)
		return -ENOMEM;
	wrong->event = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
	wrong->host = host;
	wrong->is_empty = !strstr(host->sysfs_root, "full") && !is_wrong("never empty");
	instances++;
	*ret_instance = wrong;
	return 0;
}

static void wrong_fini(void *instance)
{
	struct wrong *wrong = instance;

	crash_if("crash fini");
	leave_behind(wrong);
	close(wrong->event);
	instances--;
	if (!is_wrong("leak memory"))
		free(wrong);
}

/* --- discovery --- */

/* More of the stack than a thread of the core has. */
static void use_stack(void)
{
	volatile char room[1536 << 10];

	for (size_t i = 0; i < sizeof(room); i += 1024)
		room[i] = 1;
}

static void talk(struct wrong *wrong)
{
	if (is_wrong("log repeats"))
		wrong->host->log(wrong->host, RDMADP_LOG_INFO, "here I am");
	if (is_wrong("log two lines"))
		wrong->host->log(wrong->host, RDMADP_LOG_INFO, "one\ntwo");
	if (is_wrong("log level"))
		wrong->host->log(wrong->host, 1, "loud");
	if (is_wrong("log host"))
		wrong->host->log(NULL, RDMADP_LOG_INFO, "whose?");
}

/* A device with all that it points to. */
struct parts {
	struct rdmadp_attribute vendor, colour;
	const struct rdmadp_attribute *attributes[2];
	struct rdmadp_port port;
	const struct rdmadp_port *ports[2];
	struct rdmadp_rdma_device rdma;
	const struct rdmadp_rdma_device *rdma_devices[1];
	struct rdmadp_node node;
	const struct rdmadp_node *nodes[1];
	struct rdmadp_device device;
};

static void build(struct parts *parts, bool second)
{
	*parts = (struct parts){
		.vendor = {sizeof(parts->vendor), 0, "vendor", "15b3"},
		.colour = {sizeof(parts->colour), 0, "colour", "blue"},
		.attributes = {&parts->vendor, &parts->colour},
		.port = {sizeof(parts->port), 1, RDMADP_LINK_ETHERNET, RDMADP_PORT_ACTIVE},
		.ports = {&parts->port, &parts->port},
		.rdma = {sizeof(parts->rdma), 0, second ? "wrong1" : "wrong0", NULL, 1, 0,
			 parts->ports},
		.rdma_devices = {&parts->rdma},
		.node = {.size = sizeof(parts->node),
			 .kind = RDMADP_NODE_UVERBS,
			 .name = second ? "infiniband/uverbs1" : "infiniband/uverbs0",
			 .rdma_device = second ? "wrong1" : "wrong0",
			 .dev_major = 231,
			 .dev_minor = second},
		.nodes = {&parts->node},
		.device = {.size = sizeof(parts->device),
			   .id = second ? "b" : "a",
			   .identity = second ? "B" : "A",
			   .numa_node = -1,
			   .attributes = parts->attributes,
			   .n_attributes = 1,
			   .rdma_devices = parts->rdma_devices,
			   .n_rdma_devices = 1,
			   .nodes = parts->nodes,
			   .n_nodes = 1},
	};
}

static void spoil_device(struct rdmadp_device *device)
{
	if (is_wrong("size"))
		device->size = 0;
	if (is_wrong("id"))
		device->id = "two words";
	if (is_wrong("same id"))
		device->id = "a";
	if (is_wrong("same identity"))
		device->identity = "A";
	if (is_wrong("parent"))
		device->parent_id = device->id;
	if (is_wrong("numa"))
		device->numa_node = -2;
	if (is_wrong("key"))
		device->n_attributes = 2;
	if (is_wrong("reserved"))
		device->reserved = 1;
}

static void spoil_port(struct parts *parts)
{
	if (is_wrong("hex id"))
		parts->vendor.value = "15B3";
	if (is_wrong("port 0"))
		parts->port.number = 0;
	if (is_wrong("port state"))
		parts->port.state = 99;
	if (is_wrong("port twice"))
		parts->rdma.n_ports = 2;
	if (is_wrong("rdma twice"))
		parts->rdma.name = parts->node.rdma_device = "wrong0";
}

static void spoil_node(struct rdmadp_node *node)
{
	if (is_wrong("node kind"))
		node->kind = 99;
	if (is_wrong("node path"))
		node->name = "/dev/wrong";
	if (is_wrong("node of another"))
		node->rdma_device = "mlx5_7";
	if (is_wrong("node port"))
		node->port = 1;
}

static int emit_one(rdmadp_emit_fn emit, void *sink, bool second)
{
	struct parts parts;

	build(&parts, second);
	spoil_device(&parts.device);
	spoil_port(&parts);
	spoil_node(&parts.node);
	return emit(sink, &parts.device);
}

static int wrong_discover(void *instance, rdmadp_emit_fn emit, void *sink)
{
	struct wrong *wrong = instance;
	int result = 0;

	crash_if("crash discover");
	hang_if("hang discover");
	if (is_wrong("stack"))
		use_stack();
	talk(wrong);
	if (is_wrong("discover fails"))
		return -EIO;
	if (wrong->is_empty || (is_wrong("shared") && instances > 1))
		return 0;
	if (is_wrong("changes") && ++scans % 2 == 0)
		return 0;
	for (int i = 0; i < 2 && result == 0; i++) {
		result = emit_one(emit, sink, i == 1);
		if (is_wrong("emit ignored"))
			result = 0;
	}
	return is_wrong("emit translated") && result != 0 ? -EIO : result;
}

/* --- match --- */

static int wrong_match(const struct rdmadp_device *device, const char *key, const char *value)
{
	crash_if("crash match");
	if (is_wrong("match odd"))
		return 7;
	if (is_wrong("match never"))
		return 0;
	if (is_wrong("match counts"))
		return (int)(__atomic_add_fetch(&matches, 1, __ATOMIC_RELAXED) / 64 % 2);
	if (is_wrong("match writes"))
		((struct rdmadp_device *)device)->numa_node = 1;
	for (uint32_t i = 0; i < device->n_attributes; i++)
		if (strcmp(device->attributes[i]->key, key) == 0 &&
		    strcmp(device->attributes[i]->value, value) == 0)
			return 1;
	return 0;
}

/* --- health --- */

static void spoil(struct rdmadp_health *ret)
{
	if (is_wrong("health size"))
		ret->size = 0;
	if (is_wrong("health state"))
		ret->state = 99;
	if (is_wrong("health reason"))
		ret->reason = 99;
	if (is_wrong("health no reason"))
		ret->state = RDMADP_UNHEALTHY;
	if (is_wrong("health with reason"))
		ret->reason = RDMADP_REASON_LINK;
	if (is_wrong("health text"))
		memset(ret->text, 'x', sizeof(ret->text));
	if (is_wrong("health lines"))
		memcpy(ret->text, "a\nb", 4);
	if (is_wrong("health writes on"))
		memset(ret + 1, 0, 16);
	if (is_wrong("health unknown"))
		ret->state = RDMADP_HEALTH_UNKNOWN;
}

static int wrong_health(void *instance, const struct rdmadp_device *device,
			struct rdmadp_health *ret)
{
	(void)instance;
	crash_if("crash health");
	hang_if("hang health");
	if (is_wrong("health fails"))
		return -EIO;
	if (is_wrong("stale") && kept && kept->n_nodes == 1)
		ret->text[0] = '\0';
	if (is_wrong("stale"))
		kept = device;
	if (strcmp(device->id, "a") != 0 && strcmp(device->id, "b") != 0 && !is_wrong("stranger")) {
		ret->state = RDMADP_UNHEALTHY;
		ret->reason = RDMADP_REASON_GONE;
		return 0;
	}
	ret->state = RDMADP_HEALTHY;
	spoil(ret);
	return 0;
}

/* --- events --- */

static int wrong_event_fd(void *instance)
{
	const struct wrong *wrong = instance;

	if (is_wrong("event closed"))
		return 999;
	if (is_wrong("no events"))
		return -ENOSYS;
	return wrong->event;
}

static int wrong_event_ack(void *instance)
{
	const struct wrong *wrong = instance;
	eventfd_t count;

	if (is_wrong("event odd"))
		return 42;
	if (!is_wrong("event loud"))
		eventfd_read(wrong->event, &count);
	return 1;
}

static const char *const keys[] = {"vendor", NULL};

const struct rdmadp_backend rdmadp_backend_v1 = {
	.size = sizeof(rdmadp_backend_v1),
	.name = WRONG_NAME,
	.version = "1",
	.keys = keys,
	.init = wrong_init,
	.fini = wrong_fini,
	.discover = wrong_discover,
	.match = wrong_match,
	.health = wrong_health,
	.event_fd = wrong_event_fd,
	.event_ack = wrong_event_ack,
};
