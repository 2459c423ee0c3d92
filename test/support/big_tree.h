/* SPDX-License-Identifier: Apache-2.0 */
/* A machine with very many PCI functions, to see what a scan costs. */
#pragma once

#include <glib.h>

struct big_tree {
	guint functions; /* all together */
	guint hcas; /* with RDMA device, interface, uverbs, umad and issm */
	guint nics; /* with an interface only */
};

/* Builds <root>/sys and <root>/dev. The rest of the functions are of other classes and
 * have what the kernel shows of any function. */
gboolean big_tree_build(const struct big_tree *tree, const char *root, GError **error);
