/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A backend with one device, whose parts CMakeLists.txt replaces one at a time by
 * something wrong.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rdmadp/backend.h"

#define UNUSED __attribute__((unused))

#ifndef EVIL_TEXT_NAME
#define EVIL_TEXT_NAME EVIL_NAME
#endif
#ifndef EVIL_VERSION
#define EVIL_VERSION "1"
#endif
#ifndef EVIL_SIZE
#define EVIL_SIZE sizeof(struct rdmadp_backend)
#endif
#ifndef EVIL_KEYS
#define EVIL_KEYS keys
#endif
#ifndef EVIL_INIT
#define EVIL_INIT init
#endif
#ifndef EVIL_FINI
#define EVIL_FINI fini
#endif
#ifndef EVIL_DISCOVER
#define EVIL_DISCOVER discover
#endif
#ifndef EVIL_HEALTH
#define EVIL_HEALTH health
#endif
#ifndef EVIL_EVENT_FD
#define EVIL_EVENT_FD event_fd
#endif
#ifndef EVIL_EVENT_ACK
#define EVIL_EVENT_ACK event_ack
#endif

UNUSED static const char *const keys[] = {"vendor", "class_code", NULL};
UNUSED static const char *const key_with_space[] = {"vendor", "class code", NULL};
#define TEN(k) k, k, k, k, k, k, k, k, k, k
UNUSED static const char *const keys_without_end[] = {TEN(TEN("k")), TEN(TEN("k")), TEN(TEN("k"))};

/* Not abort(), nor a null pointer: a sanitizer must not get in between. */
static void crash(int signal_number)
{
	signal(signal_number, SIG_DFL);
	kill(getpid(), signal_number);
	pause();
}

UNUSED static int init(const struct rdmadp_host *host, void **ret_instance)
{
	*ret_instance = malloc(1);
	host->log(host, RDMADP_LOG_INFO, "started");
	return *ret_instance ? 0 : -ENOMEM;
}

UNUSED static int init_crash(const struct rdmadp_host *host, void **ret_instance)
{
	(void)host;
	(void)ret_instance;
	crash(SIGSEGV);
	return 0;
}

UNUSED static int init_fail(const struct rdmadp_host *host, void **ret_instance)
{
	(void)host;
	(void)ret_instance;
	return -ENODEV;
}

/* As the kernel does where memory is short: once below each sysfs_root. */
UNUSED static int init_killed_once(const struct rdmadp_host *host, void **ret_instance)
{
	char path[4096];

	(void)snprintf(path, sizeof(path), "%s/killed", host->sysfs_root);
	if (mkdir(path, 0700) == 0)
		raise(SIGKILL);
	return init(host, ret_instance);
}

UNUSED static void fini(void *instance)
{
	free(instance);
}

UNUSED static void fini_crash(void *instance)
{
	free(instance);
	crash(SIGBUS);
}

UNUSED static int discover(void *instance, rdmadp_emit_fn emit, void *sink)
{
	static const struct rdmadp_device device = {
		.size = sizeof(device), .id = "d0", .identity = "d0", .numa_node = -1};

	(void)instance;
	return emit(sink, &device);
}

UNUSED static int discover_crash(void *instance, rdmadp_emit_fn emit, void *sink)
{
	(void)discover(instance, emit, sink);
	crash(SIGSEGV);
	return 0;
}

UNUSED static int discover_abort(void *instance, rdmadp_emit_fn emit, void *sink)
{
	fputs("first line\nd0: assertion failed\n", stderr);
	return discover_crash(instance, emit, sink);
}

UNUSED static int discover_exit(void *instance, rdmadp_emit_fn emit, void *sink)
{
	(void)instance;
	(void)emit;
	(void)sink;
	fputs("the bus is not to my taste\n\n", stderr);
	_exit(7);
}

/* More than the 256 KiB of stack that the contract promises. */
UNUSED static int discover_greedy(void *instance, rdmadp_emit_fn emit, void *sink)
{
	volatile char large[4 * 1024 * 1024];

	for (unsigned int i = sizeof(large); i > 0; i -= 1024)
		large[i - 1] = 1;
	return discover(instance, emit, sink);
}

UNUSED static int discover_quit(void *instance, rdmadp_emit_fn emit, void *sink)
{
	(void)instance;
	(void)emit;
	(void)sink;
	exit(0);
}

UNUSED static int discover_hang(void *instance, rdmadp_emit_fn emit, void *sink)
{
	(void)instance;
	(void)emit;
	(void)sink;
	while (pause() < 0)
		continue;
	return 0;
}

/* What goes well in the rehearsal need not go well later. */
static int is_rehearsal(void)
{
	char command[4096] = "";
	FILE *file = fopen("/proc/self/cmdline", "r");
	size_t n = file ? fread(command, 1, sizeof(command), file) : 0;

	if (file)
		fclose(file);
	return memmem(command, n, "rehearse", sizeof("rehearse")) != NULL;
}

UNUSED static int discover_hang_later(void *instance, rdmadp_emit_fn emit, void *sink)
{
	return is_rehearsal() ? discover(instance, emit, sink)
			      : discover_hang(instance, emit, sink);
}

UNUSED static int discover_quit_later(void *instance, rdmadp_emit_fn emit, void *sink)
{
	return is_rehearsal() ? discover(instance, emit, sink)
			      : discover_quit(instance, emit, sink);
}

UNUSED static int discover_fail(void *instance, rdmadp_emit_fn emit, void *sink)
{
	(void)instance;
	(void)emit;
	(void)sink;
	return -EIO;
}

UNUSED static int discover_chatty(void *instance, rdmadp_emit_fn emit, void *sink)
{
	for (int i = 0; i < 100000; i++)
		fputs("more than a pipe holds, and on one line; ", i % 2 ? stderr : stdout);
	return discover_exit(instance, emit, sink);
}

UNUSED static int health(void *instance, const struct rdmadp_device *device,
			 struct rdmadp_health *ret)
{
	(void)instance;
	(void)device;
	ret->state = RDMADP_HEALTHY;
	return 0;
}

UNUSED static int event_fd(void *instance)
{
	(void)instance;
	return -ENOTSUP;
}

UNUSED static int event_ack(void *instance)
{
	(void)instance;
	return 0;
}

#ifdef EVIL_CRASH_LOAD
__attribute__((constructor)) static void crash_load(void)
{
	crash(SIGILL);
}
#endif

#ifdef EVIL_HANG_EXIT
__attribute__((destructor)) static void hang_exit(void)
{
	while (!is_rehearsal() && pause() < 0)
		continue;
}
#endif

#define VTABLE                                                                                     \
	{                                                                                          \
		.size = EVIL_SIZE, .name = EVIL_TEXT_NAME, .version = EVIL_VERSION,                \
		.keys = EVIL_KEYS, .init = EVIL_INIT, .fini = EVIL_FINI,                           \
		.discover = EVIL_DISCOVER, .health = EVIL_HEALTH, .event_fd = EVIL_EVENT_FD,       \
		.event_ack = EVIL_EVENT_ACK,                                                       \
	}

#if defined(EVIL_NO_SYMBOL)
extern const struct rdmadp_backend evil_hidden;
const struct rdmadp_backend evil_hidden = VTABLE;
#elif defined(EVIL_FUNCTION)
/* As if somebody took the symbol for a function that returns the struct. The name in
 * the object is set apart from the declaration in the header. */
extern const struct rdmadp_backend *evil_function(void) __asm__("rdmadp_backend_v1");
__attribute__((visibility("default"))) const struct rdmadp_backend *evil_function(void)
{
	static const struct rdmadp_backend vtable = VTABLE;

	return &vtable;
}
#elif defined(EVIL_LATER)
/* As a backend that was built with a later minor version, of the given size. */
struct later {
	struct rdmadp_backend known;
	void (*added)(void);
};
extern const struct later evil_later __asm__("rdmadp_backend_v1");
__attribute__((visibility("default")))
const struct later evil_later = {.known = {.size = EVIL_LATER,
					   .name = EVIL_NAME,
					   .version = "9",
					   .keys = keys,
					   .init = init,
					   .fini = fini,
					   .discover = discover,
					   .health = health}};
#else
const struct rdmadp_backend rdmadp_backend_v1 = VTABLE;
#endif

#ifdef EVIL_UNRESOLVED
extern int evil_nobody_has_this(void);
int evil_user(void);
int evil_user(void)
{
	return evil_nobody_has_this();
}
#endif
