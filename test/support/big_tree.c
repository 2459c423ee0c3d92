/* SPDX-License-Identifier: Apache-2.0 */
#include "support/big_tree.h"

#include "support/fixture.h"

/* 256 buses of 32 devices of 8 functions in each domain. */
static char *address(guint i)
{
	return g_strdup_printf("%04x:%02x:%02x.%x", i / 65536, i / 256 % 256, i / 8 % 32, i % 8);
}

static gboolean is_hca(const struct big_tree *tree, guint i, guint *ret_number)
{
	guint step = tree->functions / MAX(tree->hcas, 1);

	*ret_number = i / step;
	return i % step == 0 && *ret_number < tree->hcas;
}

static void append_hca(GString *lines, const char *id, guint n)
{
	g_string_append_printf(lines,
			       "pci %s class=0x020700 device=0x101b driver=mlx5_core numa=0\n", id);
	g_string_append_printf(lines, "net %s ib%u type=32\n", id, n);
	g_string_append_printf(lines, "ib %s mlx5_%u\n", id, n);
	g_string_append_printf(lines, "uverbs %s %u mlx5_%u\n", id, n, n);
	g_string_append_printf(lines, "umad %s %u mlx5_%u 1\n", id, n, n);
	g_string_append_printf(lines, "issm %s %u mlx5_%u 1\n", id, n, n);
}

static void append_nic(GString *lines, const char *id, guint n)
{
	g_string_append_printf(lines, "pci %s vendor=0x8086 device=0x1563 driver=ixgbe numa=0\n",
			       id);
	g_string_append_printf(lines, "net %s eth%u\n", id, n);
}

gboolean big_tree_build(const struct big_tree *tree, const char *root, GError **error)
{
	g_autoptr(GString) lines = g_string_new("netns Y\nrdma_cm\n");
	guint nics = 0;

	for (guint i = 0; i < tree->functions; i++) {
		g_autofree char *id = address(i);
		guint number;

		if (is_hca(tree, i, &number))
			append_hca(lines, id, number);
		else if (nics < tree->nics)
			append_nic(lines, id, nics++);
		else
			g_string_append_printf(lines,
					       "pci %s class=0x060400 vendor=0x8086 "
					       "device=0x2030 driver=pcieport\n",
					       id);
	}
	return fixture_build(lines->str, root, error);
}
