/* SPDX-License-Identifier: Apache-2.0 */
/* Our own backends keep the contract on every machine of test/fixtures/machines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <glib.h>
#include <string.h>

#include "support/fixture.h"

#define MACHINES SOURCE_DIR "/test/fixtures/machines"

static const char program[] = BINARY_DIR "/bin/rdmadp-backend-check";

/* A FIFO in place of a file hangs health, which the check would wait for. */
static gboolean hangs(const char *machine)
{
	g_autofree char *file = g_strdup_printf(MACHINES "/%s.txt", machine);
	g_autofree char *text = NULL;

	assert_true(g_file_get_contents(file, &text, NULL, NULL));
	return strstr(text, "\nfifo ") != NULL;
}

static void check_machine(const char *machine, const char *bus)
{
	g_autofree char *file = g_strdup_printf(MACHINES "/%s.txt", machine);
	g_autofree char *backend = g_strdup_printf(BINARY_DIR "/lib/rdmadp/backends/%s.so", bus);
	g_autofree char *root = fixture_new(file);
	g_autofree char *sysfs = g_build_filename(root, "sys", NULL);
	g_autofree char *dev = g_build_filename(root, "dev", NULL);
	const char *argv[] = {program, backend, "--sysfs", sysfs, "--dev", dev, NULL};
	g_autofree char *out = NULL;
	g_autoptr(GError) error = NULL;
	const char *failed;
	int status = 0;

	print_message("%s.so on %s\n", bus, machine);
	if (!g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, &out, NULL,
			  &status, &error))
		fail_msg("%s", error->message);
	failed = strstr(out, "FAIL");
	if (status != 0)
		fail_msg("%s", failed ? failed : out);
	fixture_remove(root);
}

/* A machine is run with each backend that has expected results for it: the files are
 * called MACHINE.BUS.expected. */
static void test_every_machine(void **state)
{
	g_autoptr(GDir) dir = g_dir_open(MACHINES, 0, NULL);
	const char *name;
	guint n = 0;

	(void)state;
	assert_non_null(dir);
	while ((name = g_dir_read_name(dir))) {
		g_auto(GStrv) parts = g_strsplit(name, ".", -1);

		if (g_strv_length(parts) != 3 || !g_str_equal(parts[2], "expected") ||
		    hangs(parts[0]))
			continue;
		check_machine(parts[0], parts[1]);
		n++;
	}
	assert_true(n > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
