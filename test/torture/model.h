/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a node is like and what the kubelet has to see of it, as far from the daemon's own
 * code as it can be: plain arrays, no clock, no delays, only the last state counts.
 */
#pragma once

#include <glib.h>

/* The first four are shared by several resources, the others are exclusive. */
#define MODEL_DEVICES 6
#define MODEL_SHARED 4
/* uverbs0 to uverbs31 */
#define MODEL_NUMBERS 32

struct model_device {
	gboolean present, healthy;
	guint number; /* of its uverbs device */
};

enum model_policy { MODEL_PER_DEVICE, MODEL_ANY_DEVICE, MODEL_ALL_DEVICES, MODEL_OFF, N_POLICIES };

/* The resources: two shared ones that stay, one that comes and goes, one that is exclusive. */
enum {
	MODEL_MARKER, /* its size tells which configuration is in force */
	MODEL_SLOTS, /* pods get slots of it */
	MODEL_GUEST, /* is not always configured */
	MODEL_EXCLUSIVE, /* pods get devices of it */
	N_RESOURCES
};

struct model_resource {
	const char *name; /* "rdma/slots" */
	gboolean configured;
	guint slots;
	enum model_policy policy;
	guint selected; /* a bit a device */
	guint members[MODEL_DEVICES]; /* devices that it had at least once, by ordinal */
	guint n_members;
};

struct model_pod {
	char *name, *id;
	guint resource;
	guint numbers[MODEL_DEVICES]; /* that the devices had when it was admitted */
	guint granted; /* a bit for each device it has got */
};

typedef struct model Model;

struct model {
	struct model_device devices[MODEL_DEVICES];
	struct model_resource resources[N_RESOURCES];
	GPtrArray *pods; /* struct model_pod * */
	guint generation; /* of the configuration */
};

Model *model_new(void);
void model_free(Model *model);

/* Devices have appeared, or a configuration is in force. */
void model_settle(Model *model);
/* The resource has it, or had it. */
gboolean model_is_member(const struct model_resource *resource, guint device);
/* Other random slots, policies and selections; the guest comes or goes. */
void model_reconfigure(Model *model, GRand *random);
/* TRUE if no device has the number, present or not. */
gboolean model_is_free_number(const Model *model, guint number);
/* TRUE if one of its devices is there; without a health policy that is not told. */
gboolean model_has_files(const Model *model, guint index);
/* The pod was admitted just now. */
void model_admit(Model *model, const char *name, guint resource, const char *id);

/* "0000:10:00.0"; static. */
const char *model_device_id(guint device);
/* The text file of the mock bus, and the resource file. */
char *model_devices_text(const Model *model);
char *model_resources_text(const Model *model);

/* The list that the kubelet is to have in the end, a line a device, sorted:
 * "rdma/slots-0 Healthy\n". "gone\n" if nobody is to serve it. */
char *model_predict(const Model *model, guint index);
