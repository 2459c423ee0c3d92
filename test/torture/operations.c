/* SPDX-License-Identifier: Apache-2.0 */
/* What can happen to a node. Each operation changes the model and the node alike; what
 * the daemon may see in one order or the other, or not at all, waits until it was seen. */
#include "torture/torture.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/fixture.h"

#define MOST_PODS 3

static const char negative_slots[] =
	"{\"configList\":[{\"resourceName\":\"slots\",\"rdmaHcaMax\":-1,"
	"\"selectors\":{\"buses\":[\"mock\"]}}]}";

enum outcome {
	IMPOSSIBLE, /* now: another one is tried */
	GO_ON,
	BURST_ENDS,
};

static guint any(const struct torture *torture, guint n)
{
	return (guint)g_rand_int_range(torture->random, 0, (gint32)n);
}

/* A device that this burst has not changed yet; 'there' or not. FALSE if there is none. */
static gboolean pick_device(struct torture *torture, gboolean there, guint *ret_device)
{
	guint first = any(torture, MODEL_DEVICES);

	for (guint i = 0; i < MODEL_DEVICES; i++) {
		guint device = (first + i) % MODEL_DEVICES;

		if (torture->touched & 1U << device ||
		    !torture->model->devices[device].present != !there)
			continue;
		torture->touched |= 1U << device;
		*ret_device = device;
		return TRUE;
	}
	return FALSE;
}

/* --- devices --- */

static enum outcome change_health(struct torture *torture)
{
	struct model_device *device;
	guint index;

	if (!pick_device(torture, TRUE, &index))
		return IMPOSSIBLE;
	device = &torture->model->devices[index];
	device->healthy = !device->healthy;
	torture_write_devices(torture);
	torture_note(torture, "%s becomes %s", model_device_id(index),
		     device->healthy ? "good" : "bad");
	return GO_ON;
}

/* As it was in the end. */
static enum outcome flap(struct torture *torture)
{
	guint times = 1 + any(torture, 4);
	struct model_device *device;
	guint index;

	if (!pick_device(torture, TRUE, &index))
		return IMPOSSIBLE;
	device = &torture->model->devices[index];
	for (guint i = 0; i < 2 * times; i++) {
		device->healthy = !device->healthy;
		torture_write_devices(torture);
		torture_pause(any(torture, 8));
	}
	torture_note(torture, "%s flaps %u times", model_device_id(index), times);
	return GO_ON;
}

static enum outcome vanish(struct torture *torture)
{
	guint index;

	if (!pick_device(torture, TRUE, &index))
		return IMPOSSIBLE;
	torture->model->devices[index].present = FALSE;
	torture_write_devices(torture);
	torture_note(torture, "%s vanishes", model_device_id(index));
	return GO_ON;
}

/* One in a burst: the order in which a resource gets to know its devices counts. */
static enum outcome appear(struct torture *torture)
{
	guint index;

	if (torture->has_appeared || !pick_device(torture, FALSE, &index))
		return IMPOSSIBLE;
	torture->has_appeared = TRUE;
	torture->model->devices[index].present = TRUE;
	model_settle(torture->model);
	torture_write_devices(torture);
	torture_note(torture, "%s appears", model_device_id(index));
	return GO_ON;
}

static enum outcome set_all(struct torture *torture, gboolean present)
{
	if (torture->touched != 0)
		return IMPOSSIBLE;
	for (guint i = 0; i < MODEL_DEVICES; i++)
		torture->model->devices[i].present = present;
	model_settle(torture->model);
	torture_write_devices(torture);
	torture_note(torture, "all devices %s", present ? "are there" : "vanish");
	return BURST_ENDS;
}

static enum outcome lose_all(struct torture *torture)
{
	return set_all(torture, FALSE);
}

static enum outcome get_all(struct torture *torture)
{
	return set_all(torture, TRUE);
}

/* A driver that fails to answer scans for a moment loses nothing. */
static enum outcome fail_scans(struct torture *torture)
{
	g_autofree char *text = model_devices_text(torture->model);
	g_autofree char *failing = g_strconcat(text, "discover fail 5\n", NULL);

	if (torture->touched != 0)
		return IMPOSSIBLE;
	node_mock(torture->node, failing);
	torture_pause(any(torture, 200));
	torture_write_devices(torture);
	torture_note(torture, "scans fail for a moment");
	return GO_ON;
}

/* --- numbers --- */

struct expectation {
	guint counts[N_RESOURCES][MODEL_DEVICES];
	guint devices; /* a bit for each that has another number */
};

static gboolean is_noted(const struct torture *torture, gconstpointer data)
{
	const struct expectation *expectation = data;

	for (guint i = 0; i < N_RESOURCES; i++)
		for (guint j = 0; j < MODEL_DEVICES; j++)
			if (expectation->devices & 1U << j &&
			    model_is_member(&torture->model->resources[i], j) &&
			    torture_renumbered(torture, i, j) <= expectation->counts[i][j])
				return FALSE;
	return TRUE;
}

static void count_all(const struct torture *torture, struct expectation *expectation)
{
	for (guint i = 0; i < N_RESOURCES; i++)
		for (guint j = 0; j < MODEL_DEVICES; j++)
			expectation->counts[i][j] = torture_renumbered(torture, i, j);
}

static void set_number(struct torture *torture, guint device, guint number)
{
	torture_note(torture, "%s has number %u, which was %u", model_device_id(device), number,
		     torture->model->devices[device].number);
	torture->model->devices[device].number = number;
}

/* Two devices swap their numbers, as after a reload of their driver, or one gets a fresh
 * one. */
static enum outcome renumber(struct torture *torture)
{
	struct expectation expectation = {.devices = 0};
	guint first, second, number;

	if (!pick_device(torture, TRUE, &first))
		return IMPOSSIBLE;
	count_all(torture, &expectation);
	number = torture->model->devices[first].number;
	if (any(torture, 2) > 0 && pick_device(torture, TRUE, &second)) {
		set_number(torture, first, torture->model->devices[second].number);
		set_number(torture, second, number);
		expectation.devices = 1U << first | 1U << second;
	} else {
		do
			number = any(torture, MODEL_NUMBERS);
		while (!model_is_free_number(torture->model, number));
		set_number(torture, first, number);
		expectation.devices = 1U << first;
	}
	torture_write_devices(torture);
	torture_await(torture, is_noted, &expectation, "the word that numbers have changed");
	return BURST_ENDS;
}

/* --- the kubelet --- */

static enum outcome restart_kubelet(struct torture *torture)
{
	g_autoptr(GError) error = NULL;

	sim_stop(torture->sim);
	torture_pause(any(torture, 30));
	if (!sim_start(torture->sim, &error))
		fail_msg("%s", error->message);
	torture_note(torture, "the kubelet restarts");
	return GO_ON;
}

static enum outcome disconnect(struct torture *torture)
{
	const struct model_resource *resource =
		&torture->model->resources[any(torture, N_RESOURCES)];

	if (!sim_disconnect(torture->sim, resource->name))
		return IMPOSSIBLE;
	torture_note(torture, "the stream of %s breaks", resource->name);
	return GO_ON;
}

/* --- configuration --- */

static enum outcome hang_up(struct torture *torture)
{
	process_signal(torture->node->daemon, SIGHUP);
	torture_note(torture, "SIGHUP");
	return GO_ON;
}

/* Alone in its burst. That it is in force can be told by the marker's size. */
static enum outcome reload(struct torture *torture)
{
	g_autofree char *text = NULL;

	if (torture->touched != 0)
		return IMPOSSIBLE;
	model_reconfigure(torture->model, torture->random);
	text = model_resources_text(torture->model);
	node_resources(torture->node, text);
	torture_note(torture, "configuration %u: %s", torture->model->generation, text);
	return BURST_ENDS;
}

static gboolean is_refused(const struct torture *torture, gconstpointer before)
{
	return torture->refusals > *(const guint *)before;
}

static enum outcome reload_bad(struct torture *torture)
{
	static const char *const texts[] = {
		"",
		"{\"configList\":[",
		negative_slots,
		"{\"configList\":[{\"resourceName\":\"guest\"}]}",
		"{\"configList\":7}",
	};
	guint which = any(torture, G_N_ELEMENTS(texts) + 1);
	guint before = torture->refusals;

	if (which < G_N_ELEMENTS(texts))
		node_resources(torture->node, texts[which]);
	else if (node_has_file(torture->node, "etc/config.json"))
		fixture_delete(torture->node->root, "etc/config.json");
	else
		return IMPOSSIBLE;
	torture_await(torture, is_refused, &before, "the refusal of a bad configuration");
	torture_note(torture, "a bad configuration, number %u", which);
	return BURST_ENDS;
}

/* --- pods --- */

struct admission {
	gboolean is_over, is_good;
};

static void on_admitted(Sim *sim, gboolean ok, gpointer data)
{
	struct admission *admission = data;

	(void)sim;
	admission->is_over = TRUE;
	admission->is_good = ok;
}

static gboolean is_admitted(const struct torture *torture, gconstpointer data)
{
	(void)torture;
	return ((const struct admission *)data)->is_over;
}

static const char *id_of_pod(const struct torture *torture, const char *pod)
{
	const GPtrArray *grants = sim_get_state(torture->sim)->grants;

	for (guint i = 0; i < grants->len; i++) {
		const struct sim_grant *grant = g_ptr_array_index(grants, i);

		if (strcmp(grant->pod, pod) == 0)
			return grant->ids[0];
	}
	return NULL;
}

static enum outcome admit(struct torture *torture)
{
	guint index = any(torture, 2) > 0 ? MODEL_SLOTS : MODEL_EXCLUSIVE;
	const char *name = torture->model->resources[index].name;
	const struct sim_resource *resource = sim_state_find(sim_get_state(torture->sim), name);
	g_autofree char *pod = g_strdup_printf("pod-%u", torture->n_pods);
	struct sim_claim claim = {pod, "main", name, 1, -1};
	struct admission admission = {FALSE, FALSE};

	if (torture->touched != 0 || torture->model->pods->len >= MOST_PODS ||
	    !model_has_files(torture->model, index) || !sim_is_streaming(torture->sim, name) ||
	    sim_resource_free(resource) == 0)
		return IMPOSSIBLE;
	torture->n_pods++;
	assert_true(sim_allocate(torture->sim, &claim, on_admitted, &admission));
	torture_await(torture, is_admitted, &admission, "a pod to be admitted");
	torture_note(torture, "%s is admitted with %s", pod, id_of_pod(torture, pod));
	if (!admission.is_good)
		torture_fail(torture, "a pod's devices");
	model_admit(torture->model, pod, index, id_of_pod(torture, pod));
	return BURST_ENDS;
}

/* All at once: of one with old numbers the daemon hears only when it asks again. */
static enum outcome end_pods(struct torture *torture)
{
	GPtrArray *pods = torture->model->pods;

	if (torture->touched != 0 || pods->len == 0)
		return IMPOSSIBLE;
	for (guint i = 0; i < pods->len; i++) {
		const struct model_pod *pod = g_ptr_array_index(pods, i);

		assert_true(sim_free_pod(torture->sim, pod->name));
	}
	g_ptr_array_set_size(pods, 0);
	torture_note(torture, "all pods end");
	return BURST_ENDS;
}

/* --- any of them --- */

static const struct {
	guint weight;
	enum outcome (*run)(struct torture *torture);
} operations[] = {
	{30, change_health},  {12, flap},      {12, vanish},	{16, appear},
	{2, lose_all},	      {3, get_all},    {2, fail_scans}, {6, renumber},
	{6, restart_kubelet}, {3, disconnect}, {2, hang_up},	{8, reload},
	{4, reload_bad},      {3, admit},      {1, end_pods},
};

static guint pick_operation(const struct torture *torture)
{
	guint sum = 0;
	guint number;
	guint i = 0;

	for (gsize j = 0; j < G_N_ELEMENTS(operations); j++)
		sum += operations[j].weight;
	number = any(torture, sum);
	while (number >= operations[i].weight)
		number -= operations[i++].weight;
	return i;
}

gboolean torture_step(struct torture *torture)
{
	enum outcome outcome = IMPOSSIBLE;

	while (outcome == IMPOSSIBLE)
		outcome = operations[pick_operation(torture)].run(torture);
	torture->n_events++;
	return outcome == GO_ON;
}
