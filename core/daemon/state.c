/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/state.h"

#include <string.h>

#include "edge/inbox.h"
#include "edge/log.h"
#include "edge/state_file.h"
#include "edge/thread.h"
#include "model/fingerprint.h"

#define AREA "state"
/* Between two writes. */
#define PAUSE_MS 1000

struct state {
	char *dir;
	char *boot_id; /* NULL: there is no state */
	SavedState *before; /* of the former process; what was taken is out of it */
	void (*collect)(SavedState *saved, gpointer data);
	gpointer data;
	Inbox *inbox;
	char *written; /* what the file has, as far as is known; or NULL */
	char *last; /* what is to be written at the end, or NULL */
	char *trouble; /* what was last said about a write that failed */
	guint timer;
	gboolean writing; /* a thread is at it */
	gboolean stopped;
};

/* One file being written. */
struct writing {
	Inbox *inbox;
	char *dir;
	char *text;
	GError *error;
};

static void writing_free(gpointer data)
{
	struct writing *writing = data;

	inbox_unref(writing->inbox);
	g_clear_error(&writing->error);
	g_free(writing->dir);
	g_free(writing->text);
	g_free(writing);
}

static void *writing_run(void *data)
{
	struct writing *writing = data;
	Inbox *inbox = inbox_ref(writing->inbox);

	state_file_write(writing->dir, writing->text, &writing->error);
	inbox_post(inbox, writing);
	inbox_unref(inbox);
	return NULL;
}

static void state_say_trouble(State *state, const GError *error)
{
	const char *text = error != NULL ? error->message : NULL;

	if (g_strcmp0(text, state->trouble) == 0)
		return;
	if (text != NULL)
		log_warning(AREA,
			    "'%s/" STATE_FILE_NAME "': %s; after a restart of the daemon devices "
			    "that are in use by pods may not be recognised",
			    state->dir, text);
	else
		log_info(AREA, "'%s/" STATE_FILE_NAME "' can be written again", state->dir);
	g_free(state->trouble);
	state->trouble = g_strdup(text);
}

static void state_on_written(gpointer item, gpointer data)
{
	struct writing *writing = item;
	State *state = data;

	state->writing = FALSE;
	state_say_trouble(state, writing->error);
	g_free(state->written);
	state->written = writing->error == NULL ? g_steal_pointer(&writing->text) : NULL;
	writing_free(writing);
}

static char *state_collect(const State *state)
{
	g_autoptr(SavedState) saved = saved_state_new();

	state->collect(saved, state->data);
	return state_file_text(saved, state->boot_id);
}

/* Begins to write the text, unless the file has it already. */
static void state_write(State *state, const char *text)
{
	struct writing *writing;

	if (g_strcmp0(text, state->written) == 0)
		return;
	writing = g_new0(struct writing, 1);
	writing->inbox = inbox_ref(state->inbox);
	writing->dir = g_strdup(state->dir);
	writing->text = g_strdup(text);
	state->writing = thread_start_detached(writing_run, writing) == 0;
	if (!state->writing)
		writing_free(writing); /* the next change tries again */
}

static gboolean state_on_timer(gpointer data)
{
	State *state = data;
	g_autofree char *text = NULL;

	/* A disk that takes longer than the pause is waited for. */
	if (state->writing)
		return G_SOURCE_CONTINUE;
	state->timer = 0;
	text = state_collect(state);
	state_write(state, text);
	return G_SOURCE_REMOVE;
}

void state_touch(State *state)
{
	if (state->boot_id != NULL && !state->stopped && state->timer == 0)
		state->timer = g_timeout_add(PAUSE_MS, state_on_timer, state);
}

/* FALSE, and said: there is no state. */
static gboolean state_open(State *state, const char *boot_id_file)
{
	g_autoptr(GError) error = NULL;

	if (!state_file_make_dir(state->dir, &error)) {
		log_warning(AREA,
			    "state_dir '%s': %s; running without: after a restart of the daemon "
			    "devices that are in use by pods may not be recognised",
			    state->dir, error->message);
		return FALSE;
	}
	state->boot_id = state_file_boot_id(boot_id_file, &error);
	if (state->boot_id == NULL)
		log_warning(AREA, "%s; running without saved state", error->message);
	return state->boot_id != NULL;
}

static void state_read(State *state)
{
	g_autoptr(GError) error = NULL;
	SavedState *before = state_file_read(state->dir, state->boot_id, &error);
	enum log_level level = LOG_LEVEL_INFO;

	if (before != NULL) {
		saved_state_free(state->before);
		state->before = before;
		return;
	}
	if (g_error_matches(error, STATE_FILE_ERROR, STATE_FILE_ERROR_MISSING))
		return;
	if (!g_error_matches(error, STATE_FILE_ERROR, STATE_FILE_ERROR_STALE))
		level = LOG_LEVEL_WARNING;
	log_message(level, AREA, "'%s/" STATE_FILE_NAME "' is not used: %s", state->dir,
		    error->message);
}

State *state_new(const char *dir, const char *boot_id_file,
		 void (*collect)(SavedState *saved, gpointer data), gpointer data)
{
	State *state = g_new0(State, 1);

	state->dir = g_strdup(dir);
	state->collect = collect;
	state->data = data;
	state->before = saved_state_new();
	state->inbox = inbox_new(state_on_written, state, writing_free);
	if (state_open(state, boot_id_file))
		state_read(state);
	return state;
}

static gboolean on_limit(gpointer data)
{
	*(gboolean *)data = TRUE;
	return G_SOURCE_CONTINUE;
}

static void state_wait(State *state, const gboolean *is_over)
{
	while (state->writing && !*is_over)
		g_main_context_iteration(NULL, TRUE);
}

void state_stop(State *state)
{
	state->stopped = TRUE;
	if (state->timer == 0)
		return;
	g_source_remove(state->timer);
	state->timer = 0;
	state->last = state_collect(state);
}

void state_free(State *state, guint wait_ms)
{
	gboolean is_over = FALSE;
	guint limit = g_timeout_add(wait_ms, on_limit, &is_over);

	state_stop(state);
	state_wait(state, &is_over);
	if (state->last != NULL && !state->writing) {
		state_write(state, state->last);
		state_wait(state, &is_over);
	}
	g_source_remove(limit);
	inbox_close(state->inbox);
	inbox_unref(state->inbox);
	saved_state_free(state->before);
	g_free(state->dir);
	g_free(state->boot_id);
	g_free(state->written);
	g_free(state->last);
	g_free(state->trouble);
	g_free(state);
}

GPtrArray *state_bus(const State *state, const char *name)
{
	const struct saved_bus *bus = saved_state_bus(state->before, name);

	return bus == NULL ? NULL : bus->devices;
}

struct saved_resource *state_take_resource(State *state, const ResourceConfig *config)
{
	struct saved_resource *saved = saved_state_take_resource(state->before, config->full_name);
	g_autofree char *fingerprint = selectors_fingerprint(config);

	if (saved == NULL || strcmp(saved->fingerprint, fingerprint) == 0)
		return saved;
	log_info(config->full_name, "its selectors have changed: devices are matched anew");
	g_ptr_array_set_size(saved->hcas, 0);
	return saved;
}

const SavedState *state_before(const State *state)
{
	return state->before;
}

SavedState *state_peek(const char *dir, const char *boot_id_file)
{
	g_autofree char *boot_id = state_file_boot_id(boot_id_file, NULL);

	return boot_id == NULL ? NULL : state_file_read(dir, boot_id, NULL);
}
