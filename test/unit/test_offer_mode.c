/* SPDX-License-Identifier: Apache-2.0 */
#include "support/stage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define HCA(id, node, n) id " numa=" node " rdma=mlx5_" n " port=1:eth:active uverbs=" n " cm"
#define A HCA("a", "0", "0")
#define B HCA("b", "1", "1")

static struct stage *stage;

static int end(G_GNUC_UNUSED void **state)
{
	g_clear_pointer(&stage, stage_free);
	return 0;
}

/* "rdma/r-0 a!": the ids that the kubelet has, '!' Unhealthy. */
static char *ids_text(void)
{
	GString *text = g_string_new(stage->shown == NULL ? "none" : NULL);

	for (guint i = 0; stage->shown != NULL && i < stage->shown->slots->len; i++) {
		const struct slot *slot = g_ptr_array_index(stage->shown->slots, i);

		g_string_append_printf(text, "%s%s%s", i > 0 ? " " : "", slot->id,
				       slot->healthy ? "" : "!");
	}
	return g_string_free(text, FALSE);
}

#define EXPECT_IDS(expected)                                                                       \
	do {                                                                                       \
		g_autofree char *expect_text = ids_text();                                         \
		assert_string_equal(expect_text, expected);                                        \
	} while (0)

static gboolean want(gboolean exclusive)
{
	gboolean changed = offer_want_exclusive(stage->offer, exclusive, stage->now_us);

	stage_flush(stage);
	return changed;
}

static void begin(const char *config)
{
	stage = stage_new(config);
	SCAN(stage, A, B);
	stage_look(stage, "a", "ok");
	stage_look(stage, "b", "ok");
}

static void expect_allocation(const char *id, const char *error_text)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(Allocation) allocation = resource_compose(
		resource_config(offer_resource(stage->offer)), stage->shown, &id, 1, NULL, &error);

	if (allocation != NULL)
		offer_allocated(stage->offer, &id, 1, stage->now_us);
	assert_string_equal(allocation != NULL ? "given" : error->message, error_text);
}

static void nothing_is_listed_before_the_mode_is_known(G_GNUC_UNUSED void **state)
{
	begin("mode=auto hcaMax=2");
	EXPECT_IDS("none");
	assert_int_equal(offer_asks_from(stage->offer, -1), 0);
	stage_held(stage, "");
	EXPECT_IDS("rdma/r-0 rdma/r-1");
	assert_int_equal(offer_asks_from(stage->offer, stage->now_us), -1);
}

static void nothing_is_listed_before_the_first_scan(G_GNUC_UNUSED void **state)
{
	stage = stage_new("mode=auto hcaMax=2");
	stage_held(stage, "");
	EXPECT_IDS("none");
	want(TRUE);
	stage_held(stage, "");
	EXPECT_IDS("none");
	SCAN(stage, A);
	stage_look(stage, "a", "ok");
	EXPECT_IDS("rdma/r-0! rdma/r-1!");
}

/* The order of the switch: Unhealthy first, then the kubelet's word, then the new ids; and
 * what was shown stays as long as ids do that are gone. */
static void a_switch_goes_step_by_step(G_GNUC_UNUSED void **state)
{
	begin("mode=auto hcaMax=2");
	stage_held(stage, "");
	expect_allocation("rdma/r-0", "given");
	assert_false(want(TRUE));
	EXPECT_IDS("rdma/r-0 rdma/r-1");
	stage_held(stage, "rdma/r-0");
	EXPECT_IDS("rdma/r-0! rdma/r-1!");
	/* the kubelet may have chosen it before it got that list */
	expect_allocation("rdma/r-1", "given");
	stage_at(stage, 3);
	stage_held(stage, "rdma/r-0 rdma/r-1");
	EXPECT_IDS("rdma/r-0! rdma/r-1!");
	assert_false(resource_is_exclusive(offer_resource(stage->offer)));
	stage_at(stage, 5);
	stage_held(stage, "");
	assert_true(resource_is_exclusive(offer_resource(stage->offer)));
	EXPECT_IDS("a b rdma/r-0! rdma/r-1!");
	expect_allocation("a", "given");
	expect_allocation("rdma/r-0", "'rdma/r' does not offer the device 'rdma/r-0' any more");
	assert_string_equal(stage->log->str,
			    "i hca-shared mode\n"
			    "w the switch to exclusive mode waits for the pods that hold 2 of the "
			    "devices, such "
			    "as 'hpc/job-0'; until then no other pod gets one\n"
			    "i hca-exclusive mode\n"
			    "i discovered RDMA device: mlx5_0 (ID=a, NUMA=0, uverbs=uverbs0)\n"
			    "i discovered RDMA device: mlx5_1 (ID=b, NUMA=1, uverbs=uverbs1)\n");
	/* only then are they gone, when they have waited for long enough */
	stage_at(stage, 700);
	stage_held(stage, "a");
	EXPECT_IDS("a b");
}

static void and_back(G_GNUC_UNUSED void **state)
{
	begin("mode=auto hcaMax=2");
	want(TRUE);
	stage_held(stage, "");
	EXPECT_IDS("a b");
	want(FALSE);
	stage_held(stage, "a");
	EXPECT_IDS("a! b!");
	stage_at(stage, 3);
	stage_held(stage, "");
	EXPECT_IDS("rdma/r-0 rdma/r-1 a! b!");
	expect_allocation("a", "'rdma/r' does not offer the device 'a' any more");
	expect_allocation("rdma/r-1", "given");
	/* and back again before they were gone */
	want(TRUE);
	stage_at(stage, 5);
	stage_held(stage, "");
	EXPECT_IDS("rdma/r-0! rdma/r-1! a! b!");
	stage_at(stage, 7);
	stage_held(stage, "");
	EXPECT_IDS("a b rdma/r-0! rdma/r-1!");
}

static void a_switch_is_called_off(G_GNUC_UNUSED void **state)
{
	begin("mode=auto hcaMax=2");
	stage_held(stage, "");
	want(TRUE);
	stage_held(stage, "rdma/r-0");
	EXPECT_IDS("rdma/r-0! rdma/r-1!");
	want(FALSE);
	EXPECT_IDS("rdma/r-0 rdma/r-1");
}

static void a_silent_kubelet_leaves_the_mode(G_GNUC_UNUSED void **state)
{
	begin("mode=auto hcaMax=2");
	stage_held(stage, "");
	want(TRUE);
	assert_false(offer_silent(stage->offer, "no socket", FALSE, stage->now_us));
	stage_flush(stage);
	EXPECT_IDS("rdma/r-0 rdma/r-1");
}

static void the_label_is_nothing_to_other_modes(G_GNUC_UNUSED void **state)
{
	begin("hcaMax=2");
	EXPECT_IDS("rdma/r-0 rdma/r-1");
	assert_false(want(TRUE));
	EXPECT_IDS("rdma/r-0 rdma/r-1");
	assert_int_equal(offer_asks_from(stage->offer, -1), -1);
}

/* A former process has listed devices, and pods hold them. */
static void what_was_shown_before_is_the_first_guess(G_GNUC_UNUSED void **state)
{
	g_autoptr(GPtrArray) none = g_ptr_array_new();
	g_autoptr(GPtrArray) ids = g_ptr_array_new();

	g_ptr_array_add(ids, (gpointer) "a");
	g_ptr_array_add(ids, (gpointer) "rdma/r-0");
	stage = stage_new("mode=auto hcaMax=1");
	offer_restore(stage->offer, none, ids, stage->now_us);
	SCAN(stage, A);
	stage_look(stage, "a", "ok");
	EXPECT_IDS("none");
	assert_true(resource_is_exclusive(offer_resource(stage->offer)));
	assert_false(offer_silent(stage->offer, "no socket", TRUE, stage->now_us));
	stage_flush(stage);
	EXPECT_IDS("a rdma/r-0!");
}

static gboolean keeps_all(G_GNUC_UNUSED const Device *device, G_GNUC_UNUSED gpointer data)
{
	return TRUE;
}

/* The node's label is not known yet: a resource begins as it was. */
static void until_the_label_is_known_it_stays_as_it_was(G_GNUC_UNUSED void **state)
{
	g_autoptr(GPtrArray) none = g_ptr_array_new();
	g_autoptr(GPtrArray) ids = g_ptr_array_new();

	g_ptr_array_add(ids, (gpointer) "a");
	stage = stage_new_undecided("mode=auto hcaMax=1");
	offer_restore(stage->offer, none, ids, stage->now_us);
	SCAN(stage, A);
	stage_look(stage, "a", "ok");
	stage_held(stage, "");
	EXPECT_IDS("a");
	/* a reload changes nothing about that */
	offer_configure(stage->offer,
			(ResourceConfig *)resource_config(offer_resource(stage->offer)),
			&stage->rules, keeps_all, NULL, stage->now_us);
	stage_flush(stage);
	EXPECT_IDS("a");
	/* nor what was wanted already */
	assert_false(want(TRUE));
	EXPECT_IDS("a");
	want(FALSE);
	stage_held(stage, "");
	EXPECT_IDS("a!");
}

static void without_a_past_it_begins_shared(G_GNUC_UNUSED void **state)
{
	stage = stage_new_undecided("mode=auto hcaMax=1");
	SCAN(stage, A);
	stage_look(stage, "a", "ok");
	stage_held(stage, "");
	EXPECT_IDS("rdma/r-0");
}

/* The configuration says it: then it is changed the same way. */
static void a_change_of_the_configuration_waits_for_pods(G_GNUC_UNUSED void **state)
{
	g_autoptr(ResourceConfig) exclusive = config_build("mode=exclusive");

	begin("hcaMax=2");
	offer_configure(stage->offer, exclusive, &stage->rules, keeps_all, NULL, stage->now_us);
	stage_flush(stage);
	EXPECT_IDS("rdma/r-0 rdma/r-1");
	stage_held(stage, "rdma/r-0");
	EXPECT_IDS("rdma/r-0! rdma/r-1!");
	stage_at(stage, 3);
	stage_held(stage, "");
	EXPECT_IDS("a b rdma/r-0! rdma/r-1!");
}

static void devices_are_told_in_the_shape_of_ack(G_GNUC_UNUSED void **state)
{
	stage = stage_new("mode=exclusive");
	SCAN(stage,
	     "0000:7f:00.0 numa=0 pcie=pci0000:7b,0000:7b:01.0/0000:7f:00.0 rdma=mlx5_bond_0 "
	     "port=1:eth:active uverbs=0 cm",
	     "guid numa=-1 rdma=smi0 management issm=0 rdma=hns_0 port=1:eth:active uverbs=3 "
	     "rdma=hns_1 port=1:eth:active uverbs=4 cm");
	stage_first_look_over(stage);
	assert_string_equal(
		stage->log->str,
		"i hca-exclusive mode\n"
		"i discovered RDMA device: mlx5_bond_0 (PCI=0000:7f:00.0, NUMA=0, uverbs=uverbs0, "
		"pcieRoot=pci0000:7b) at 0000:7b:01.0/0000:7f:00.0\n"
		"i discovered RDMA device: hns_0,hns_1 (ID=guid, NUMA=-1, "
		"uverbs=uverbs3,uverbs4)\n");
	g_string_truncate(stage->log, 0);
	stage_flush(stage);
	assert_string_equal(stage->log->str, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_teardown(name, end)
		TEST(nothing_is_listed_before_the_mode_is_known),
		TEST(nothing_is_listed_before_the_first_scan),
		TEST(a_switch_goes_step_by_step),
		TEST(and_back),
		TEST(a_switch_is_called_off),
		TEST(a_silent_kubelet_leaves_the_mode),
		TEST(the_label_is_nothing_to_other_modes),
		TEST(what_was_shown_before_is_the_first_guess),
		TEST(until_the_label_is_known_it_stays_as_it_was),
		TEST(without_a_past_it_begins_shared),
		TEST(a_change_of_the_configuration_waits_for_pods),
		TEST(devices_are_told_in_the_shape_of_ack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
