/* SPDX-License-Identifier: Apache-2.0 */
#include "torture/model.h"

#include <string.h>

#define MOST_MARKER_SLOTS 8
#define MOST_SLOTS 6
#define SHARED_MASK ((1U << MODEL_SHARED) - 1)

static const char *const policy_names[] = {"perDevice", "anyDevice", "allDevices", "off"};

static void pod_free(gpointer data)
{
	struct model_pod *pod = data;

	g_free(pod->name);
	g_free(pod->id);
	g_free(pod);
}

Model *model_new(void)
{
	static const struct model_resource resources[] = {
		[MODEL_MARKER] = {"rdma/marker", TRUE, 1, MODEL_PER_DEVICE, SHARED_MASK, {0}, 0},
		[MODEL_SLOTS] = {"rdma/slots", TRUE, 4, MODEL_PER_DEVICE, SHARED_MASK, {0}, 0},
		[MODEL_GUEST] = {"rdma/guest", FALSE, 2, MODEL_PER_DEVICE, 1, {0}, 0},
		[MODEL_EXCLUSIVE] = {"rdma/whole",
				     TRUE,
				     0,
				     MODEL_PER_DEVICE,
				     ((1U << MODEL_DEVICES) - 1) & ~SHARED_MASK,
				     {0},
				     0},
	};
	Model *model = g_new0(Model, 1);

	memcpy(model->resources, resources, sizeof(resources));
	for (guint i = 0; i < MODEL_DEVICES; i++)
		model->devices[i] = (struct model_device){TRUE, TRUE, i};
	model->pods = g_ptr_array_new_with_free_func(pod_free);
	model_settle(model);
	return model;
}

void model_free(Model *model)
{
	g_ptr_array_unref(model->pods);
	g_free(model);
}

/* --- what happens --- */

gboolean model_is_member(const struct model_resource *resource, guint device)
{
	for (guint i = 0; i < resource->n_members; i++)
		if (resource->members[i] == device)
			return TRUE;
	return FALSE;
}

static void drop_unselected(struct model_resource *resource)
{
	guint kept = 0;

	for (guint i = 0; i < resource->n_members; i++)
		if (resource->selected & 1U << resource->members[i])
			resource->members[kept++] = resource->members[i];
	resource->n_members = kept;
}

static void settle(const Model *model, struct model_resource *resource)
{
	if (!resource->configured) {
		resource->n_members = 0;
		return;
	}
	drop_unselected(resource);
	for (guint i = 0; i < MODEL_DEVICES; i++)
		if (model->devices[i].present && resource->selected & 1U << i &&
		    !model_is_member(resource, i))
			resource->members[resource->n_members++] = i;
}

void model_settle(Model *model)
{
	for (guint i = 0; i < N_RESOURCES; i++)
		settle(model, &model->resources[i]);
}

static enum model_policy any_policy(GRand *random)
{
	return (enum model_policy)g_rand_int_range(random, 0, N_POLICIES);
}

void model_reconfigure(Model *model, GRand *random)
{
	struct model_resource *guest = &model->resources[MODEL_GUEST];

	model->generation++;
	model->resources[MODEL_MARKER].slots = model->generation % MOST_MARKER_SLOTS + 1;
	model->resources[MODEL_SLOTS].policy = any_policy(random);
	guest->configured = g_rand_int_range(random, 0, 4) > 0;
	guest->policy = any_policy(random);
	guest->slots = (guint)g_rand_int_range(random, 1, MOST_SLOTS + 1);
	guest->selected = (guint)g_rand_int_range(random, 1, SHARED_MASK + 1);
	model_settle(model);
}

gboolean model_is_free_number(const Model *model, guint number)
{
	for (guint i = 0; i < MODEL_DEVICES; i++)
		if (model->devices[i].number == number)
			return FALSE;
	return TRUE;
}

gboolean model_has_files(const Model *model, guint index)
{
	const struct model_resource *resource = &model->resources[index];

	for (guint i = 0; i < resource->n_members; i++)
		if (model->devices[resource->members[i]].present)
			return TRUE;
	return FALSE;
}

/* A slot stands for every device that the resource knows of. */
void model_admit(Model *model, const char *name, guint resource, const char *id)
{
	struct model_pod *pod = g_new0(struct model_pod, 1);

	pod->name = g_strdup(name);
	pod->id = g_strdup(id);
	pod->resource = resource;
	for (guint i = 0; i < MODEL_DEVICES; i++) {
		pod->numbers[i] = model->devices[i].number;
		if (resource == MODEL_EXCLUSIVE ? strcmp(model_device_id(i), id) == 0
						: model_is_member(&model->resources[resource], i))
			pod->granted |= 1U << i;
	}
	g_ptr_array_add(model->pods, pod);
}

/* --- as the daemon gets it --- */

const char *model_device_id(guint device)
{
	static const char *const ids[] = {"0000:10:00.0", "0000:11:00.0", "0000:12:00.0",
					  "0000:13:00.0", "0000:14:00.0", "0000:15:00.0"};

	return ids[device];
}

char *model_devices_text(const Model *model)
{
	GString *text = g_string_new("# a node under torture\n");

	for (guint i = 0; i < MODEL_DEVICES; i++) {
		const struct model_device *device = &model->devices[i];

		if (!device->present)
			continue;
		g_string_append_printf(text,
				       "device %s\n attribute vendor 15b3\n rdma mlx5_%u mlx5_ib\n"
				       "  port 1 infiniband active\n"
				       "  uverbs infiniband/uverbs%u 231:%u\n"
				       " rdma_cm infiniband/rdma_cm 10:121\n health %s\n",
				       model_device_id(i), i, device->number, device->number,
				       device->healthy ? "ok" : "down \"no light\"");
	}
	return g_string_free(text, FALSE);
}

static void append_resource(GString *text, const struct model_resource *resource)
{
	gboolean is_exclusive = resource->slots == 0;
	const char *comma = "";

	g_string_append_printf(text, "%s{\"resourceName\":\"%s\",\"healthPolicy\":\"%s\",",
			       text->str[text->len - 1] == '[' ? "" : ",",
			       strchr(resource->name, '/') + 1, policy_names[resource->policy]);
	if (is_exclusive)
		g_string_append(text, "\"mode\":\"exclusive\",");
	else
		g_string_append_printf(text, "\"rdmaHcaMax\":%u,", resource->slots);
	g_string_append(text, "\"selectors\":{\"buses\":[\"mock\"],\"addresses\":[");
	for (guint i = 0; i < MODEL_DEVICES; i++) {
		if (!(resource->selected & 1U << i))
			continue;
		g_string_append_printf(text, "%s\"%s\"", comma, model_device_id(i));
		comma = ",";
	}
	g_string_append(text, "]}}");
}

char *model_resources_text(const Model *model)
{
	GString *text = g_string_new("{\"periodicUpdateInterval\":1,\"configList\":[");

	for (guint i = 0; i < N_RESOURCES; i++)
		if (model->resources[i].configured)
			append_resource(text, &model->resources[i]);
	g_string_append(text, "]}");
	return g_string_free(text, FALSE);
}

/* --- what the kubelet has to see --- */

static gboolean is_good(const Model *model, const struct model_resource *resource, guint device)
{
	return resource->policy == MODEL_OFF ||
	       (model->devices[device].present && model->devices[device].healthy);
}

/* The pod's container may use a number that its device has no more. */
static gboolean is_stale(const Model *model, const struct model_pod *pod)
{
	for (guint i = 0; i < MODEL_DEVICES; i++)
		if (pod->granted & 1U << i && pod->numbers[i] != model->devices[i].number)
			return TRUE;
	return FALSE;
}

static gboolean is_held_stale(const Model *model, guint resource, const char *id)
{
	for (guint i = 0; i < model->pods->len; i++) {
		const struct model_pod *pod = g_ptr_array_index(model->pods, i);

		if (pod->resource == resource && strcmp(pod->id, id) == 0 && is_stale(model, pod))
			return TRUE;
	}
	return FALSE;
}

static void append_line(GString *text, const Model *model, guint resource, const char *id,
			gboolean good)
{
	g_string_append_printf(text, "%s %s\n", id,
			       good && !is_held_stale(model, resource, id) ? "Healthy"
									   : "Unhealthy");
}

static guint n_bad(const Model *model, const struct model_resource *resource)
{
	guint n = 0;

	for (guint i = 0; i < resource->n_members; i++)
		n += is_good(model, resource, resource->members[i]) ? 0 : 1;
	return n;
}

/* A bit for each slot: bad member i takes slot i, or the next that is free. */
static guint bad_slots(const Model *model, const struct model_resource *resource)
{
	guint all = (1U << resource->slots) - 1;
	guint n = n_bad(model, resource);
	guint bad = 0;

	if (n == resource->n_members || (n > 0 && resource->policy == MODEL_ANY_DEVICE))
		return all;
	if (resource->policy != MODEL_PER_DEVICE)
		return 0;
	for (guint i = 0; i < resource->n_members && bad != all; i++) {
		guint slot = i % resource->slots;

		if (is_good(model, resource, resource->members[i]))
			continue;
		while (bad & 1U << slot)
			slot = (slot + 1) % resource->slots;
		bad |= 1U << slot;
	}
	return bad;
}

static void predict_slots(GString *text, const Model *model, guint index)
{
	const struct model_resource *resource = &model->resources[index];
	guint bad;

	if (resource->n_members == 0)
		return;
	bad = bad_slots(model, resource);
	for (guint i = 0; i < resource->slots; i++) {
		g_autofree char *id = g_strdup_printf("%s-%u", resource->name, i);

		append_line(text, model, index, id, !(bad & 1U << i));
	}
}

char *model_predict(const Model *model, guint index)
{
	const struct model_resource *resource = &model->resources[index];
	GString *text = g_string_new(NULL);

	if (!resource->configured)
		return g_string_free(g_string_append(text, "gone\n"), FALSE);
	if (resource->slots > 0) {
		predict_slots(text, model, index);
		return g_string_free(text, FALSE);
	}
	for (guint i = 0; i < MODEL_DEVICES; i++)
		if (model_is_member(resource, i))
			append_line(text, model, index, model_device_id(i),
				    is_good(model, resource, i));
	return g_string_free(text, FALSE);
}
