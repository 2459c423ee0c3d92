/* SPDX-License-Identifier: Apache-2.0 */
/* Instances side by side, their events, and what is left of them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "model/text.h"

/* --- two instances --- */

static gboolean sees(struct subject *subject, const char *expected)
{
	g_autoptr(GPtrArray) devices = subject_scan(subject, TRUE);
	g_autofree char *text = devices ? subject_text(devices) : NULL;

	return text && g_str_equal(text, expected);
}

/* 'text' is what 'full' saw while it was alone. */
static void check_pair(struct subject *full, struct subject *empty, const char *text)
{
	guint failures = report_failures();

	if (!sees(full, text))
		report_fail("an instance sees other devices while another one lives");
	if (!sees(empty, ""))
		report_fail("an instance for an empty root sees devices while another one lives");
	subject_fini(empty);
	if (!sees(full, text))
		report_fail("an instance sees other devices after another one has ended");
	report_ok_since(failures, "two instances at once do not disturb each other");
}

void check_instances(const struct options *options)
{
	g_autoptr(GPtrArray) devices = NULL;
	g_autofree char *text = NULL;
	struct subject full, empty;

	if (subject_init(&full, options, options->sysfs_root)) {
		devices = subject_scan(&full, TRUE);
		text = devices ? subject_text(devices) : NULL;
		if (text && subject_init(&empty, options, options->empty_root))
			check_pair(&full, &empty, text);
		subject_fini(&full);
	}
}

/* --- events --- */

static gboolean is_readable(int fd)
{
	struct pollfd event = {.fd = fd, .events = POLLIN};

	return poll(&event, 1, 0) == 1;
}

/* A busy bus may have another event at once; not a hundred times. */
static void check_ack(struct subject *subject, int fd)
{
	int answer = 0;

	for (int i = 0; i < 100 && (i == 0 || is_readable(fd)); i++) {
		report_step("event_ack");
		answer = subject->backend->event_ack(subject->instance);
	}
	if (answer != 0 && answer != 1)
		report_fail("event_ack returns %d; it has 1 and 0", answer);
	if (is_readable(fd))
		report_fail("the event descriptor is still readable after 100 times event_ack");
}

static void check_event_fd(struct subject *subject)
{
	guint failures = report_failures();
	int fd;

	report_step("event_fd");
	fd = subject->backend->event_fd(subject->instance);
	if (fd < 0) {
		report_note("there are no events here: event_fd returns %d (%s)", fd,
			    g_strerror(-fd));
		return;
	}
	if (fcntl(fd, F_GETFD) < 0)
		report_fail("event_fd returns %d, which is no open descriptor", fd);
	else
		check_ack(subject, fd);
	if (subject->backend->event_fd(subject->instance) != fd)
		report_fail("event_fd returns another descriptor the second time");
	report_ok_since(failures, "events can be polled and acknowledged");
}

/* The core asks for the descriptor before the first scan. */
void check_events(const struct options *options)
{
	struct subject subject;

	if (!subject_init(&subject, options, options->sysfs_root))
		return;
	if (subject.backend->event_fd)
		check_event_fd(&subject);
	subject_fini(&subject);
}

/* --- what is left --- */

/* Entries of a directory of /proc/self. */
static GHashTable *list_proc(const char *path)
{
	GHashTable *names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
	const char *name;

	while (dir && (name = g_dir_read_name(dir)))
		g_hash_table_add(names, g_strdup(name));
	return names;
}

static void tell_descriptors(GHashTable *before)
{
	g_autoptr(GHashTable) after = list_proc("/proc/self/fd");
	GHashTableIter iter;
	gpointer name;

	g_hash_table_iter_init(&iter, after);
	while (g_hash_table_iter_next(&iter, &name, NULL)) {
		g_autofree char *path = g_build_filename("/proc/self/fd", name, NULL);
		g_autofree char *target = g_file_read_link(path, NULL);

		if (target && !g_hash_table_contains(before, name))
			report_fail("after fini descriptor %s is still open: '%s'", (char *)name,
				    target);
	}
}

/* A thread that was joined is gone from /proc a moment later. */
static void tell_threads(guint before)
{
	g_autofree char *left = NULL;
	guint now = 0;

	for (int i = 0; i < 1000; i++) {
		g_autoptr(GHashTable) after = list_proc("/proc/self/task");

		now = g_hash_table_size(after);
		if (now <= before)
			return;
		g_usleep(1000);
	}
	left = text_count(now - before, "thread");
	report_fail("left after fini: %s", left);
}

static gboolean live_once(const struct options *options)
{
	struct rdmadp_health health = {.size = sizeof(health)};
	struct subject subject;
	GPtrArray *devices;

	if (!subject_init(&subject, options, options->sysfs_root))
		return FALSE;
	devices = subject_scan(&subject, TRUE);
	report_step("health of each device");
	for (guint i = 0; devices && i < devices->len; i++)
		subject.backend->health(subject.instance, device_abi(devices->pdata[i]), &health);
	if (devices)
		g_ptr_array_unref(devices);
	subject_fini(&subject);
	g_ptr_array_set_size(subject_log(), 0); /* what it logged is memory of ours */
	return TRUE;
}

/* Bytes a life that the allocator's caches and this program's own threads can leave:
 * small leaks are for a sanitizer or valgrind to find. */
enum { LIVES = 20, ROUNDS = 8, NOISE = 512 };

/* The least growth that any round of lives has. The allocator keeps freed memory in
 * caches that fill up now and then; what leaks does so in every round. */
static gsize find_growth(const struct options *options)
{
	gsize least = G_MAXSIZE;

	for (int round = 0; round < ROUNDS && least > 0; round++) {
		gsize before = mallinfo2().uordblks;
		gsize after;

		for (int i = 0; i < LIVES; i++)
			live_once(options);
		after = mallinfo2().uordblks;
		least = MIN(least, after > before ? after - before : 0);
	}
	return least;
}

static void check_memory(const struct options *options)
{
	gsize growth;

	if (mallinfo2().uordblks == 0) {
		report_note("memory: a sanitizer or valgrind looks for leaks at the end");
		return;
	}
	growth = find_growth(options);
	if (growth >= LIVES * (gsize)NOISE)
		report_fail("each life of an instance leaves about %zu bytes of memory behind",
			    growth / LIVES);
	else
		report_ok("no memory is left after fini");
}

void check_fini(const struct options *options)
{
	g_autoptr(GHashTable) descriptors = NULL;
	g_autoptr(GHashTable) threads = NULL;
	guint failures = report_failures();

	if (!subject_load(options, NULL))
		return;
	descriptors = list_proc("/proc/self/fd");
	threads = list_proc("/proc/self/task");
	if (!live_once(options))
		return;
	tell_descriptors(descriptors);
	tell_threads(g_hash_table_size(threads));
	report_ok_since(failures, "no descriptor and no thread is left after fini");
	check_memory(options);
}
