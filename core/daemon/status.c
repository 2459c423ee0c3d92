/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/status.h"

#include <string.h>

#include "daemon/status_socket.h"

/* Changes of that time are told together. */
#define PACE_MS 50

struct status {
	struct status_source source;
	Holders *holders;
	StatusSocket *socket; /* NULL: none is wanted */
	char *path, *group; /* of the socket, as the settings had them */
	GHashTable *told; /* "resource rdma/hca" -> the last line about it */
	GPtrArray *questions; /* struct question *, without an answer so far */
	gboolean is_silent; /* what changes is noted and not told */
	guint timer;
};

/* About pods. */
struct question {
	Status *status;
	guint64 client;
};

static char *key_of(const char *kind, const char *name)
{
	return g_strconcat(kind, " ", name, NULL);
}

/* --- changes --- */

/* Takes the line over. */
static void note(Status *status, GHashTable *now, const char *kind, const char *name, char *line)
{
	char *key = key_of(kind, name);
	const char *before = g_hash_table_lookup(status->told, key);

	if (!status->is_silent && (before == NULL || strcmp(before, line) != 0))
		status_socket_send_all(status->socket, line);
	g_hash_table_insert(now, key, line);
}

static void tell_removed(Status *status, GHashTable *now)
{
	GHashTableIter iter;
	gpointer key;

	g_hash_table_iter_init(&iter, status->told);
	while (g_hash_table_iter_next(&iter, &key, NULL)) {
		g_auto(GStrv) words = g_strsplit(key, " ", 2);
		g_autofree char *line = status_removed_text(words[0], words[1]);

		if (!status->is_silent && !g_hash_table_contains(now, key))
			status_socket_send_all(status->socket, line);
	}
}

static void tell_changes(Status *status)
{
	const struct status_source *source = &status->source;
	const GPtrArray *buses = roster_buses(source->roster);
	const GPtrArray *pools = roster_pools(source->roster);
	GHashTable *now = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);

	note(status, now, "configuration", "", status_configuration_text(source));
	for (guint i = 0; i < buses->len; i++) {
		const Bus *bus = g_ptr_array_index(buses, i);

		note(status, now, "bus", bus_name(bus), status_bus_text(source, bus));
	}
	for (guint i = 0; i < pools->len; i++) {
		const Pool *pool = g_ptr_array_index(pools, i);

		note(status, now, "resource", pool_config(pool)->full_name,
		     status_resource_text(source, pool));
	}
	note(status, now, "ready", "", status_readiness_text(source));
	tell_removed(status, now);
	g_hash_table_unref(status->told);
	status->told = now;
}

static gboolean on_timer(gpointer data)
{
	Status *status = data;

	status->timer = 0;
	if (status_socket_clients(status->socket) > 0)
		tell_changes(status);
	return G_SOURCE_REMOVE;
}

void status_touch(Status *status)
{
	if (status == NULL || status->socket == NULL || status->timer != 0 ||
	    status_socket_clients(status->socket) == 0)
		return;
	status->timer = g_timeout_add(PACE_MS, on_timer, status);
}

/* --- clients --- */

/* Afterwards all have the same. */
static void on_connected(guint64 client, gpointer data)
{
	Status *status = data;
	g_autofree char *line = status_snapshot_text(&status->source, NULL);

	status_socket_send(status->socket, client, line);
	status->is_silent = status_socket_clients(status->socket) == 1;
	tell_changes(status);
	status->is_silent = FALSE;
}

static void on_holdings(Holdings *holdings, const GError *error, gpointer data)
{
	struct question *question = data;
	Status *status = question->status;
	const struct status_pods pods = {holdings, error == NULL ? NULL : error->message};
	g_autofree char *line = status_snapshot_text(&status->source, &pods);

	status_socket_send(status->socket, question->client, line);
	g_ptr_array_remove(status->questions, question);
}

static gboolean has_asked(const Status *status, guint64 client)
{
	for (guint i = 0; i < status->questions->len; i++) {
		const struct question *question = g_ptr_array_index(status->questions, i);

		if (question->client == client)
			return TRUE;
	}
	return FALSE;
}

/* Whoever asks again before the answer came gets one. */
static void on_asked(guint64 client, const char *line, gpointer data)
{
	Status *status = data;
	struct question *question;

	if (strcmp(line, "pods") != 0 || has_asked(status, client))
		return;
	question = g_new(struct question, 1);
	question->status = status;
	question->client = client;
	g_ptr_array_add(status->questions, question);
	holders_ask(status->holders, g_get_monotonic_time(), on_holdings, question);
}

static const struct status_socket_ops socket_ops = {on_connected, on_asked};

/* --- life --- */

static void open_socket(Status *status)
{
	const Settings *settings = configuration_settings(status->source.configuration);

	status->path = g_strdup(settings->status_socket);
	status->group = g_strdup(settings->status_group);
	if (status->path[0] != '\0')
		status->socket =
			status_socket_new(status->path, status->group, &socket_ops, status);
}

/* Nobody is left who could be told the answers. */
static void close_socket(Status *status)
{
	for (guint i = 0; i < status->questions->len; i++)
		holders_forget(status->holders, g_ptr_array_index(status->questions, i));
	g_ptr_array_set_size(status->questions, 0);
	g_clear_handle_id(&status->timer, g_source_remove);
	g_clear_pointer(&status->socket, status_socket_free);
	g_clear_pointer(&status->path, g_free);
	g_clear_pointer(&status->group, g_free);
}

void status_configured(Status *status)
{
	const Settings *settings;

	if (status == NULL)
		return;
	settings = configuration_settings(status->source.configuration);
	if (g_str_equal(settings->status_socket, status->path) &&
	    g_str_equal(settings->status_group, status->group))
		return;
	close_socket(status);
	open_socket(status);
}

Status *status_new(const Configuration *configuration, const Roster *roster, Holders *holders)
{
	gint64 now_us = g_get_real_time();
	Status *status = g_new0(Status, 1);

	status->source = (struct status_source){
		.configuration = configuration,
		.roster = roster,
		.started_us = now_us,
		.real_offset_us = now_us - g_get_monotonic_time(),
	};
	status->holders = holders;
	status->told = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	status->questions = g_ptr_array_new_with_free_func(g_free);
	open_socket(status);
	return status;
}

void status_free(Status *status)
{
	if (status == NULL)
		return;
	close_socket(status);
	g_ptr_array_unref(status->questions);
	g_hash_table_unref(status->told);
	g_free(status);
}
