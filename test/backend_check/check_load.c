/* SPDX-License-Identifier: Apache-2.0 */
/* Before any device: the file, its loading, and a bus that is not there. */
#include <string.h>

#include "check.h"
#include "elf_file.h"
#include "model/text.h"

void check_file(const struct options *options)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) names = NULL;
	guint failures = report_failures();
	gboolean found = FALSE;

	report_step("reading the file");
	names = elf_file_exports(options->path, &error);
	if (!names) {
		report_fail("file '%s': %s", options->path, error->message);
		return;
	}
	for (guint i = 0; i < names->len; i++) {
		if (g_str_equal(names->pdata[i], "rdmadp_backend_v1"))
			found = TRUE;
		else
			report_fail(
				"it exports '%s', too; compile with -fvisibility=hidden, or link "
				"with a version script that makes everything but "
				"rdmadp_backend_v1 local",
				(char *)names->pdata[i]);
	}
	if (!found)
		report_fail("it does not export rdmadp_backend_v1");
	report_ok_since(failures, "it exports rdmadp_backend_v1 and nothing else");
}

/* module_load has all the rules; each of its errors names the one that is broken. */
void check_load(const struct options *options)
{
	g_autoptr(GError) error = NULL;
	const struct rdmadp_backend *backend = subject_load(options, &error);
	g_autofree char *keys = NULL;

	if (!backend) {
		report_fail("%s", error->message);
		return;
	}
	keys = g_strjoinv(" ", (char **)backend->keys);
	report_ok("rdmadp would load it: name '%s', version '%s', size %u", backend->name,
		  backend->version, backend->size);
	report_ok("it has all entries that are required; match: %s, events: %s",
		  backend->match ? "its own" : "equality", backend->event_fd ? "yes" : "no");
	report_ok("keys: %s", *keys ? keys : "none");
}

static gboolean is_empty(const char *path)
{
	g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);

	return dir && !g_dir_read_name(dir);
}

/* A root without a bus, and no device root at all. */
void check_empty(const struct options *options)
{
	g_autofree char *missing = g_build_filename(options->empty_root, "dev", NULL);
	g_autofree char *count = NULL;
	g_autoptr(GPtrArray) devices = NULL;
	struct options empty = *options;
	struct subject subject;

	empty.dev_root = missing;
	if (!subject_init(&subject, &empty, options->empty_root))
		return;
	report_ok("init succeeds where its bus is not there");
	devices = subject_scan(&subject, FALSE);
	count = text_count(devices ? devices->len : 0, "device");
	if (devices && devices->len == 0)
		report_ok("discover reports no device there");
	else if (devices)
		report_fail("discover reports %s in an empty directory", count);
	subject_fini(&subject);
	if (!is_empty(options->empty_root))
		report_fail("it wrote something to the sysfs root; a backend reads only");
}
