/* SPDX-License-Identifier: Apache-2.0 */
#include "support/fake_backend.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct fake_backend fake;

/* 0, or -EINTR. */
static int gate_wait(struct fake_gate *gate)
{
	char byte;
	ssize_t n;

	if (!atomic_load(&gate->closed))
		return 0;
	atomic_fetch_add(&gate->waiting, 1);
	do
		n = read(gate->fds[0], &byte, 1);
	while (n < 0 && errno == EINTR && atomic_load(&fake.stubborn));
	atomic_fetch_sub(&gate->waiting, 1);
	return n < 0 ? -EINTR : 0;
}

static int fake_init(const struct rdmadp_host *host, void **ret_instance)
{
	int result = atomic_load(&fake.init_result);

	atomic_fetch_add(&fake.inits, 1);
	if (result != 0)
		return result;
	atomic_fetch_add(&fake.started, 1);
	g_free(fake.sysfs_root);
	g_free(fake.dev_root);
	fake.sysfs_root = g_strdup(host->sysfs_root);
	fake.dev_root = g_strdup(host->dev_root);
	if (fake.on_init)
		fake.on_init(host);
	*ret_instance = &fake;
	return 0;
}

static void fake_fini(void *instance)
{
	(void)instance;
	atomic_fetch_add(&fake.finis, 1);
}

static int fake_discover(void *instance, rdmadp_emit_fn emit, void *sink)
{
	const struct rdmadp_device *const *devices = atomic_load(&fake.devices);
	int result;

	(void)instance;
	atomic_fetch_add(&fake.scans, 1);
	result = gate_wait(&fake.scan_gate);
	for (; result == 0 && devices && *devices; devices++) {
		result = emit(sink, *devices);
		atomic_store(&fake.last_emit, result);
		if (atomic_load(&fake.deaf))
			result = 0;
	}
	return result != 0 ? result : atomic_load(&fake.discover_result);
}

static int fake_health(void *instance, const struct rdmadp_device *device,
		       struct rdmadp_health *ret)
{
	int result = 0;

	(void)instance;
	atomic_fetch_add(&fake.reads, 1);
	if (g_str_has_prefix(device->id, "stuck"))
		result = gate_wait(&fake.health_gate);
	*ret = fake.answer;
	return result != 0 ? result : atomic_load(&fake.health_result);
}

static int fake_event_fd(void *instance)
{
	(void)instance;
	return fake.event_fd;
}

static int fake_event_ack(void *instance)
{
	eventfd_t count;

	(void)instance;
	atomic_fetch_add(&fake.acks, 1);
	if (!atomic_load(&fake.never_quiet))
		(void)eventfd_read(fake.event_fd, &count);
	return atomic_load(&fake.ack_result);
}

static void gate_setup(struct fake_gate *gate)
{
	if (pipe(gate->fds) < 0)
		g_error("pipe: %s", g_strerror(errno));
}

void fake_backend_reset(void)
{
	static const char *const keys[] = {"vendor", NULL};

	memset(&fake, 0, sizeof(fake));
	fake.vtable = (struct rdmadp_backend){.size = sizeof(fake.vtable),
					      .name = "fake",
					      .version = "1",
					      .keys = keys,
					      .init = fake_init,
					      .fini = fake_fini,
					      .discover = fake_discover,
					      .health = fake_health,
					      .event_fd = fake_event_fd,
					      .event_ack = fake_event_ack};
	fake.answer = (struct rdmadp_health){.size = sizeof(fake.answer), .state = RDMADP_HEALTHY};
	atomic_store(&fake.ack_result, 1);
	fake.event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	gate_setup(&fake.scan_gate);
	gate_setup(&fake.health_gate);
}

void fake_backend_clear(void)
{
	for (int i = 0; i < 2; i++) {
		close(fake.scan_gate.fds[i]);
		close(fake.health_gate.fds[i]);
	}
	close(fake.event_fd);
	g_clear_pointer(&fake.sysfs_root, g_free);
	g_clear_pointer(&fake.dev_root, g_free);
}

void fake_gate_close(struct fake_gate *gate)
{
	atomic_store(&gate->closed, true);
}

void fake_gate_pass(struct fake_gate *gate, guint calls)
{
	while (calls-- > 0)
		if (write(gate->fds[1], "", 1) < 0)
			g_error("write: %s", g_strerror(errno));
}

void fake_gate_open(struct fake_gate *gate)
{
	atomic_store(&gate->closed, false);
	/* who is in now, or on the way in, finds a byte */
	fake_gate_pass(gate, 1000);
}

void fake_backend_event(void)
{
	(void)eventfd_write(fake.event_fd, 1);
}
