/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/sim.h"

#include "kubelet/sim_private.h"

struct sim_options sim_options_default(const char *dir)
{
	return (struct sim_options){.dir = dir,
				    .profile = sim_profile_find("1.36"),
				    .seed = 1,
				    .time_scale = 1.0,
				    .show_devices = 32,
				    .numa_nodes = 2,
				    .hang_ms = SIM_HANG_MS,
				    .fsync = TRUE,
				    .dial_ms = SIM_DIAL_MS};
}

Sim *sim_new(Rpc *rpc, const struct sim_options *options, SimEvents *events)
{
	Sim *sim = g_new0(Sim, 1);
	sim->rpc = rpc;
	sim->options = *options;
	sim->options.dir = g_strdup(options->dir);
	sim->options.dev_root = g_strdup(options->dev_root);
	sim->options.registry_dir = g_strdup(options->registry_dir);
	sim->options.pod_resources = g_strdup(options->pod_resources);
	sim->events = events;
	sim->state = sim_state_new(options->profile);
	sim->random = g_rand_new_with_seed(options->seed);
	sim->clients = g_ptr_array_new();
	sim->client_map = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	sim->endpoints = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	return sim;
}

static void free_now(Sim *sim)
{
	void (*freed)(gpointer data) = sim->freed;
	gpointer data = sim->freed_data;
	sim_state_free(sim->state);
	g_rand_free(sim->random);
	g_ptr_array_unref(sim->clients);
	g_hash_table_unref(sim->client_map);
	g_hash_table_unref(sim->endpoints);
	g_free((char *)sim->options.dir);
	g_free((char *)sim->options.dev_root);
	g_free((char *)sim->options.registry_dir);
	g_free((char *)sim->options.pod_resources);
	g_free(sim);
	if (freed)
		freed(data);
}

void sim_server_ended(gpointer data)
{
	Sim *sim = data;
	sim->stopping--;
	if (sim->freeing && sim->stopping == 0)
		free_now(sim);
}

void sim_free(Sim *sim, void (*done)(gpointer data), gpointer data)
{
	sim_stop(sim);
	sim->freed = done;
	sim->freed_data = data;
	sim->freeing = TRUE;
	if (sim->stopping == 0)
		free_now(sim);
}

SimEvents *sim_get_events(const Sim *sim)
{
	return sim->events;
}

SimState *sim_get_state(const Sim *sim)
{
	return sim->state;
}

gint64 sim_clock(const Sim *sim)
{
	return (gint64)((double)g_get_monotonic_time() * sim->options.time_scale);
}

double sim_ms_since(gint64 start_us)
{
	return (double)(g_get_monotonic_time() - start_us) / 1000.0;
}

gboolean sim_free_pod(Sim *sim, const char *pod)
{
	if (!sim_state_end_pod(sim->state, pod))
		return FALSE;
	sim_checkpoint_write(sim);
	sim_emit(sim->events, "freed", json_pack("{s:o}", "pod", sim_json_text(pod)));
	return TRUE;
}

static const char *endpoint_state(const Sim *sim, const struct sim_resource *resource)
{
	if (sim_is_streaming(sim, resource->name))
		return "streaming";
	if (!resource->endpoint)
		return "unregistered";
	return resource->stopped_us ? "stopped" : "connected";
}

void sim_report_resources(Sim *sim)
{
	g_autoptr(GPtrArray) names = sim_state_names(sim->state);
	for (guint i = 0; i < names->len; i++) {
		const struct sim_resource *resource =
			sim_state_find(sim->state, g_ptr_array_index(names, i));
		const struct sim_node_entry *node =
			g_hash_table_lookup(sim->state->node, resource->name);
		sim_emit(sim->events, "resource",
			 json_pack("{s:o, s:I, s:I, s:I, s:s, s:{s:I, s:I}}", "name",
				   sim_json_text(resource->name), "capacity",
				   (json_int_t)sim_resource_capacity(resource), "allocatable",
				   (json_int_t)sim_resource_allocatable(resource), "free",
				   (json_int_t)sim_resource_free(resource), "state",
				   endpoint_state(sim, resource), "node", "capacity",
				   (json_int_t)(node ? node->capacity : 0), "allocatable",
				   (json_int_t)(node ? node->allocatable : 0)));
	}
	sim_emit(sim->events, "resources",
		 json_pack("{s:i, s:i}", "count", (int)names->len, "connections",
			   (int)sim_n_connections(sim)));
}
