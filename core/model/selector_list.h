/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One list of a selector object, such as "deviceIDs": what it is called, whether a
 * device satisfies it, and what the device has in its place. For selector.c, which
 * combines lists, and candidates.c, which explains them.
 */
#pragma once

#include "model/selector.h"

struct selector_list {
	enum selector_key key; /* SELECTOR_N_KEYS: an attribute */
	const char *attribute; /* its key; else NULL */
	const char *const *values; /* never empty */
};

/* How devices are judged: the backend's match and its argument. */
struct selector_matcher {
	selector_match_fn ask; /* NULL: an attribute must be equal */
	gpointer data;
};

/* struct selector_list: those that restrict, in the order in which they are judged
 * (attributes last, by key). They borrow from the selector. */
GArray *selector_lists(const struct selector *selector);

/* "deviceIDs", "attributes.type" */
char *selector_list_name(const struct selector_list *list);

gboolean selector_list_takes(const struct selector_list *list, const Device *device,
			     const struct selector_matcher *matcher);
/* One value of the list alone. */
gboolean selector_list_value_takes(const struct selector_list *list, const char *value,
				   const Device *device, const struct selector_matcher *matcher);

/* What the device has where the list looks, as its values are written ("ens1f0#3" of a
 * virtual function): char *, none twice; may be empty. */
GPtrArray *selector_list_seen(const struct selector_list *list, const Device *device);

/* Adds a copy unless the array has the text already. */
void selector_add_once(GPtrArray *texts, const char *text);
