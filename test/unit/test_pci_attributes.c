/* SPDX-License-Identifier: Apache-2.0 */
/* Every attribute of an adapter in turn cannot be read, in each of the ways that the
 * field knows: whatever that does to its device, the others stay as they were. */
#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "edge/module.h"
#include "support/dump.h"
#include "support/machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define BIG 1048576

static const struct rdmadp_backend *pci;

/* --- what the kernel may answer --- */

/* Set while no scan runs. NULL: all reads are as they are. */
static const char *failing;
static int failing_errno;

/* In the place of the library's, for the backend, too. The library's names are reserved. */
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
__attribute__((visibility("default"))) ssize_t read(int fd, void *buffer, size_t size)
{
	if (failing) {
		g_autofree char *link = g_strdup_printf("/proc/self/fd/%d", fd);
		char path[PATH_MAX] = "";
		if (readlink(link, path, sizeof(path) - 1) > 0 && strcmp(path, failing) == 0) {
			errno = failing_errno;
			return -1;
		}
	}
	return syscall(SYS_read, fd, buffer, size);
}

static void fail_reads(const char *path, int error)
{
	failing = path;
	failing_errno = error;
}

static const int errors[] = {EIO, EINVAL, ENODEV, EOPNOTSUPP, ETIMEDOUT, EPERM};

/* --- what an attribute may be instead --- */

static void become_missing(const char *path)
{
	(void)path;
}

static void become_empty(const char *path)
{
	assert_true(g_file_set_contents(path, "", 0, NULL));
}

static void become_binary(const char *path)
{
	assert_true(g_file_set_contents(path, "\x01\xff\x00\x80\n", 5, NULL));
}

static void become_big(const char *path)
{
	static char text[BIG];
	memset(text, 'a', BIG);
	assert_true(g_file_set_contents(path, text, BIG, NULL));
}

static void become_fifo(const char *path)
{
	assert_int_equal(mkfifo(path, 0600), 0);
}

static void become_directory(const char *path)
{
	assert_int_equal(g_mkdir(path, 0700), 0);
}

/* It leads out of the tree; who follows it gets EIO. */
static void become_link(const char *path)
{
	assert_int_equal(symlink("/proc/self/mem", path), 0);
}

static void become_loop(const char *path)
{
	assert_int_equal(symlink("loop", path), 0);
}

static void (*const becomes[])(const char *path) = {
	become_missing, become_empty,	  become_binary, become_big,
	become_fifo,	become_directory, become_link,	 become_loop,
};

/* --- the adapter's attributes --- */

static void collect(const char *dir, GPtrArray *files)
{
	g_autoptr(GDir) open = g_dir_open(dir, 0, NULL);
	assert_non_null(open);
	for (const char *name; (name = g_dir_read_name(open));) {
		char *path = g_build_filename(dir, name, NULL);
		if (!g_file_test(path, G_FILE_TEST_IS_SYMLINK) &&
		    g_file_test(path, G_FILE_TEST_IS_DIR)) {
			collect(path, files);
			g_free(path);
		} else {
			g_ptr_array_add(files, path);
		}
	}
}

static char *others(struct machine *machine, const char *id)
{
	GString *text = g_string_new(NULL);
	machine_scan(machine);
	for (guint i = 0; i < machine->devices->len; i++) {
		const struct rdmadp_device *device = device_abi(machine->devices->pdata[i]);
		if (strcmp(device->id, id) != 0)
			dump_device(text, device);
	}
	return g_string_free(text, FALSE);
}

static void expect_others(struct machine *machine, const char *path, const char *id,
			  const char *expected, const char *way)
{
	g_autofree char *text = others(machine, id);
	if (strcmp(text, expected) != 0)
		fail_msg("%s, %s:\n%s", path, way, text);
}

static void spoil_reads(struct machine *machine, const char *path, const char *id,
			const char *expected)
{
	for (gsize i = 0; i < G_N_ELEMENTS(errors); i++) {
		fail_reads(path, errors[i]);
		expect_others(machine, path, id, expected, g_strerror(errors[i]));
		g_free(machine_health(machine, id));
	}
	fail_reads(NULL, 0);
}

static void spoil(struct machine *machine, const char *path, const char *id, const char *expected)
{
	g_autofree char *away = g_strconcat(machine->root, "/away", NULL);
	assert_int_equal(g_rename(path, away), 0);
	for (gsize i = 0; i < G_N_ELEMENTS(becomes); i++) {
		becomes[i](path);
		g_autofree char *way = g_strdup_printf("way %zu", i);
		expect_others(machine, path, id, expected, way);
		(void)g_remove(path);
	}
	assert_int_equal(g_rename(away, path), 0);
}

static void spoil_both_ways(struct machine *machine, const char *path, const char *id,
			    const char *expected)
{
	spoil(machine, path, id, expected);
	spoil_reads(machine, path, id, expected);
}

static void an_attribute_concerns_its_device_only(void **state)
{
	static const char *const machines[][2] = {
		{"f01-roce-no-issm", "0000:3b:00.0"},
		{"f04-issm-subset", "0000:17:00.0"},
	};
	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(machines); i++) {
		struct machine *machine = machine_scanned(pci, machines[i][0]);
		g_autofree char *link = g_strdup_printf("%s/bus/pci/devices/%s",
							machine->sysfs_root, machines[i][1]);
		g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(g_free);
		g_autofree char *expected = others(machine, machines[i][1]);
		collect(link, files);
		assert_true(files->len > 20);
		for (guint j = 0; j < files->len; j++)
			spoil_both_ways(machine, files->pdata[j], machines[i][1], expected);
		machine_free(machine);
	}
}

/* Which attribute it was, and what the kernel has said. */
static void it_is_told_which_attribute_cannot_be_read(void **state)
{
	static const struct {
		const char *path;
		int error;
		const char *log, *health;
	} cases[] = {
		{"vendor", EIO,
		 "warning: '0000:3b:00.0': attribute 'vendor' cannot be read (Input/output error): "
		 "left out\n",
		 NULL},
		{"subsystem_device", EINVAL,
		 "warning: '0000:3b:00.0': attribute 'subsystem_device' cannot be read (Invalid "
		 "argument): left out\n",
		 NULL},
		{"class", ENODEV, "", NULL},
		{"class", EIO,
		 "warning: '0000:3b:00.0': attribute 'class' cannot be read (Input/output error): "
		 "skipped\n",
		 NULL},
		{"infiniband/mlx5_0/ports/1/state", EIO, "",
		 "unknown mlx5_0 port 1: 'state' cannot be read: Input/output error"},
		{"infiniband/mlx5_0/ports/1/state", EINVAL, "",
		 "unknown mlx5_0 port 1: 'state' cannot be read: Invalid argument"},
	};
	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct machine *machine = machine_scanned(pci, "f01-roce-no-issm");
		g_autofree char *link = g_strdup_printf("%s/bus/pci/devices/0000:3b:00.0/%s",
							machine->sysfs_root, cases[i].path);
		g_autofree char *path = realpath(link, NULL);
		g_free(machine_take_log(machine));
		fail_reads(path, cases[i].error);
		machine_scan(machine);
		g_autofree char *log = machine_take_log(machine);
		assert_string_equal(log, cases[i].log);
		if (cases[i].health)
			ASSERT_HEALTH(machine, "0000:3b:00.0", cases[i].health);
		fail_reads(NULL, 0);
		machine_free(machine);
	}
}

static int load(void **state)
{
	g_autoptr(GError) error = NULL;
	(void)state;
	pci = module_load(BINARY_DIR "/lib/rdmadp/backends", "pci", &error);
	if (!pci)
		print_error("%s\n", error->message);
	return pci ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_attribute_concerns_its_device_only),
		cmocka_unit_test(it_is_told_which_attribute_cannot_be_read),
	};
	return cmocka_run_group_tests(tests, load, NULL);
}
