/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/sim_watcher.h"

#include <string.h>
#include <sys/stat.h>

#include "kubelet/sim_names.h"
#include "pluginregistration.pb-c.h"

#define METHOD_INFO "/pluginregistration.Registration/GetInfo"
#define METHOD_NOTIFY "/pluginregistration.Registration/NotifyRegistrationStatus"
#define INFO_MS 1000
#define NOTIFY_MS 5000
#define RETRY_FIRST_MS 500
#define RETRY_LAST_MS 122000
/* How often the directory is looked at: the kubelet hears of changes at once. */
#define LOOK_MS 20

struct sim_watcher {
	Sim *sim;
	GHashTable *sockets; /* path -> struct watched *, owned */
	guint timer;
};

/* One socket file. */
struct watched {
	Sim *sim;
	char *path;
	guint64 inode;
	gint64 changed; /* ctime: an inode number is used again soon */
	RpcChannel *channel;
	struct sim_client *client; /* an attempt to connect is under way */
	char *resource;
	guint retry, retry_ms;
	gboolean registered;
};

static void attempt(struct watched *watched);

/* --- one socket --- */

static void watched_free(gpointer data)
{
	struct watched *watched = data;
	struct sim_client *client = g_steal_pointer(&watched->client);
	g_clear_handle_id(&watched->retry, g_source_remove);
	rpc_channel_free(g_steal_pointer(&watched->channel));
	if (client)
		sim_client_give_up(client, "the socket is gone");
	g_free(watched->resource);
	g_free(watched->path);
	g_free(watched);
}

static gboolean on_retry(gpointer data)
{
	struct watched *watched = data;
	watched->retry = 0;
	attempt(watched);
	return G_SOURCE_REMOVE;
}

static void retry_later(struct watched *watched)
{
	double ms = watched->retry_ms / watched->sim->options.time_scale;
	rpc_channel_free(g_steal_pointer(&watched->channel));
	watched->retry = g_timeout_add((guint)MAX(1, ms), on_retry, watched);
	watched->retry_ms = MIN(RETRY_LAST_MS, watched->retry_ms * 2);
}

/* --- the outcome --- */

static void emit_outcome(const struct watched *watched, const char *event, const char *text)
{
	sim_emit(watched->sim->events, event,
		 json_pack("{s:o, s:o, s:o}", "socket", sim_json_text(watched->path), "resource",
			   sim_json_text(watched->resource), "message", sim_json_text(text)));
}

static GBytes *pack_status(gboolean registered, const char *error)
{
	Pluginregistration__RegistrationStatus status =
		PLUGINREGISTRATION__REGISTRATION_STATUS__INIT;
	status.plugin_registered = registered;
	status.error = (char *)error;
	gsize size = pluginregistration__registration_status__get_packed_size(&status);
	guint8 *data = g_malloc(size + 1);
	pluginregistration__registration_status__pack(&status, data);
	return g_bytes_new_take(data, size);
}

static void on_notified(enum rpc_status status, const char *message, GBytes *reply, gpointer data)
{
	struct watched *watched = data;
	(void)reply;
	if (status != RPC_OK) {
		g_autofree char *text = sim_error_text(status, message);
		emit_outcome(watched, "notify-failed", text);
		sim_verdict(watched->sim->events, FALSE, "notify-failed", watched->resource, text);
	}
	if (watched->registered)
		rpc_channel_free(g_steal_pointer(&watched->channel));
	else
		retry_later(watched);
}

static void notify(struct watched *watched, gboolean registered, const char *error)
{
	g_autoptr(GBytes) message = pack_status(registered, error);
	watched->registered = registered;
	rpc_channel_request(watched->channel, METHOD_NOTIFY, message, NOTIFY_MS, on_notified,
			    watched);
}

/* Takes the text over. */
static void refuse(struct watched *watched, char *text)
{
	g_autofree char *whole = text;
	emit_outcome(watched, "refused", whole);
	notify(watched, FALSE, whole);
}

static void on_connected(enum rpc_status status, const char *text, gpointer data)
{
	struct watched *watched = data;
	if (!watched->client)
		return; /* the socket is gone, nobody is to be told */
	watched->client = NULL;
	if (status == RPC_OK)
		notify(watched, TRUE, "");
	else if (status == RPC_UNKNOWN)
		refuse(watched, g_strdup_printf("RegisterPlugin error -- plugin registration "
						"failed with err: %s",
						text));
}

/* --- who it is --- */

static gboolean supports_version(const Pluginregistration__PluginInfo *info)
{
	for (gsize i = 0; i < info->n_supported_versions; i++) {
		if (strcmp(info->supported_versions[i], SIM_API_VERSION) == 0)
			return TRUE;
	}
	return FALSE;
}

/* Why the plugin is not taken, or NULL. */
static char *refusal(const struct watched *watched, const Pluginregistration__PluginInfo *info)
{
	if (strcmp(info->type, "DevicePlugin") != 0)
		return g_strdup_printf("RegisterPlugin error -- no handler registered for plugin "
				       "type: %s at socket %s",
				       info->type, watched->path);
	if (!supports_version(info))
		return g_strdup(
			"RegisterPlugin error -- plugin validation failed with err: manager "
			"version, " SIM_API_VERSION ", is not among plugin supported versions");
	g_autofree char *name = sim_name_refuse(SIM_API_VERSION, info->name);
	if (name)
		return g_strdup_printf("RegisterPlugin error -- plugin validation failed with err: "
				       "invalid name of device plugin socket: %s",
				       name);
	return NULL;
}

static void connect_to(struct watched *watched, const Pluginregistration__PluginInfo *info)
{
	const char *path = *info->endpoint ? info->endpoint : watched->path;
	struct sim_peer peer = {
		.resource = info->name, .endpoint = path, .path = path, .has_request = FALSE};
	sim_emit(watched->sim->events, "watched",
		 json_pack("{s:o, s:o}", "resource", sim_json_text(info->name), "endpoint",
			   sim_json_text(path)));
	watched->client = sim_client_connect(watched->sim, &peer, on_connected, watched);
}

static void on_info(enum rpc_status status, const char *message, GBytes *reply, gpointer data)
{
	struct watched *watched = data;
	Pluginregistration__PluginInfo *info =
		status == RPC_OK
			? pluginregistration__plugin_info__unpack(NULL, g_bytes_get_size(reply),
								  g_bytes_get_data(reply, NULL))
			: NULL;
	if (!info) {
		g_autofree char *text = sim_error_text(status, message);
		emit_outcome(watched, "refused", text);
		retry_later(watched);
		return;
	}
	g_free(watched->resource);
	watched->resource = g_strdup(info->name);
	char *text = refusal(watched, info);
	if (text)
		refuse(watched, text);
	else
		connect_to(watched, info);
	pluginregistration__plugin_info__free_unpacked(info, NULL);
}

static void attempt(struct watched *watched)
{
	g_autoptr(GBytes) empty = sim_pack_empty();
	/* This connection has a percent-encoded path as its :authority even today. */
	g_autofree char *authority = g_uri_escape_string(watched->path, NULL, FALSE);
	watched->channel = rpc_channel_new(watched->sim->rpc, watched->path, authority, 0);
	rpc_channel_request(watched->channel, METHOD_INFO, empty, INFO_MS, on_info, watched);
}

/* --- the directory --- */

static void deregister(Sim *sim, const struct watched *watched)
{
	gboolean by_path = sim->options.profile->client_key == SIM_KEY_SOCKET;
	if (watched->registered)
		sim_client_deregister(sim, by_path ? watched->path : watched->resource);
}

static void look_at(struct sim_watcher *watcher, const char *name, GHashTable *present)
{
	g_autofree char *path = g_build_filename(watcher->sim->options.registry_dir, name, NULL);
	struct stat info;
	if (*name == '.' || stat(path, &info) != 0 || !S_ISSOCK(info.st_mode))
		return;
	g_hash_table_add(present, g_strdup(path));
	gint64 changed = (gint64)info.st_ctim.tv_sec * 1000000000 + info.st_ctim.tv_nsec;
	struct watched *watched = g_hash_table_lookup(watcher->sockets, path);
	if (watched && watched->inode == info.st_ino && watched->changed == changed)
		return;
	if (watched)
		deregister(watcher->sim, watched);
	watched = g_new0(struct watched, 1);
	watched->sim = watcher->sim;
	watched->path = g_strdup(path);
	watched->inode = info.st_ino;
	watched->changed = changed;
	watched->retry_ms = RETRY_FIRST_MS;
	g_hash_table_replace(watcher->sockets, watched->path, watched);
	attempt(watched);
}

static gboolean is_gone(gpointer path, gpointer data, gpointer present)
{
	const struct watched *watched = data;
	if (g_hash_table_contains(present, path))
		return FALSE;
	deregister(watched->sim, watched);
	return TRUE;
}

static gboolean on_look(gpointer data)
{
	struct sim_watcher *watcher = data;
	g_autoptr(GHashTable) present = sim_set_new();
	g_autoptr(GDir) dir = g_dir_open(watcher->sim->options.registry_dir, 0, NULL);
	const char *name;
	while (dir && (name = g_dir_read_name(dir)))
		look_at(watcher, name, present);
	g_hash_table_foreach_remove(watcher->sockets, is_gone, present);
	return G_SOURCE_CONTINUE;
}

void sim_watcher_start(Sim *sim)
{
	if (!sim->options.registry_dir)
		return;
	(void)g_mkdir_with_parents(sim->options.registry_dir, 0750);
	struct sim_watcher *watcher = g_new0(struct sim_watcher, 1);
	watcher->sim = sim;
	watcher->sockets = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, watched_free);
	watcher->timer = g_timeout_add(LOOK_MS, on_look, watcher);
	sim->watcher = watcher;
	on_look(watcher);
}

void sim_watcher_stop(Sim *sim)
{
	struct sim_watcher *watcher = g_steal_pointer(&sim->watcher);
	if (!watcher)
		return;
	g_source_remove(watcher->timer);
	g_hash_table_unref(watcher->sockets);
	g_free(watcher);
}
