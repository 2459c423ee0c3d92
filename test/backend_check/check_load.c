/* SPDX-License-Identifier: Apache-2.0 */
/* Before any device: the file, its loading, and a bus that is not there. */
#include <glib/gstdio.h>
#include <string.h>

#include "check.h"
#include "elf_file.h"

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
			report_fail("it exports '%s', too; link with a version script that makes "
				    "everything but rdmadp_backend_v1 local",
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

/* Neither root exists as more than an empty directory. */
void check_empty(const struct options *options)
{
	g_autofree char *root = g_dir_make_tmp("rdmadp-check-XXXXXX", NULL);
	g_autofree char *missing = g_build_filename(root, "dev", NULL);
	struct options empty = *options;
	g_autoptr(GPtrArray) devices = NULL;
	struct subject subject;

	g_assert(root);
	empty.dev_root = missing;
	if (subject_init(&subject, &empty, root)) {
		report_ok("init succeeds where its bus is not there");
		devices = subject_scan(&subject, FALSE);
		if (devices && devices->len == 0)
			report_ok("discover reports no device there");
		else if (devices)
			report_fail("discover reports %u devices in an empty directory",
				    devices->len);
		subject_fini(&subject);
	}
	if (g_rmdir(root) < 0)
		report_fail("it left something behind in '%s'", root);
}
