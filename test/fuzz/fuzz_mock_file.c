/* SPDX-License-Identifier: Apache-2.0 */
/* The mock bus's file with any content: what it takes for a device can be looked at, and
 * the core takes or refuses it with words. */
#include <glib.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mock/mock_file.h"
#include "model/device.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int fd = -1;
static char path[64];

/* A file without a directory: reading it again and again costs no disk. */
static void open_file(void)
{
	fd = memfd_create("devices", MFD_CLOEXEC);
	g_assert_cmpint(fd, >=, 0);
	g_snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
}

static void write_file(const uint8_t *data, size_t size)
{
	if (fd < 0)
		open_file();
	g_assert_cmpint(ftruncate(fd, 0), ==, 0);
	g_assert_cmpint(pwrite(fd, data, size, 0), ==, (gssize)size);
}

static void log_check(const struct rdmadp_host *host, int level, const char *message)
{
	(void)host;
	g_assert_cmpint(level, ==, RDMADP_LOG_WARNING);
	g_assert_null(strchr(message, '\n'));
}

static void check_device(const struct mock_file *file, const struct mock_device *device)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(Device) copy = device_copy(&device->abi, &error);

	g_assert_true((copy == NULL) == (error != NULL));
	g_assert_nonnull(mock_file_find(file, device->abi.id));
	g_assert_nonnull(memchr(device->health.text, '\0', sizeof(device->health.text)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct rdmadp_host host = {.size = sizeof(host), .log = log_check};
	struct mock_file *file = NULL;

	write_file(data, size);
	g_assert_cmpint(mock_file_read(path, &host, &file), ==, 0);
	for (const struct mock_device *device = file->devices; device; device = device->next)
		if (!device->is_bad)
			check_device(file, device);
	mock_file_free(file);
	return 0;
}
