/* SPDX-License-Identifier: Apache-2.0 */
/* Clients of the plugin's socket that behave badly, beside the kubelet's own stream. */
#include <string.h>

#include "kubelet/scenario.h"
#include "kubelet/sim_h2.h"

#define METHOD_LIST "/v1beta1.DevicePlugin/ListAndWatch"
/* Cuts any list into pieces. */
#define TINY_WINDOW 10
#define PLENTY 65535
#define SETTLE_MS 1000

static SimH2 *connect_client(struct scenario *scenario)
{
	g_autoptr(GError) error = NULL;
	SimH2 *h2 = sim_h2_connect(scenario->socket, &error);
	if (!h2)
		scenario_fail(scenario, "%s", error->message);
	return h2;
}

/* A stream whose list has begun to come, as far as the window lets it. */
static SimH2 *begin_list(struct scenario *scenario, guint32 window)
{
	SimH2 *h2 = connect_client(scenario);
	if (!h2)
		return NULL;
	sim_h2_call(h2, METHOD_LIST, window);
	int wanted = window > 0 ? H2_DATA : H2_SETTINGS;
	if (sim_h2_await_frame(h2, wanted, (guint)(scenario->options->limit_s * 1000)))
		return h2;
	sim_h2_free(h2);
	scenario_fail(scenario, "the plugin does not answer a second client");
	return NULL;
}

/* A plugin need not tell such a client from a kubelet, and may well have registered again
 * because of its end: it gets the time to do so. */
static gboolean settle(struct scenario *scenario, const char *what)
{
	scenario_sleep(scenario, SETTLE_MS);
	return scenario_await_back(scenario, what);
}

/* Streams of the kubelet that have ended meanwhile: no fault, if they are back. */
static void report_disturbed(struct scenario *scenario, guint ended_before)
{
	if (scenario->n_ended != ended_before)
		sim_emit(scenario->events, "disturbed",
			 json_pack("{s:i}", "streams", (int)(scenario->n_ended - ended_before)));
}

/* Breaks off in the middle of a list, again and again: everything must be as before. */
static void break_off(struct scenario *scenario, guint count, void (*how)(SimH2 *h2),
		      const char *what)
{
	struct scenario_usage before = {0};
	guint ended = scenario->n_ended;
	for (guint i = 0; i < count && !scenario->failed; i++) {
		SimH2 *h2 = begin_list(scenario, TINY_WINDOW);
		if (!h2)
			return;
		how(h2);
		sim_h2_free(h2);
		if (i == 0 && settle(scenario, what))
			before = scenario_usage(scenario);
	}
	if (settle(scenario, what))
		scenario_check_usage(scenario, &before);
	report_disturbed(scenario, ended);
}

static void just_close(SimH2 *h2)
{
	(void)h2;
}

static void run_rst(struct scenario *scenario)
{
	break_off(scenario, scenario_count(scenario, 20), sim_h2_reset,
		  "RST_STREAM in the middle of a list");
}

static void run_goaway(struct scenario *scenario)
{
	break_off(scenario, scenario_count(scenario, 20), sim_h2_goaway,
		  "GOAWAY in the middle of a list");
}

static void run_close(struct scenario *scenario)
{
	break_off(scenario, scenario_count(scenario, 20), just_close,
		  "a connection that broke in the middle of a list");
}

static void run_half_close(struct scenario *scenario)
{
	break_off(scenario, scenario_count(scenario, 20), sim_h2_half_close,
		  "a half-closed connection");
}

static void run_reconnect(struct scenario *scenario)
{
	break_off(scenario, scenario_count(scenario, 1000), just_close,
		  "a client that connected again and again");
}

/* More than a plugin needs to keep: the kubelet's own must not be lost for them. */
static void run_many_streams(struct scenario *scenario)
{
	g_autoptr(GPtrArray) clients = g_ptr_array_new_with_free_func((GDestroyNotify)sim_h2_free);
	guint count = scenario_count(scenario, 12), ended = scenario->n_ended;
	for (guint i = 0; i < count && !scenario->failed; i++) {
		SimH2 *h2 = begin_list(scenario, TINY_WINDOW);
		if (h2)
			g_ptr_array_add(clients, h2);
	}
	settle(scenario, "many streams of another client");
	report_disturbed(scenario, ended);
}

/* The client stays; beside it the kubelet lives, and then restarts. */
static void live_beside(struct scenario *scenario, const char *what)
{
	guint pause_ms = scenario_duration_ms(scenario, 2000) / 4, ended = scenario->n_ended;
	for (int i = 0; i < 4 && !scenario->failed; i++) {
		scenario_sleep(scenario, pause_ms);
		scenario_await_back(scenario, what);
	}
	report_disturbed(scenario, ended);
	for (int i = 0; i < 4 && !scenario->failed; i++) {
		scenario_restart_kubelet(scenario, 0);
		scenario_await_back(scenario, what);
	}
}

static void run_zero_window(struct scenario *scenario)
{
	g_autoptr(SimH2) h2 = begin_list(scenario, 0);
	if (h2)
		live_beside(scenario, "a stream with a window of 0");
}

static gboolean on_slow_read(gpointer data)
{
	guint8 byte;
	(void)sim_h2_read(data, &byte, 1);
	return G_SOURCE_CONTINUE;
}

static void run_slow_reader(struct scenario *scenario)
{
	g_autoptr(SimH2) h2 = connect_client(scenario);
	if (!h2)
		return;
	sim_h2_call(h2, METHOD_LIST, PLENTY);
	guint timer = g_timeout_add(10, on_slow_read, h2);
	live_beside(scenario, "a client that reads a byte each 10 ms");
	g_source_remove(timer);
}

static void run_mute_client(struct scenario *scenario)
{
	g_autoptr(SimH2) h2 = connect_client(scenario);
	if (h2)
		live_beside(scenario, "a client that never says a word");
}

static void run_garbage(struct scenario *scenario)
{
	guint count = scenario_count(scenario, 20);
	for (guint i = 0; i < count && !scenario->failed; i++) {
		guint8 noise[512];
		g_autoptr(SimH2) h2 = connect_client(scenario);
		if (!h2)
			return;
		for (gsize j = 0; j < sizeof(noise); j++)
			noise[j] = (guint8)g_rand_int_range(scenario->random, 0, 256);
		sim_h2_send(h2, noise, sizeof(noise));
		if (!sim_h2_await_close(h2, (guint)(scenario->options->limit_s * 1000)))
			scenario_fail(scenario,
				      "the plugin keeps a connection that speaks no HTTP/2");
		scenario_await_back(scenario, "noise on its socket");
	}
}

/* The kubelet's own stream breaks while the kubelet lives. */
static gboolean lose_stream(struct scenario *scenario)
{
	if (!sim_disconnect(scenario->sim, scenario_resource(scenario)))
		return scenario_fail(scenario, "there is no stream to break");
	return scenario_await_back(scenario, "the end of its stream");
}

static void run_stream_lost(struct scenario *scenario)
{
	guint count = scenario_count(scenario, 20);
	struct scenario_usage before = {0};
	for (guint i = 0; i < count && lose_stream(scenario); i++)
		if (i == 0)
			before = scenario_usage(scenario);
	if (!scenario->failed)
		scenario_check_usage(scenario, &before);
}

/* A plugin may well take more and more time before it registers again with a kubelet that
 * ends its streams. A new kubelet it has to meet at once. */
static void run_stream_lost_many(struct scenario *scenario)
{
	guint count = scenario_count(scenario, 1000);
	struct scenario_usage before = {0};
	for (guint i = 0; i < count && lose_stream(scenario); i++) {
		scenario_restart_kubelet(scenario, 0);
		if (!scenario_await_back(scenario, "a restart of the kubelet"))
			return;
		if (i == 0)
			before = scenario_usage(scenario);
	}
	if (!scenario->failed)
		scenario_check_usage(scenario, &before);
}

const struct scenario_entry scenario_streams[] = {
	{"stream-lost", "the kubelet's stream breaks while the kubelet lives", run_stream_lost},
	{"stream-lost-many", "1,000 times that, and a restart of the kubelet after each",
	 run_stream_lost_many},
	{"rst-list", "RST_STREAM in the middle of a list", run_rst},
	{"goaway-list", "GOAWAY in the middle of a list", run_goaway},
	{"close-list", "a connection breaks in the middle of a list", run_close},
	{"reconnect", "a client that opens 1,000 streams, one after the other", run_reconnect},
	{"many-streams", "a client that opens 12 streams at a time", run_many_streams},
	{"half-closed", "a client closes its half of the connection", run_half_close},
	{"zero-window", "a client whose window stays 0", run_zero_window},
	{"slow-reader", "a client that reads a byte each 10 ms", run_slow_reader},
	{"mute-client", "a client that connects and says nothing", run_mute_client},
	{"garbage-client", "a client that speaks no HTTP/2", run_garbage},
	{NULL, NULL, NULL},
};
