/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "edge/netlink.h"
#include "support/fixture.h"

#define WAIT_S 10

#define UEVENT(text) text, sizeof(text) - 1

static const struct {
	const char *name;
	const char *message;
	gsize length;
	const char *subsystem; /* NULL: not our concern */
} uevents[] = {
	{"an RDMA device comes",
	 UEVENT("add@/devices/virtual/infiniband/"
		"rxe0\0ACTION=add\0SUBSYSTEM=infiniband\0NAME=rxe0\0"),
	 "infiniband"},
	{"its uverbs device",
	 UEVENT("add@/devices/virtual/infiniband_verbs/uverbs0\0SUBSYSTEM=infiniband_verbs\0"),
	 "infiniband_verbs"},
	{"a driver is bound", UEVENT("bind@/devices/pci0000:00/0000:00:04.0\0SUBSYSTEM=pci\0"),
	 "pci"},
	{"a UB entity", UEVENT("add@/devices/ub0/00001\0SUBSYSTEM=ub\0UB_ID=CC08:8200\0"), "ub"},
	{"a physical interface is renamed",
	 UEVENT("move@/devices/pci0000:00/0000:00:04.0/net/eth1\0SUBSYSTEM=net\0"), "net"},
	{"a pod's virtual interface", UEVENT("add@/devices/virtual/net/veth12\0SUBSYSTEM=net\0"),
	 NULL},
	{"a disk", UEVENT("change@/devices/virtual/block/loop0\0SUBSYSTEM=block\0"), NULL},
	{"a user-space daemon's form", UEVENT("libudev\0SUBSYSTEM=pci\0"), NULL},
	{"not terminated", UEVENT("add@/devices/x\0SUBSYSTEM=pci"), NULL},
	{"no terminator at all", "add@/devices/x", 14, NULL},
	{"nothing", "", 0, NULL},
	{"no subsystem", UEVENT("add@/devices/x\0ACTION=add\0"), NULL},
};

static void only_what_may_be_an_hca_concerns_us(void **state)
{
	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(uevents); i++) {
		const char *subsystem = NULL;
		/* A copy of exactly this length, so that a sanitizer sees a read beyond it. */
		g_autofree char *copy = g_memdup2(uevents[i].message, uevents[i].length);
		gboolean concerns = netlink_uevent_concerns_us(copy != NULL ? copy : "",
							       uevents[i].length, &subsystem);

		if (concerns != (uevents[i].subsystem != NULL))
			print_error("uevent: %s\n", uevents[i].name);
		assert_int_equal(concerns, uevents[i].subsystem != NULL);
		if (concerns)
			assert_string_equal(subsystem, uevents[i].subsystem);
	}
}

struct heard {
	GMainLoop *loop;
	enum netlink_hint wanted;
	const char *name;
	gboolean got;
};

static void hear(enum netlink_hint hint, const char *name, gpointer data)
{
	struct heard *heard = data;

	if (hint != heard->wanted || g_strcmp0(name, heard->name) != 0)
		return;
	heard->got = TRUE;
	g_main_loop_quit(heard->loop);
}

static gboolean give_up(gpointer data)
{
	g_main_loop_quit(data);
	return G_SOURCE_CONTINUE;
}

/* Opens the sockets, lets 'command' happen, and waits for the hint. */
static gboolean hears(const char *command, enum netlink_hint wanted, const char *name)
{
	struct heard heard = {g_main_loop_new(NULL, FALSE), wanted, name, FALSE};
	g_autofree char *trouble = NULL;
	Netlink *netlink = netlink_new(hear, &heard, &trouble);
	guint limit = g_timeout_add_seconds(WAIT_S, give_up, heard.loop);

	assert_null(trouble);
	assert_true(g_spawn_command_line_sync(command, NULL, NULL, NULL, NULL));
	g_main_loop_run(heard.loop);
	g_source_remove(limit);
	netlink_free(netlink);
	g_main_loop_unref(heard.loop);
	return heard.got;
}

static void a_real_link_change_is_heard(void **state)
{
	(void)state;
	if (unshare(CLONE_NEWNET) != 0 ||
	    !g_spawn_command_line_sync("ip link", NULL, NULL, NULL, NULL))
		skip();
	assert_true(hears("ip link add hca0 type veth peer name far0", NETLINK_HINT_LINK, "hca0"));
	assert_true(hears("ip link set hca0 up", NETLINK_HINT_LINK, "hca0"));
	assert_true(hears("ip link del hca0", NETLINK_HINT_LINK, "far0"));
}

static void a_real_uevent_is_heard(void **state)
{
	static const char *const path = "/sys/class/misc/cpu_dma_latency/uevent";

	(void)state;
	if (access(path, W_OK) != 0)
		skip();
	assert_true(hears("sh -c 'echo change > /sys/class/misc/cpu_dma_latency/uevent'",
			  NETLINK_HINT_BUS, "misc"));
}

static void the_namespace_mode_is_read(void **state)
{
	static const struct {
		const char *machine;
		enum rdma_netns_mode mode;
	} rows[] = {
		{"dir sys\nnetns Y\n", RDMA_NETNS_SHARED},
		{"dir sys\nnetns N\n", RDMA_NETNS_EXCLUSIVE},
		{"dir sys\ndir dev\n", RDMA_NETNS_SHARED},
		{"fifo sys/module/ib_core/parameters/netns_mode\n", RDMA_NETNS_SHARED},
	};

	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_autofree char *root = fixture_new(rows[i].machine);
		g_autofree char *sysfs = g_build_filename(root, "sys", NULL);

		assert_int_equal(netlink_rdma_netns_mode(sysfs), rows[i].mode);
		fixture_remove(root);
	}
	/* On the machine of the test: whatever it is, it answers. */
	assert_true(netlink_rdma_netns_mode("/sys") <= RDMA_NETNS_EXCLUSIVE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_may_be_an_hca_concerns_us),
		cmocka_unit_test(the_namespace_mode_is_read),
		cmocka_unit_test(a_real_uevent_is_heard),
		cmocka_unit_test(a_real_link_change_is_heard),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
