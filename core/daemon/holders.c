/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/holders.h"

/* So long nothing may have been allocated before a question, and so long a question
 * waits for that at most. */
#define QUIET_US ((gint64)1 * G_USEC_PER_SEC)
#define PATIENCE_US ((gint64)5 * G_USEC_PER_SEC)

struct question {
	pod_resources_done_fn done;
	gpointer data;
	gint64 from_us;
	gint64 since_us; /* when it could have been asked */
};

struct holders {
	PodResources *client;
	char *dir; /* of the kubelet's socket */
	gint64 settle_us;
	GArray *questions; /* struct question */
	Holdings *latest;
	gint64 allocated_us; /* of the last Allocate */
	gint64 asked_us; /* of the question that is under way; 0: none is */
	guint timer;
};

Holders *holders_new(Rpc *rpc, const char *socket_path)
{
	Holders *self = g_new0(Holders, 1);

	self->client = pod_resources_new(rpc, socket_path);
	self->dir = g_path_get_dirname(socket_path);
	self->questions = g_array_new(FALSE, FALSE, sizeof(struct question));
	self->allocated_us = g_get_monotonic_time() - QUIET_US;
	return self;
}

void holders_free(Holders *holders)
{
	if (holders == NULL)
		return;
	if (holders->timer != 0)
		g_source_remove(holders->timer);
	pod_resources_free(holders->client);
	g_array_unref(holders->questions);
	holdings_unref(holders->latest);
	g_free(holders->dir);
	g_free(holders);
}

static gint64 known_from(const Holders *self)
{
	return self->latest != NULL ? holdings_asked_us(self->latest) : -1;
}

/* When the question is worth to be looked at: at once if the answer is there. */
static gint64 due_of(const Holders *self, const struct question *question)
{
	gint64 quiet_us = MIN(self->allocated_us + QUIET_US, question->since_us + PATIENCE_US);

	return question->from_us <= known_from(self) ? 0 : MAX(question->from_us, quiet_us);
}

static gboolean on_timer(gpointer data);

static void schedule(Holders *self)
{
	gint64 due_us = G_MAXINT64;
	gint64 wait_us;

	g_clear_handle_id(&self->timer, g_source_remove);
	for (guint i = 0; i < self->questions->len; i++)
		due_us = MIN(due_us,
			     due_of(self, &g_array_index(self->questions, struct question, i)));
	if (self->asked_us != 0 || due_us == G_MAXINT64)
		return;
	wait_us = MAX(due_us - g_get_monotonic_time(), 0);
	self->timer = g_timeout_add((guint)((wait_us + 999) / 1000), on_timer, self);
}

/* The first that the answer is good for, taken out. */
static gboolean take_question(Holders *self, gint64 asked_us, struct question *ret_question)
{
	for (guint i = 0; i < self->questions->len; i++) {
		struct question question = g_array_index(self->questions, struct question, i);

		if (question.from_us > asked_us)
			continue;
		g_array_remove_index(self->questions, i);
		*ret_question = question;
		return TRUE;
	}
	return FALSE;
}

/* One by one, because a callback may take back a question of its own or ask again; no
 * more than there are now, so that asking again ends. */
static void answer(Holders *self, gint64 asked_us, Holdings *holdings, const GError *error)
{
	struct question question;

	for (guint left = self->questions->len; left > 0; left--) {
		if (!take_question(self, asked_us, &question))
			break;
		question.done(holdings, error, question.data);
	}
	schedule(self);
}

static void on_answer(Holdings *holdings, const GError *error, gpointer data)
{
	Holders *self = data;
	gint64 asked_us = self->asked_us;

	self->asked_us = 0;
	if (holdings != NULL) {
		holdings_unref(self->latest);
		self->latest = holdings_ref(holdings);
	}
	answer(self, asked_us, holdings, error);
}

static gboolean is_due(const Holders *self, gint64 now_us)
{
	for (guint i = 0; i < self->questions->len; i++)
		if (due_of(self, &g_array_index(self->questions, struct question, i)) <= now_us)
			return TRUE;
	return FALSE;
}

static void ask_kubelet(Holders *self)
{
	g_clear_handle_id(&self->timer, g_source_remove);
	self->asked_us = g_get_monotonic_time();
	pod_resources_ask(self->client, on_answer, self);
}

static gboolean on_timer(gpointer data)
{
	Holders *self = data;
	g_autoptr(Holdings) latest = self->latest != NULL ? holdings_ref(self->latest) : NULL;

	self->timer = 0;
	if (latest != NULL)
		answer(self, known_from(self), latest, NULL);
	if (is_due(self, g_get_monotonic_time()))
		ask_kubelet(self);
	else
		schedule(self);
	return G_SOURCE_REMOVE;
}

void holders_ask(Holders *holders, gint64 from_us, pod_resources_done_fn done, gpointer data)
{
	struct question question = {done, data, from_us, MAX(from_us, g_get_monotonic_time())};

	g_array_append_val(holders->questions, question);
	schedule(holders);
}

void holders_forget(Holders *holders, gconstpointer data)
{
	for (guint i = holders->questions->len; i > 0; i--)
		if (g_array_index(holders->questions, struct question, i - 1).data == data)
			g_array_remove_index(holders->questions, i - 1);
}

void holders_allocated(Holders *holders)
{
	holders->allocated_us = g_get_monotonic_time();
	schedule(holders);
}

void holders_set_settle_time(Holders *holders, double seconds)
{
	holders->settle_us = (gint64)(seconds * G_USEC_PER_SEC);
}

gboolean holders_knows_all(const Holders *holders, const Holdings *holdings)
{
	return holdings_age_us(holdings) >= holders->settle_us;
}

/* Where not even the directory is there, nobody has shown it to us. */
gboolean holders_is_away(const Holders *holders, const GError *error)
{
	if (g_error_matches(error, POD_RESOURCES_ERROR, POD_RESOURCES_ERROR_AWAY))
		return TRUE;
	return g_error_matches(error, POD_RESOURCES_ERROR, POD_RESOURCES_ERROR_ABSENT) &&
	       g_file_test(holders->dir, G_FILE_TEST_IS_DIR);
}
