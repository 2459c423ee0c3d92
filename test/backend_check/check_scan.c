/* SPDX-License-Identifier: Apache-2.0 */
/* What discover does, whatever the devices are. */
#include <errno.h>
#include <string.h>

#include "check.h"
#include "model/text.h"

enum { SCANS = 4 };

/* A condition that stands is logged once: no message may come with every scan. */
static void check_log(GPtrArray *log, guint first)
{
	g_autoptr(GHashTable) counts = g_hash_table_new(g_str_hash, g_str_equal);

	for (guint i = first; i < log->len; i++) {
		guint count = GPOINTER_TO_UINT(g_hash_table_lookup(counts, log->pdata[i])) + 1;

		g_hash_table_insert(counts, log->pdata[i], GUINT_TO_POINTER(count));
		if (count == SCANS - 1) {
			report_fail("log: it repeats at every scan: %s", (char *)log->pdata[i]);
			return;
		}
	}
	report_ok("it logs nothing at every scan");
}

static gboolean compare_scan(struct subject *subject, const char *first)
{
	g_autoptr(GPtrArray) devices = subject_scan(subject, TRUE);
	g_autofree char *text = devices ? subject_text(devices) : NULL;

	if (text && !g_str_equal(text, first))
		report_fail("two scans of one bus differ; first:\n%s\nthen:\n%s", first, text);
	return text && g_str_equal(text, first);
}

static void note_nothing(const struct options *options, guint n_refused)
{
	if (n_refused > 0)
		report_note("what concerns devices is not checked: the core refuses all of them");
	else
		report_note("there is no device to look at in '%s': give --sysfs a directory that "
			    "has some",
			    options->sysfs_root);
}

void check_scan(const struct options *options)
{
	g_autoptr(GPtrArray) devices = NULL;
	g_autofree char *first = NULL;
	g_autofree char *count = NULL;
	struct subject subject;
	gboolean same = TRUE;
	guint logged;

	if (!subject_init(&subject, options, options->sysfs_root))
		return;
	devices = subject_scan(&subject, FALSE);
	if (devices) {
		count = text_count(devices->len, "device");
		report_ok("discover in '%s' reports %s", options->sysfs_root, count);
		if (devices->len == 0)
			note_nothing(options, subject.n_refused);
		first = subject_text(devices);
		logged = subject_log()->len;
		for (int i = 1; i < SCANS && same; i++)
			same = compare_scan(&subject, first);
		if (same)
			report_ok("each scan reports the same");
		check_log(subject_log(), logged);
	}
	subject_fini(&subject);
}

struct refusal {
	int answer;
	guint calls;
};

static int refuse(void *sink, const struct rdmadp_device *device)
{
	struct refusal *refusal = sink;

	refusal->calls += device->size > 0;
	return refusal->answer;
}

static void check_answer(struct subject *subject, int answer)
{
	struct refusal refusal = {.answer = answer};
	int result = subject_discover(subject, refuse, &refusal);

	if (refusal.calls != 1)
		report_fail("emit returned %d, but discover called it %u times", answer,
			    refusal.calls);
	else if (result != answer)
		report_fail("emit returned %d, but discover returned %d", answer, result);
}

void check_emit(const struct options *options)
{
	g_autoptr(GPtrArray) devices = NULL;
	g_autofree char *text = NULL;
	guint failures = report_failures();
	struct subject subject;

	if (!subject_init(&subject, options, options->sysfs_root))
		return;
	devices = subject_scan(&subject, TRUE);
	if (devices && devices->len > 0) {
		check_answer(&subject, -ECANCELED);
		check_answer(&subject, 1234);
		text = subject_text(devices);
		compare_scan(&subject, text);
		report_ok_since(failures, "discover ends with what emit returned, and works again");
	}
	subject_fini(&subject);
}
