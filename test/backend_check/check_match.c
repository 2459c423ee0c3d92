/* SPDX-License-Identifier: Apache-2.0 */
/* match: pure, quick, from any thread. Its arguments lie in memory that it cannot write. */
#include <errno.h>
#include <string.h>

#include "check.h"

enum { ROUNDS = 50 };

struct question {
	const struct rdmadp_device *device;
	const char *key, *value;
	gboolean own; /* the device has exactly this attribute */
	int answer; /* the first one */
};

struct questions {
	const struct rdmadp_backend *backend;
	Guard *guard;
	GArray *list; /* struct question */
};

static void add(struct questions *questions, const struct rdmadp_device *device, const char *key,
		const char *value, gboolean own)
{
	struct question question = {
		.device = device,
		.key = guard_text(questions->guard, key),
		.value = guard_text(questions->guard, value),
		.own = own,
	};

	g_array_append_val(questions->list, question);
}

/* What users write: what the device has, and what no device has. */
static void add_device(struct questions *questions, const struct rdmadp_device *device)
{
	static const char *const values[] = {"", "*", "15b3", "0X15B3", "no such value", "\xff"};

	for (guint32 i = 0; i < device->n_attributes; i++)
		add(questions, device, device->attributes[i]->key, device->attributes[i]->value,
		    TRUE);
	for (gsize v = 0; v < G_N_ELEMENTS(values); v++) {
		for (guint k = 0; questions->backend->keys[k]; k++)
			add(questions, device, questions->backend->keys[k], values[v], FALSE);
		add(questions, device, "no_such_key", values[v], FALSE);
	}
}

static int ask(const struct questions *questions, const struct question *question)
{
	return questions->backend->match(question->device, question->key, question->value);
}

static void ask_first(struct questions *questions)
{
	for (guint i = 0; i < questions->list->len; i++) {
		struct question *q = &g_array_index(questions->list, struct question, i);

		report_step("match of '%s' = '%s' on read-only memory", q->key, q->value);
		q->answer = ask(questions, q);
		if (q->answer != 0 && q->answer != 1 && q->answer != -EINVAL)
			report_fail("match of '%s' = '%s' returns %d; it has 1, 0 and -EINVAL",
				    q->key, q->value, q->answer);
		else if (q->own && q->answer != 1)
			report_fail("device '%s': its own attribute '%s' = '%s' does not match",
				    q->device->id, q->key, q->value);
	}
}

/* The first question that is answered in another way than before, or NULL. */
static gpointer ask_again(gpointer data)
{
	const struct questions *questions = data;

	for (int round = 0; round < ROUNDS; round++) {
		for (guint i = 0; i < questions->list->len; i++) {
			struct question *q = &g_array_index(questions->list, struct question, i);

			if (ask(questions, q) != q->answer)
				return q;
		}
	}
	return NULL;
}

static void ask_from_threads(struct questions *questions)
{
	GThread *threads[2];

	report_step("match from two threads at once");
	for (gsize i = 0; i < G_N_ELEMENTS(threads); i++)
		threads[i] = g_thread_new("match", ask_again, questions);
	for (gsize i = 0; i < G_N_ELEMENTS(threads); i++) {
		const struct question *q = g_thread_join(threads[i]);

		if (q)
			report_fail("match is not pure: '%s' = '%s' was answered with %d, then "
				    "otherwise",
				    q->key, q->value, q->answer);
	}
}

static void check_devices_match(struct subject *subject, GPtrArray *devices)
{
	struct questions questions = {subject->backend, guard_new(),
				      g_array_new(FALSE, FALSE, sizeof(struct question))};
	guint failures = report_failures();

	for (guint i = 0; i < devices->len; i++)
		add_device(&questions,
			   guard_device(questions.guard, device_abi(devices->pdata[i])));
	guard_make_readable(questions.guard);
	ask_first(&questions);
	ask_from_threads(&questions);
	report_ok_since(failures, "match is pure and each device matches its own attributes");
	g_array_unref(questions.list);
}

void check_match(const struct options *options)
{
	g_autoptr(GPtrArray) devices = NULL;
	struct subject subject;

	if (!subject_init(&subject, options, options->sysfs_root))
		return;
	devices = subject_scan(&subject, TRUE);
	if (devices && devices->len > 0 && subject.backend->match)
		check_devices_match(&subject, devices);
	subject_fini(&subject);
}
