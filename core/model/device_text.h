/* SPDX-License-Identifier: Apache-2.0 */
/* What the core demands of a text that a backend reports. Only for device*.c. */
#pragma once

#include <glib.h>

enum text_rule {
	TEXT_LINE, /* UTF-8 without control characters */
	TEXT_WORD, /* printable ASCII without white space */
	TEXT_NAME, /* a word without '/' and ',': a directory entry, an element of a list */
	TEXT_DEV_PATH, /* stays below the device root; becomes a path on the host */
	TEXT_SYSFS_PATH, /* stays below the sysfs root */
};

/* NULL if the text obeys; otherwise a phrase that continues "member 'value' ". */
const char *text_problem(enum text_rule rule, const char *text);

/* Of a node's name, which obeys TEXT_DEV_PATH: does it fit its kind (enum
 * rdmadp_node_kind)? NULL or a phrase as above. A kind that this core does not know
 * fits anything: such a node is never handed out. */
const char *text_node_problem(guint32 kind, const char *name);
