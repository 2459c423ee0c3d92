/* SPDX-License-Identifier: Apache-2.0 */
/* What outlives the process, in memory. edge/state_file.h has it on disk. */
#pragma once

#include "model/device.h"
#include "model/resource.h"

/* What is known of one bus. */
struct saved_bus {
	char *name;
	GPtrArray *devices; /* Device *, by id */
};

/* One resource: its HCAs as long as it asks for the same devices, and what the kubelet
 * has seen of it. */
struct saved_resource {
	char *name; /* with its prefix */
	char *bus;
	char *fingerprint; /* of its selectors */
	GPtrArray *hcas; /* struct saved_hca *, by ordinal */
	GPtrArray *ids; /* char *: those of the list that the kubelet has seen last */
};

typedef struct saved_state SavedState;

struct saved_state {
	GPtrArray *buses; /* struct saved_bus * */
	GPtrArray *resources; /* struct saved_resource * */
};

SavedState *saved_state_new(void);
void saved_state_free(SavedState *state);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SavedState, saved_state_free)

/* Takes 'devices' over. */
void saved_state_add_bus(SavedState *state, const char *name, GPtrArray *devices);
/* Takes 'hcas' over. 'shown' is the list that the kubelet has seen, or NULL. */
void saved_state_add_resource(SavedState *state, const ResourceConfig *config, GPtrArray *hcas,
			      const Snapshot *shown);

/* Without anything but a name; takes all of them over. */
struct saved_resource *saved_resource_new(char *name, char *bus, char *fingerprint);
void saved_resource_free(struct saved_resource *saved);

/* NULL if there is none. */
const struct saved_bus *saved_state_bus(const SavedState *state, const char *name);
/* Takes the entry out of the state. */
struct saved_resource *saved_state_take_resource(SavedState *state, const char *name);
