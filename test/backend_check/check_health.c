/* SPDX-License-Identifier: Apache-2.0 */
/* health: answers for each device, from several threads, while scans go on. */
#include <string.h>

#include "check.h"
#include "model/text.h"

enum { ROUNDS = 20, THREADS = 4 };

/* What is wrong with the answer, or NULL. */
static const char *find_problem(const struct rdmadp_health *health)
{
	if (health->size != sizeof(*health))
		return "it changed 'size', which is the core's";
	if (health->state > RDMADP_UNHEALTHY)
		return "its state is not in enum rdmadp_health_state";
	if (health->reason > RDMADP_REASON_VENDOR)
		return "its reason is not in enum rdmadp_health_reason";
	if (health->state == RDMADP_UNHEALTHY && health->reason == RDMADP_REASON_NONE)
		return "UNHEALTHY needs a reason";
	if (health->state == RDMADP_HEALTHY && health->reason != RDMADP_REASON_NONE)
		return "HEALTHY has a reason";
	if (!memchr(health->text, '\0', sizeof(health->text)))
		return "its text does not end";
	if (!g_utf8_validate(health->text, -1, NULL) || strpbrk(health->text, "\n\r\t"))
		return "its text is not one line of UTF-8";
	return NULL;
}

static int ask(const struct subject *subject, const struct rdmadp_device *device,
	       struct rdmadp_health *health)
{
	memset(health, 0, sizeof(*health));
	health->size = sizeof(*health);
	return subject->backend->health(subject->instance, device, health);
}

/* TRUE if the health is known. */
static gboolean look(const struct subject *subject, const struct rdmadp_device *device,
		     struct rdmadp_health *health)
{
	int result = ask(subject, device, health);
	const char *problem = result == 0 ? find_problem(health) : NULL;

	if (result != 0)
		report_fail("device '%s': health returns %d (%s) instead of 0", device->id, result,
			    g_strerror(-result));
	else if (problem)
		report_fail("device '%s': health: %s", device->id, problem);
	return result == 0 && health->state != RDMADP_HEALTH_UNKNOWN;
}

/* The device is gone from memory after each call, and behind the answer there is none. */
static void check_each(struct subject *subject, GPtrArray *devices)
{
	struct rdmadp_health *health = guard_new_edge(sizeof(*health));
	g_autofree char *unknown = NULL;
	guint failures = report_failures();
	guint known = 0;

	for (guint i = 0; i < devices->len; i++) {
		const struct rdmadp_device *device = device_abi(devices->pdata[i]);
		Guard *guard = guard_new();
		const struct rdmadp_device *copy = guard_device(guard, device);

		report_step("health of '%s', which lies in read-only memory", device->id);
		guard_make_readable(guard);
		known += look(subject, copy, health);
		guard_make_void(guard);
	}
	unknown = text_count(devices->len - known, "device");
	if (known == 0)
		report_fail("health knows nothing of any of the devices: %s", unknown);
	else if (known < devices->len)
		report_note("health of %s is unknown now", unknown);
	report_ok_since(failures, "health answers for each device");
}

/* A device that nobody reported may be unhealthy or an error, but no crash and not fine. */
static void check_stranger(struct subject *subject)
{
	struct rdmadp_device stranger = {
		.size = sizeof(stranger),
		.id = "no-such-device",
		.identity = "no-such-device",
		.numa_node = -1,
	};
	struct rdmadp_health health;
	int result;

	report_step("health of a device that is not there");
	result = ask(subject, &stranger, &health);
	if (result == 0 && health.state == RDMADP_HEALTHY)
		report_fail("health finds a device healthy that is not there: asked for "
			    "'%s', which discover never reported, it is to answer UNHEALTHY "
			    "with RDMADP_REASON_GONE, or a negative errno",
			    stranger.id);
	else
		report_ok("health does not find a device healthy that is not there");
}

struct reader {
	const struct subject *subject;
	GPtrArray *devices;
	const char *problem;
};

static gpointer read_health(gpointer data)
{
	struct reader *reader = data;
	struct rdmadp_health health;

	for (guint i = 0; i < ROUNDS * reader->devices->len && !reader->problem; i++) {
		const Device *device = reader->devices->pdata[i % reader->devices->len];

		if (ask(reader->subject, device_abi(device), &health) == 0)
			reader->problem = find_problem(&health);
	}
	return NULL;
}

static void check_threads(struct subject *subject, GPtrArray *devices)
{
	struct reader readers[THREADS];
	GThread *threads[THREADS];
	guint failures = report_failures();

	report_step("health from %d threads while discover runs", THREADS);
	for (int i = 0; i < THREADS; i++) {
		readers[i] = (struct reader){subject, devices, NULL};
		threads[i] = g_thread_new("health", read_health, &readers[i]);
	}
	for (int i = 0; i < THREADS; i++)
		g_clear_pointer(&(GPtrArray *){subject_scan(subject, TRUE)}, g_ptr_array_unref);
	report_step("health from %d threads while discover runs", THREADS);
	for (int i = 0; i < THREADS; i++) {
		g_thread_join(threads[i]);
		if (readers[i].problem)
			report_fail("health from several threads: %s", readers[i].problem);
	}
	report_ok_since(failures, "health answers from several threads while discover runs");
}

void check_health(const struct options *options)
{
	g_autoptr(GPtrArray) devices = NULL;
	struct subject subject;

	if (!subject_init(&subject, options, options->sysfs_root))
		return;
	devices = subject_scan(&subject, TRUE);
	if (devices && devices->len > 0) {
		check_each(&subject, devices);
		check_threads(&subject, devices);
	}
	check_stranger(&subject);
	subject_fini(&subject);
}
