/* SPDX-License-Identifier: Apache-2.0 */
/* Restarts of the kubelet and of the plugin. */
#include <signal.h>
#include <string.h>

#include "kubelet/scenario.h"

/* The longest of the random pauses: a registration takes about as long. */
#define PAUSE_MAX_MS 12

/* --- the kubelet --- */

static void restarts(struct scenario *scenario, guint pause_ms, guint count)
{
	struct scenario_usage before = {0};
	for (guint i = 0; i < count && !scenario->failed; i++) {
		scenario_restart_kubelet(scenario, pause_ms);
		if (!scenario_await_back(scenario, "a restart of the kubelet"))
			return;
		/* The first one fills caches. */
		if (i == 0)
			before = scenario_usage(scenario);
	}
	scenario_check_usage(scenario, &before);
}

static void run_restart(struct scenario *scenario)
{
	restarts(scenario, 0, scenario_count(scenario, 20));
}

static void run_restart_20ms(struct scenario *scenario)
{
	restarts(scenario, 20, scenario_count(scenario, 20));
}

static void run_restart_many(struct scenario *scenario)
{
	restarts(scenario, 0, scenario_count(scenario, 1000));
}

/* A step of the protocol: the event that the simulator tells when it is reached. */
static const char *const steps[] = {"serving", "register", "registered", "list"};

struct step {
	const char *event;
	gboolean reached;
};

static void on_event(const json_t *event, gpointer data)
{
	struct step *step = data;
	if (strcmp(json_string_value(json_object_get(event, "event")), step->event) == 0)
		step->reached = TRUE;
}

static gboolean is_reached(struct scenario *scenario, gpointer data)
{
	const struct step *step = data;
	(void)scenario;
	return step->reached;
}

/* Restarts the kubelet and goes on until it has come to that step. */
static gboolean restart_to_step(struct scenario *scenario, const char *event)
{
	struct step step = {.event = event};
	sim_events_observe(scenario->events, on_event, &step);
	scenario_restart_kubelet(scenario, 0);
	gboolean reached = scenario_await(scenario, is_reached, &step);
	sim_events_ignore(scenario->events, on_event, &step);
	if (!reached)
		scenario_fail(scenario, "the plugin has not come to '%s'", event);
	return reached;
}

static void run_restart_steps(struct scenario *scenario)
{
	guint count = scenario_count(scenario, 1) * G_N_ELEMENTS(steps);
	for (guint i = 0; i < count; i++) {
		const char *step = steps[i % G_N_ELEMENTS(steps)];
		if (!restart_to_step(scenario, step))
			return;
		scenario_restart_kubelet(scenario, 0);
		if (!scenario_await_back(scenario, step))
			return;
	}
}

static guint random_ms(struct scenario *scenario)
{
	return (guint)g_rand_int_range(scenario->random, 0, PAUSE_MAX_MS + 1);
}

/* Cuts the registration off after a random time. */
static void run_restart_random(struct scenario *scenario)
{
	struct scenario_usage before = scenario_usage(scenario);
	guint count = scenario_count(scenario, 100);
	for (guint i = 0; i < count && !scenario->failed; i++) {
		guint cuts = (guint)g_rand_int_range(scenario->random, 1, 4);
		for (guint j = 0; j < cuts; j++) {
			scenario_restart_kubelet(scenario, random_ms(scenario));
			scenario_sleep(scenario, random_ms(scenario));
		}
		scenario_restart_kubelet(scenario, 0);
		scenario_await_back(scenario, "restarts at random moments");
	}
	if (!scenario->failed)
		scenario_check_usage(scenario, &before);
}

/* --- the plugin --- */

static void run_kill_plugin(struct scenario *scenario)
{
	guint count = scenario_count(scenario, 10);
	for (guint i = 0; i < count && !scenario->failed; i++) {
		scenario_sleep(scenario, random_ms(scenario));
		scenario_signal_plugin(scenario, SIGKILL);
		scenario_start_plugin(scenario);
		scenario_await_back(scenario, "kill -9 of the plugin");
	}
}

static void run_kill_steps(struct scenario *scenario)
{
	guint count = scenario_count(scenario, 1) * G_N_ELEMENTS(steps);
	for (guint i = 0; i < count; i++) {
		const char *step = steps[i % G_N_ELEMENTS(steps)];
		if (!restart_to_step(scenario, step))
			return;
		scenario_signal_plugin(scenario, SIGKILL);
		scenario_start_plugin(scenario);
		if (!scenario_await_back(scenario, step))
			return;
	}
}

static void run_terminate_plugin(struct scenario *scenario)
{
	guint count = scenario_count(scenario, 5);
	for (guint i = 0; i < count && !scenario->failed; i++) {
		scenario_signal_plugin(scenario, SIGTERM);
		scenario_start_plugin(scenario);
		scenario_await_back(scenario, "SIGTERM of the plugin");
	}
}

/* --- two plugins --- */

static gboolean has_ended(struct scenario *scenario, gpointer data)
{
	const guint *wanted = data;
	return scenario->n_ended >= *wanted;
}

/* The kubelet has seen the end of the old one. */
static void end_old(struct scenario *scenario, GPid old)
{
	guint wanted = scenario->n_ended + g_hash_table_size(scenario->baseline);
	scenario_end_process(scenario, old, SIGKILL);
	if (!scenario_await(scenario, has_ended, &wanted))
		scenario_fail(scenario, "the streams of the first instance have not ended");
}

static void run_two_plugins(struct scenario *scenario)
{
	guint count = scenario_count(scenario, 3);
	for (guint i = 0; i < count && !scenario->failed; i++) {
		GPid old = scenario_release_plugin(scenario);
		scenario_start_plugin(scenario);
		/* Long enough for the new one to register, if it does beside the old one. */
		scenario_sleep(scenario, scenario_duration_ms(scenario, 1000));
		scenario_await_back(scenario, "the start of a second instance");
		end_old(scenario, old);
		scenario_await_back(scenario, "the end of the first instance");
	}
}

const struct scenario_entry scenario_restarts[] = {
	{"restart", "the kubelet restarts, again and again", run_restart},
	{"restart-20ms", "the kubelet is away for 20 ms", run_restart_20ms},
	{"restart-many", "1,000 restarts: nothing may leak", run_restart_many},
	{"restart-steps", "the kubelet dies at each step of the protocol", run_restart_steps},
	{"restart-random", "the kubelet dies at random moments", run_restart_random},
	{"kill-plugin", "kill -9 of the plugin, and a new one", run_kill_plugin},
	{"kill-steps", "kill -9 of the plugin at each step of the protocol", run_kill_steps},
	{"terminate-plugin", "SIGTERM of the plugin, and a new one", run_terminate_plugin},
	{"two-plugins", "a second instance starts, the first is killed", run_two_plugins},
	{NULL, NULL, NULL},
};
