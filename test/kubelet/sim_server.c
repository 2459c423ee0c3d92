/* SPDX-License-Identifier: Apache-2.0 */
/* The start and the end of the kubelet, and its Registration service. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kubelet/sim_private.h"
#include "kubelet/sim_watcher.h"

#define KUBELET_SOCKET "kubelet.sock"
#define CHECKPOINT "kubelet_internal_checkpoint"
#define DEPRECATION "DEPRECATION"
#define MAX_REGISTER 4194304

/* --- the directory --- */

static gboolean is_wiped(const Sim *sim, const char *name, mode_t mode)
{
	if (S_ISDIR(mode) || strcmp(name, CHECKPOINT) == 0)
		return FALSE;
	return S_ISSOCK(mode) || sim->options.profile->wipes_files;
}

static void wipe_one(Sim *sim, const char *name, json_t *wiped)
{
	g_autofree char *path = g_build_filename(sim->options.dir, name, NULL);
	struct stat info;
	if (lstat(path, &info) != 0 || !is_wiped(sim, name, info.st_mode) || unlink(path) != 0)
		return;
	json_array_append_new(wiped, sim_json_text(name));
	if (S_ISSOCK(info.st_mode) || strcmp(name, DEPRECATION) == 0)
		return;
	g_autofree char *text = g_strdup_printf(
		"'%s' is gone: a kubelet of this version removes every file from the directory",
		name);
	sim_verdict(sim->events, FALSE, "lost-file", NULL, text);
}

static void wipe(Sim *sim)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GDir) dir = g_dir_open(sim->options.dir, 0, NULL);
	const char *name;
	while (dir && (name = g_dir_read_name(dir)))
		g_ptr_array_add(names, g_strdup(name));
	json_t *wiped = json_array();
	for (guint i = 0; i < names->len; i++)
		wipe_one(sim, g_ptr_array_index(names, i), wiped);
	if (json_array_size(wiped) > 0)
		sim_emit(sim->events, "wiped", json_pack("{s:O}", "files", wiped));
	json_decref(wiped);
}

static void leave_deprecation(const Sim *sim)
{
	g_autofree char *path = g_build_filename(sim->options.dir, DEPRECATION, NULL);
	if (sim->options.profile->deprecation_file)
		(void)g_file_set_contents(path, "", 0, NULL);
}

static gboolean prepare_dir(Sim *sim, GError **error)
{
	if (g_mkdir_with_parents(sim->options.dir, 0750) != 0) {
		g_set_error(error, G_FILE_ERROR, (gint)g_file_error_from_errno(errno),
			    "cannot make '%s': %s", sim->options.dir, g_strerror(errno));
		return FALSE;
	}
	wipe(sim);
	leave_deprecation(sim);
	return TRUE;
}

static const struct rpc_method methods[] = {
	{"/v1beta1.Registration/Register", sim_register, MAX_REGISTER, 4},
};

/* --- life --- */

static void on_connection(int fd, gpointer data)
{
	Sim *sim = data;
	rpc_server_adopt(sim->server, fd);
}

static gboolean on_tick(gpointer data)
{
	Sim *sim = data;
	g_autoptr(GPtrArray) gone =
		sim_state_expire(sim->state, sim_clock(sim), (gint64)SIM_GRACE_S * G_USEC_PER_SEC);
	for (guint i = 0; i < gone->len; i++)
		sim_emit(sim->events, "deleted",
			 json_pack("{s:o}", "resource", sim_json_text(g_ptr_array_index(gone, i))));
	if (gone->len > 0)
		sim_checkpoint_write(sim);
	sim_state_tick(sim->state);
	return G_SOURCE_CONTINUE;
}

gboolean sim_start(Sim *sim, GError **error)
{
	g_autofree char *path = g_build_filename(sim->options.dir, KUBELET_SOCKET, NULL);
	g_assert(!sim->running);
	if (!prepare_dir(sim, error))
		return FALSE;
	sim_checkpoint_read(sim);
	sim->listener = sim_listener_new(path, on_connection, sim, error);
	if (!sim->listener)
		return FALSE;
	if (!sim_pod_resources_start(sim, error)) {
		sim_listener_free(g_steal_pointer(&sim->listener), FALSE);
		return FALSE;
	}
	sim->running = TRUE;
	sim->serving_us = g_get_monotonic_time();
	sim->server = rpc_server_new(sim->rpc, methods, G_N_ELEMENTS(methods), sim);
	sim->tick = g_timeout_add((guint)MAX(1, SIM_TICK_S * 1000 / sim->options.time_scale),
				  on_tick, sim);
	sim_emit(sim->events, "serving", json_pack("{s:o}", "socket", sim_json_text(path)));
	sim_watcher_start(sim);
	return TRUE;
}

void sim_stop(Sim *sim)
{
	if (!sim->running)
		return;
	sim->running = FALSE;
	g_source_remove(sim->tick);
	sim_listener_free(sim->listener, FALSE);
	sim->listener = NULL;
	sim_allocation_abort(sim);
	sim_watcher_stop(sim);
	sim_clients_drop(sim);
	sim_pod_resources_stop(sim);
	sim->stopping++;
	rpc_server_stop(sim->server, 0, sim_server_ended, sim);
	sim->server = NULL;
	sim_emit(sim->events, "stopped", NULL);
}

gboolean sim_is_running(const Sim *sim)
{
	return sim->running;
}
