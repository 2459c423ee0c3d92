/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "model/prefer.h"

/* A candidate is id:numa:root:path[:parent], with * in front if it must be included. */
#define TWO_SOCKETS                                                                                \
	"a0:0:r0:s0/a0 a1:0:r0:s0/a1 a2:0:r0:s1/a2 b0:0:r1:s2/b0 c0:1:r2:s3/c0 c1:1:r2:s3/c1 "     \
	"c2:1:r2:s3/c2 d0:1:r3:s4/d0"

#define VFS "p0v0:0:r0:s/x:p0 p0v1:0:r0:s/y:p0 p0v2:0:r0:s/z:p0 p1v0:0:r0:s/u:p1 p1v1:0:r0:s/v:p1"

static const struct {
	const char *name;
	const char *candidates;
	gsize size;
	enum allocation_policy policy;
	const char *chosen;
} rows[] = {
	{"one: the smallest group, lowest address", TWO_SOCKETS, 1, ALLOCATION_PACKED, "b0"},
	{"two under one switch", TWO_SOCKETS, 2, ALLOCATION_PACKED, "a0 a1"},
	{"three under one switch", TWO_SOCKETS, 3, ALLOCATION_PACKED, "c0 c1 c2"},
	{"four on one node", TWO_SOCKETS, 4, ALLOCATION_PACKED, "c0 c1 c2 d0"},
	{"five need both nodes", TWO_SOCKETS, 5, ALLOCATION_PACKED, "a0 a1 a2 b0 d0"},
	{"all", TWO_SOCKETS, 8, ALLOCATION_PACKED, "a0 a1 a2 b0 c0 c1 c2 d0"},
	{"more than there are", "a0:0:r0:p/a0 b0:0:r0:p/b0", 5, ALLOCATION_PACKED, "a0 b0"},
	{"none wanted", "a0:0:r0:p/a0", 0, ALLOCATION_PACKED, ""},
	{"none there", "", 3, ALLOCATION_PACKED, ""},
	{"what must be included pulls the rest to its node, root and switch",
	 "a0:0:r0:s0/a0 a1:0:r0:s0/a1 *c0:1:r2:s3/c0 c1:1:r2:s3/c1 d0:1:r3:s4/d0", 2,
	 ALLOCATION_PACKED, "c0 c1"},
	{"and is included even where it does not fit",
	 "*a0:0:r0:s0/a0 *c0:1:r2:s3/c0 c1:1:r2:s3/c1", 2, ALLOCATION_PACKED, "a0 c0"},
	{"a node in use is filled before another is opened",
	 "*a0:0:r0:s0/a0 a1:0:r1:s1/a1 c0:1:r2:s3/c0 c1:1:r2:s3/c1", 3, ALLOCATION_PACKED,
	 "a0 a1 c0"},
	{"two under one switch of a larger node before two of a smaller one",
	 "a0:0:r0:s0/a0 a1:0:r0:s1/a1 b0:1:r1:s2/b0 b1:1:r2:s3/b1 b2:1:r2:s3/b2", 2,
	 ALLOCATION_PACKED, "b1 b2"},
	{"one root of a larger node before two of a smaller one",
	 "a0:0:r0:s0/a0 a1:0:r1:s1/a1 b0:1:r2:s2/b0 b1:1:r2:s3/b1 b2:1:r3:s4/b2", 2,
	 ALLOCATION_PACKED, "b0 b1"},
	{"one switch of a larger root before two of a smaller one",
	 "a0:0:r0:s0/a0 a1:0:r0:s1/a1 a2:0:r1:s2/a2 a3:0:r1:s2/a3 a4:0:r1:s3/a4", 2,
	 ALLOCATION_PACKED, "a2 a3"},
	{"two cards of one switch before two of different ones",
	 "a0:0:r0:p/s0/q0/a0 a1:0:r0:p/s1/q1/a1 a2:0:r0:p/s1/q2/a2", 2, ALLOCATION_PACKED, "a1 a2"},
	{"two functions of one card before two cards of one switch",
	 "a0:0:r0:p/s0/q0/a0 a1:0:r0:p/s0/q1/a1 a2:0:r0:p/s0/q1/a2", 2, ALLOCATION_PACKED, "a1 a2"},
	{"cards without a switch are as near to each other as the root allows",
	 "a0:0:r0:q0/a0 a1:0:r0:q1/a1 a2:0:r0:q2/a2", 2, ALLOCATION_PACKED, "a0 a1"},
	{"unknown node and root", "b::/: a::/:", 1, ALLOCATION_PACKED, "a"},
	{"spread over the physical functions", VFS, 2, ALLOCATION_DISTRIBUTED, "p0v0 p1v0"},
	{"evenly from what is left", VFS, 3, ALLOCATION_DISTRIBUTED, "p0v0 p0v1 p1v0"},
	{"one from the fullest", VFS, 1, ALLOCATION_DISTRIBUTED, "p0v0"},
	{"not from the function that one must be included of",
	 "*p0v0:0:r0:s/x:p0 p0v1:0:r0:s/y:p0 p1v0:0:r0:s/z:p1", 2, ALLOCATION_DISTRIBUTED,
	 "p0v0 p1v0"},
	{"spread, all", VFS, 5, ALLOCATION_DISTRIBUTED, "p0v0 p0v1 p0v2 p1v0 p1v1"},
	{"spread stays on one node if it can",
	 "a0:0:r0:s/x:p0 a1:0:r0:s/y:p1 b0:1:r1:s/z:p2 b1:1:r1:s/u:p3 b2:1:r1:s/v:p3", 2,
	 ALLOCATION_DISTRIBUTED, "a0 a1"},
};

static struct prefer_candidate candidate_parse(char **fields)
{
	const char *id = fields[0];
	gboolean must = id[0] == '*';

	return (struct prefer_candidate){
		.id = id + must,
		.numa_node = fields[1][0] != '\0' ? (int)strtol(fields[1], NULL, 10) : -1,
		.pcie_root = fields[2],
		.pcie_path = fields[3],
		.parent = g_strv_length(fields) > 4 && fields[4][0] != '\0' ? fields[4] : NULL,
		.must = must,
	};
}

static char *choose(const char *text, gsize size, enum allocation_policy policy)
{
	g_auto(GStrv) words = g_strsplit(text, " ", -1);
	gsize n = text[0] != '\0' ? g_strv_length(words) : 0;
	g_autofree struct prefer_candidate *candidates = g_new0(struct prefer_candidate, n + 1);
	g_autoptr(GPtrArray) fields = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev);
	g_autoptr(GPtrArray) ids = NULL;

	for (gsize i = 0; i < n; i++) {
		g_ptr_array_add(fields, g_strsplit(words[i], ":", -1));
		/* From the end, so that the order of the request cannot matter. */
		candidates[n - 1 - i] = candidate_parse(g_ptr_array_index(fields, i));
	}
	ids = prefer_choose(candidates, n, size, policy);
	g_ptr_array_add(ids, NULL);
	return g_strjoinv(" ", (GStrv)ids->pdata);
}

static void the_preferred_devices_are_chosen(void **state)
{
	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_autofree char *chosen = choose(rows[i].candidates, rows[i].size, rows[i].policy);

		if (strcmp(chosen, rows[i].chosen) != 0)
			print_error("row: %s\n", rows[i].name);
		assert_string_equal(chosen, rows[i].chosen);
	}
}

/* Every size of a large request is answered exactly, each id once. */
static void large_requests_get_what_they_ask_for(void **state)
{
	enum { N = 4096 };
	g_autofree struct prefer_candidate *candidates = g_new0(struct prefer_candidate, N);
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	static const gsize sizes[] = {1, 7, 1000, 4095, 4096};

	(void)state;
	for (guint i = 0; i < N; i++)
		g_ptr_array_add(names, g_strdup_printf("%05u", i));
	for (gsize i = 0; i < 2 * G_N_ELEMENTS(sizes); i++) {
		g_autoptr(GHashTable) once = g_hash_table_new(g_str_hash, g_str_equal);
		g_autoptr(GPtrArray) ids = NULL;

		for (guint j = 0; j < N; j++)
			candidates[j] = (struct prefer_candidate){
				.id = g_ptr_array_index(names, j),
				.numa_node = (int)(j % 4),
				.pcie_root = g_ptr_array_index(names, j % 32),
				.must = j % 1000 == 0 && sizes[i / 2] > 10,
			};
		ids = prefer_choose(candidates, N, sizes[i / 2],
				    i % 2 ? ALLOCATION_DISTRIBUTED : ALLOCATION_PACKED);
		assert_int_equal(ids->len, sizes[i / 2]);
		for (guint j = 0; j < ids->len; j++)
			assert_true(g_hash_table_add(once, g_ptr_array_index(ids, j)));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_preferred_devices_are_chosen),
		cmocka_unit_test(large_requests_get_what_they_ask_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
