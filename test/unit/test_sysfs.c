/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>

#include "common/arena.h"
#include "common/class_index.h"
#include "common/netdev.h"
#include "common/port_probe.h"
#include "common/sysfs.h"
#include "common/text.h"
#include "support/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

struct tree {
	char *root, *sysfs_root;
	struct rdmadp_host host;
	struct sysfs sysfs;
};

static guint n_messages;
static char *last_message;

static void host_log(const struct rdmadp_host *host, int level, const char *message)
{
	(void)host;
	(void)level;
	n_messages++;
	g_free(last_message);
	last_message = g_strdup(message);
}

static struct tree *tree_new(const char *lines)
{
	struct tree *tree = g_new0(struct tree, 1);

	tree->root = fixture_new(lines);
	tree->sysfs_root = g_build_filename(tree->root, "sys", NULL);
	tree->host =
		(struct rdmadp_host){sizeof(tree->host), 0, tree->sysfs_root, "/dev", host_log};
	assert_int_equal(sysfs_open(&tree->sysfs, &tree->host), 0);
	n_messages = 0;
	return tree;
}

static void tree_free(struct tree *tree)
{
	sysfs_close(&tree->sysfs);
	fixture_remove(tree->root);
	g_clear_pointer(&last_message, g_free);
	g_free(tree->root);
	g_free(tree->sysfs_root);
	g_free(tree);
}

/* --- attributes --- */

static void attributes_are_read_or_have_a_reason(void **state)
{
	static const struct {
		const char *path;
		int result;
		const char *text;
	} cases[] = {
		{"good", 0, "0x15b3"},	   {"spaces", 0, "HPE 100Gb 1-port  "},
		{"bare", 0, "x"},	   {"link", 0, "0x15b3"},
		{"a/up", 0, "0x15b3"},	   {"empty", -ENODATA, ""},
		{"newlines", -EILSEQ, ""}, {"nul", -EILSEQ, ""},
		{"binary", -EILSEQ, ""},   {"exact", 0, NULL},
		{"long", -EFBIG, ""},	   {"big", -EFBIG, ""},
		{"missing", -ENOENT, ""},  {"dangling", -ENOENT, ""},
		{"a", -EISDIR, ""},	   {"good/x", -ENOTDIR, ""},
		{"fifo", -ENODATA, ""},	   {"out", -EXDEV, ""},
		{"above", -EXDEV, ""},	   {"memory", -EXDEV, ""},
		{"../dev/x", -EXDEV, ""},
	};
	struct tree *tree = tree_new("file sys/good = 0x15b3\n"
				     "file sys/spaces = HPE 100Gb 1-port \\x20\n"
				     "link sys/link -> good\n"
				     "link sys/a/up -> ../good\n"
				     "file sys/empty =\n"
				     "file sys/newlines = a\\n\n"
				     "file sys/nul = a\\x00b\n"
				     "file sys/binary = \\xff\\xfe\n"
				     "fill sys/bare 0\n"
				     "fill sys/long 128\n"
				     "fill sys/exact 127\n"
				     "fill sys/big 1048576\n"
				     "link sys/dangling -> nowhere\n"
				     "fifo sys/fifo\n"
				     "link sys/out -> /etc/passwd\n"
				     "link sys/above -> ../dev/x\n"
				     "file dev/x = outside\n"
				     "link sys/memory -> /proc/self/mem\n");
	g_autofree char *bare = g_build_filename(tree->sysfs_root, "bare", NULL);

	(void)state;
	assert_true(g_file_set_contents(bare, "x", 1, NULL));
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		char text[SYSFS_TEXT] = "before";

		assert_int_equal(
			sysfs_read(&tree->sysfs, SYSFS_NOWAIT, cases[i].path, text, sizeof(text)),
			cases[i].result);
		if (cases[i].text)
			assert_string_equal(text, cases[i].text);
		else
			assert_int_equal(strlen(text), SYSFS_TEXT - 1);
	}
	tree_free(tree);
}

static void a_root_that_is_not_there_is_empty(void **state)
{
	struct rdmadp_host host = {sizeof(host), 0, "/nonexistent/sys", "/dev", host_log};
	char text[SYSFS_TEXT];
	char target[SYSFS_PATH];
	struct sysfs sysfs;

	(void)state;
	assert_int_equal(sysfs_open(&sysfs, &host), 0);
	assert_false(sysfs_read_in(&sysfs, "a", "b", text));
	assert_false(sysfs_exists(&sysfs, "a"));
	assert_int_equal(sysfs_resolve(&sysfs, "a", target), -ENOENT);
	assert_int_equal(sysfs_list(&sysfs, "a", NULL, NULL), -ENOENT);
	sysfs_close(&sysfs);
	host.sysfs_root = "/dev/null";
	assert_int_equal(sysfs_open(&sysfs, &host), -ENOTDIR);
}

static void a_root_may_come_late_and_be_replaced(void **state)
{
	char *root = fixture_new("dir other\nfile other/a = old\nfile later/a = new\n");
	g_autofree char *sys = g_build_filename(root, "sys", NULL);
	g_autofree char *other = g_build_filename(root, "other", NULL);
	g_autofree char *later = g_build_filename(root, "later", NULL);
	struct rdmadp_host host = {sizeof(host), 0, sys, "/dev", host_log};
	char text[SYSFS_TEXT];
	struct sysfs sysfs;

	(void)state;
	assert_int_equal(sysfs_open(&sysfs, &host), 0);
	assert_int_equal(rename(other, sys), 0);
	assert_int_equal(sysfs_read(&sysfs, SYSFS_NOWAIT, "a", text, sizeof(text)), -ENOENT);
	sysfs_open_again(&sysfs);
	assert_int_equal(sysfs_read(&sysfs, SYSFS_NOWAIT, "a", text, sizeof(text)), 0);
	assert_string_equal(text, "old");
	/* Gone for a while: what is open stays. */
	assert_int_equal(rename(sys, other), 0);
	sysfs_open_again(&sysfs);
	assert_int_equal(sysfs_read(&sysfs, SYSFS_NOWAIT, "a", text, sizeof(text)), 0);
	assert_int_equal(rename(later, sys), 0);
	sysfs_open_again(&sysfs);
	assert_int_equal(sysfs_read(&sysfs, SYSFS_NOWAIT, "a", text, sizeof(text)), 0);
	assert_string_equal(text, "new");
	sysfs_close(&sysfs);
	fixture_remove(root);
	g_free(root);
}

static void links_are_resolved_from_the_root(void **state)
{
	static const struct {
		const char *path, *target;
		int result;
	} cases[] = {
		{"class/net/eth0", "devices/pci0000:00/0000:00:04.0/net/eth0", 0},
		{"bus/x", "bus/y", 0},
		{"top", "devices/a", 0},
		{"class/out", NULL, -EXDEV},
		{"class/absolute", NULL, -EXDEV},
		{"class/zigzag", NULL, -EXDEV},
		{"class/missing", NULL, -ENOENT},
		{"class/plain", NULL, -EINVAL},
		{"class/space", NULL, -EILSEQ},
	};
	struct tree *tree = tree_new(
		"link sys/class/net/eth0 -> ../../devices/pci0000:00/0000:00:04.0/net/eth0\n"
		"link sys/bus/x -> y\n"
		"link sys/top -> devices/a\n"
		"link sys/class/out -> ../../etc\n"
		"link sys/class/absolute -> /etc\n"
		"link sys/class/zigzag -> ../devices/../../etc\n"
		"link sys/class/space -> ../devices/a b\n"
		"file sys/class/plain = 1\n");

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		char target[SYSFS_PATH];

		assert_int_equal(sysfs_resolve(&tree->sysfs, cases[i].path, target),
				 cases[i].result);
		if (cases[i].target)
			assert_string_equal(target, cases[i].target);
	}
	tree_free(tree);
}

static int collect(void *data, const char *name)
{
	g_string_append_printf(data, "%s ", name);
	return 0;
}

static int stop(void *data, const char *name)
{
	(void)data;
	(void)name;
	return 7;
}

static void listings_leave_out_what_has_no_proper_name(void **state)
{
	struct tree *tree = tree_new("file sys/d/one = 1\n"
				     "file sys/d/.hidden = 1\n"
				     "file sys/d/with space = 1\n");
	g_autoptr(GString) names = g_string_new(NULL);

	(void)state;
	assert_int_equal(sysfs_list(&tree->sysfs, "d", collect, names), 0);
	assert_string_equal(names->str, "one ");
	assert_int_equal(sysfs_list(&tree->sysfs, "d", stop, NULL), 7);
	assert_int_equal(sysfs_list(&tree->sysfs, "d/one", stop, NULL), -ENOTDIR);
	tree_free(tree);
}

static void a_condition_is_said_once(void **state)
{
	struct tree *tree = tree_new("dir sys/x\n");

	(void)state;
	sysfs_say_once(&tree->sysfs, RDMADP_LOG_WARNING, "'%s' is odd", "a");
	sysfs_say_once(&tree->sysfs, RDMADP_LOG_WARNING, "'%s' is odd", "b");
	sysfs_say_once(&tree->sysfs, RDMADP_LOG_WARNING, "'%s' is odd", "a");
	assert_int_equal(n_messages, 2);
	assert_string_equal(last_message, "'b' is odd");
	for (int i = 0; i < 2000; i++)
		sysfs_say_once(&tree->sysfs, RDMADP_LOG_WARNING, "entry %d", i);
	assert_true(n_messages <= 1001);
	tree_free(tree);
}

/* --- numbers --- */

static void numbers_have_their_formats(void **state)
{
	static const struct {
		const char *text, *id;
	} ids[] = {
		{"0x15b3", "15b3"},	{"15B3", "15b3"}, {"0X15b3", "15b3"},
		{"0x2", "0002"},	{"0", "0000"},	  {"0x020000", "020000"},
		{"0x", NULL},		{"", NULL},	  {"mellanox", NULL},
		{"0000:3b:00.0", NULL}, {"15b3 ", NULL},  {"12345678901234567", NULL},
	};
	uint32_t first;
	uint32_t second;

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(ids); i++) {
		char id[TEXT_ID] = "before";

		assert_int_equal(text_hex_id(ids[i].text, id), ids[i].id != NULL);
		if (ids[i].id)
			assert_string_equal(id, ids[i].id);
	}
	assert_true(text_same_hex("0x0001", "1"));
	assert_true(text_same_hex("0", "0x0000"));
	assert_false(text_same_hex("10", "1"));
	assert_false(text_same_hex("10", "ten"));
	assert_true(text_device_number("231:192", &first, &second));
	assert_int_equal(first, 231);
	assert_int_equal(second, 192);
	assert_false(text_device_number("231", &first, &second));
	assert_false(text_device_number("231:", &first, &second));
	assert_false(text_device_number(":1", &first, &second));
	assert_false(text_device_number("12345678901234567:1", &first, &second));
	assert_true(text_device_number("4095:1048575", &first, &second));
	assert_false(text_device_number("4096:0", &first, &second));
	assert_false(text_device_number("0:1048576", &first, &second));
	assert_false(text_unsigned("-1", 10, &first));
	assert_false(text_unsigned(" 1", 10, &first));
	assert_false(text_unsigned("1x", 10, &first));
	assert_false(text_unsigned("4294967296", 10, &first));
	assert_true(text_unsigned("0xffffffff", 16, &first));
}

static void pci_addresses_have_long_domains_too(void **state)
{
	static const char *const good[] = {"0000:3b:00.0", "10000:01:00.7", "c05e:00:02.0",
					   "abcdef01:00:1f.0"};
	static const char *const bad[] = {"",
					  "3b:00.0",
					  "000:3b:00.0",
					  "0000:3b:00",
					  "0000:3b:00.8",
					  "0000:3b:00.00",
					  "0000:3B:00.0",
					  "0000:3b:0.0",
					  "123456789:00:00.0",
					  "0000:3b:00.0x",
					  "0000-3b-00.0"};

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(good); i++)
		assert_true(text_is_pci_address(good[i]));
	for (gsize i = 0; i < G_N_ELEMENTS(bad); i++)
		assert_false(text_is_pci_address(bad[i]));
}

/* --- classes --- */

static void the_index_is_sorted_by_device(void **state)
{
	struct tree *tree = tree_new("pci 0000:01:00.0\npci 0000:01:00.1\n"
				     "ib 0000:01:00.1 b\nib 0000:01:00.0 a10\nib 0000:01:00.0 a9\n"
				     "net 0000:01:00.1 eth1\nnet virtual dummy0\n"
				     "uverbs 0000:01:00.0 10 a10\nuverbs 0000:01:00.0 9 a9\n"
				     "rdma_cm\n");
	struct arena arena = {0};
	struct class_index index = {0};
	struct class_entry **rdma;
	uint32_t first;

	(void)state;
	assert_int_equal(class_index_read(&tree->sysfs, &arena, &index), 0);
	rdma = (struct class_entry **)index.rdma.items;
	assert_int_equal(class_index_below(&index.rdma, "devices/pci0000:00/0000:01:00.0", &first),
			 2);
	assert_string_equal(rdma[first]->name, "a9");
	assert_string_equal(rdma[first + 1]->name, "a10");
	assert_int_equal(class_index_below(&index.rdma, "devices/pci0000:00", &first), 3);
	assert_int_equal(class_index_below(&index.rdma, "devices/pci0000:00/0000:01", &first), 0);
	assert_int_equal(class_index_below(&index.nets, "devices/virtual", &first), 1);
	assert_string_equal(class_index_named(&index.nets, "eth1")->parent,
			    "devices/pci0000:00/0000:01:00.1");
	assert_null(class_index_named(&index.nets, "eth2"));
	assert_int_equal(index.nodes.n, 2);
	assert_int_equal(index.rdma_cm->dev_minor, 121);
	arena_free(&arena);
	tree_free(tree);
}

static void representors_are_known_by_their_port(void **state)
{
	static const struct {
		const char *port_name, *switch_id;
		uint32_t flags;
	} cases[] = {
		{"p0", "aabb", 0},
		{"p1s2", "aabb", 0},
		{"pf0", "aabb", RDMADP_NET_REPRESENTOR},
		{"pf0vf3", "aabb", RDMADP_NET_REPRESENTOR},
		{"pf1sf88", "aabb", RDMADP_NET_REPRESENTOR},
		{"c1pf0vf3", "aabb", RDMADP_NET_REPRESENTOR},
		{"c1p0", "aabb", 0},
		{"pfx", "aabb", 0},
		{"pf0vf3", NULL, 0},
	};

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *id = cases[i].switch_id
					      ? g_strconcat("switch_id=", cases[i].switch_id, NULL)
					      : g_strdup("");
		g_autofree char *lines = g_strdup_printf("net virtual eth0 port_name=%s %s\n",
							 cases[i].port_name, id);
		struct tree *tree = tree_new(lines);
		struct netdev_facts facts;

		netdev_read(&tree->sysfs, "class/net/eth0", &facts);
		assert_int_equal(facts.flags, cases[i].flags);
		assert_int_equal(facts.link_layer, RDMADP_LINK_ETHERNET);
		tree_free(tree);
	}
}

/* --- port states --- */

static GMutex gate;
static gint n_reads;

/* Stands for hardware that does not answer: waits until the test opens the gate. */
static int read_hung(const struct sysfs *sysfs, enum sysfs_wait wait, const char *path, char *text,
		     size_t size)
{
	(void)sysfs;
	(void)wait;
	g_atomic_int_inc(&n_reads);
	if (strstr(path, "hung")) {
		g_mutex_lock(&gate);
		g_mutex_unlock(&gate);
	}
	g_strlcpy(text, "4: ACTIVE", size);
	return 0;
}

static void a_hung_port_does_not_hold_the_scan(void **state)
{
	struct tree *tree = tree_new("dir sys/x\n");
	struct port_probe probe = {.read = read_hung};
	uint32_t states[3] = {0};
	struct port_read reads[] = {{"first/state", &states[0]},
				    {"hung/state", &states[1]},
				    {"third/state", &states[2]}};
	void *items[] = {&reads[0], &reads[1], &reads[2]};
	struct list list = {items, 3, 3};

	(void)state;
	g_mutex_lock(&gate);
	assert_int_equal(port_probe_run(&probe, &tree->sysfs, &list), 0);
	assert_int_equal(states[1], RDMADP_PORT_UNKNOWN);
	assert_int_equal(states[2], RDMADP_PORT_UNKNOWN);
	assert_non_null(strstr(last_message, "/state' has no answer"));
	/* As long as it hangs, no other thread is started. */
	assert_int_equal(port_probe_run(&probe, &tree->sysfs, &list), 0);
	assert_true(g_atomic_int_get(&n_reads) <= 2);
	g_mutex_unlock(&gate);
	port_probe_end(&probe);
	assert_int_equal(port_probe_run(&probe, &tree->sysfs, &list), 0);
	for (gsize i = 0; i < G_N_ELEMENTS(states); i++)
		assert_int_equal(states[i], RDMADP_PORT_ACTIVE);
	port_probe_end(&probe);
	tree_free(tree);
}

static void port_states_are_the_kernels_numbers(void **state)
{
	(void)state;
	assert_int_equal(port_state_parse("0: NOP"), RDMADP_PORT_NOP);
	assert_int_equal(port_state_parse("1: DOWN"), RDMADP_PORT_DOWN);
	assert_int_equal(port_state_parse("4: ACTIVE"), RDMADP_PORT_ACTIVE);
	assert_int_equal(port_state_parse("5: ACTIVE_DEFER"), RDMADP_PORT_ACTIVE_DEFER);
	assert_int_equal(port_state_parse("6: UNKNOWN"), RDMADP_PORT_UNKNOWN);
	assert_int_equal(port_state_parse("ACTIVE"), RDMADP_PORT_UNKNOWN);
	assert_int_equal(port_state_parse(""), RDMADP_PORT_UNKNOWN);
}

/* --- memory --- */

static void an_arena_takes_any_size(void **state)
{
	struct arena arena = {0};
	struct list list = {0};
	char *big = arena_alloc(&arena, 100000);
	char *text = arena_printf(&arena, "%s-%d", "x", 7);

	(void)state;
	big[99999] = 'x';
	assert_string_equal(text, "x-7");
	assert_string_equal(arena_strndup(&arena, "abcdef", 3), "abc");
	for (int i = 0; i < 100; i++)
		assert_int_equal(list_add(&arena, &list, text), 0);
	assert_int_equal(list.n, 100);
	assert_ptr_equal(list.items[99], text);
	assert_int_equal(list_add(&arena, &list, NULL), -ENOMEM);
	arena_free(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attributes_are_read_or_have_a_reason),
		cmocka_unit_test(a_root_that_is_not_there_is_empty),
		cmocka_unit_test(a_root_may_come_late_and_be_replaced),
		cmocka_unit_test(links_are_resolved_from_the_root),
		cmocka_unit_test(listings_leave_out_what_has_no_proper_name),
		cmocka_unit_test(a_condition_is_said_once),
		cmocka_unit_test(numbers_have_their_formats),
		cmocka_unit_test(pci_addresses_have_long_domains_too),
		cmocka_unit_test(the_index_is_sorted_by_device),
		cmocka_unit_test(representors_are_known_by_their_port),
		cmocka_unit_test(a_hung_port_does_not_hold_the_scan),
		cmocka_unit_test(port_states_are_the_kernels_numbers),
		cmocka_unit_test(an_arena_takes_any_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
