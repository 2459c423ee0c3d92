/* SPDX-License-Identifier: Apache-2.0 */
#include "model/hca.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/config_builder.h"
#include "support/device_builder.h"

#define IB0 "rdma=mlx5_0 port=1:ib:active uverbs=0 umad=0 issm=0 "
#define IB1 "rdma=mlx5_1 port=1:ib:active uverbs=1 umad=1 "
#define ROCE "rdma=mlx5_0 port=1:eth:active uverbs=0 umad=0 "
#define EFA "rdma=rdmap0 port=1:unknown:active uverbs=0 "
#define NODES "/dev/infiniband/"

/* What is missing (NULL: complete) and which files a container gets then. */
static const struct {
	const char *device, *config, *missing, *files;
} table[] = {
	/* by default uverbs and rdma_cm, whatever the adapter */
	{"a " IB0 "cm", "", NULL, "rdma_cm uverbs0"},
	{"a " ROCE "cm", "", NULL, "rdma_cm uverbs0"},
	{"a " EFA "cm", "", NULL, "rdma_cm uverbs0"},
	{"a rdma=mlx5_0 port=1:ib:down uverbs=0 cm", "", NULL, "rdma_cm uverbs0"},
	{"a rdma=mlx5_0 cm", "", "uverbs for mlx5_0 missing", NULL},
	{"a " IB0 "rdma=mlx5_1 cm", "", "uverbs for mlx5_1 missing", NULL},
	{"a rdma=mlx5_1 rdma=mlx5_10 uverbs=0 cm", "", "uverbs for mlx5_1 missing", NULL},
	{"a " IB0 "rdma=mlx5_1 uverbs=1 cm", "", NULL, "rdma_cm uverbs0 uverbs1"},
	{"a", "", "it has no RDMA device", NULL},
	{"a rdma=smi1 management uverbs=1 umad=1 cm", "", "it has no RDMA device", NULL},
	{"a note=no_driver_is_bound " IB0 "cm", "", "no driver is bound", NULL},
	/* rdma_cm */
	{"a " IB0, "", "rdma_cm missing", NULL},
	{"a " IB0, "rdma_cm=optional", NULL, "uverbs0"},
	{"a " IB0 "cm", "rdma_cm=optional", NULL, "rdma_cm uverbs0"},
	{"a " IB0 "cm", "rdma_cm=off", NULL, "uverbs0"},
	/* umad and issm: of each port that can have one */
	{"a " IB0 "cm", "umad=required issm=required", NULL, "issm0 rdma_cm umad0 uverbs0"},
	{"a " IB0 "cm", "umad=optional", NULL, "rdma_cm umad0 uverbs0"},
	{"a " IB1 "cm", "umad=required issm=required", "issm for mlx5_1 port 1 missing", NULL},
	{"a " IB1 "cm", "umad=required issm=optional", NULL, "rdma_cm umad1 uverbs1"},
	{"a " ROCE "cm", "umad=required issm=required", NULL, "rdma_cm umad0 uverbs0"},
	{"a " ROCE "issm=0 cm", "issm=required", NULL, "issm0 rdma_cm uverbs0"},
	{"a rdma=r port=1:eth:active uverbs=0 cm", "umad=required", "umad for r port 1 missing",
	 NULL},
	{"a " EFA "cm", "umad=required issm=required", NULL, "rdma_cm uverbs0"},
	{"a rdma=r port=1:ib:active port=2:ib:down uverbs=0 umad=0:1 cm", "umad=required",
	 "umad for r port 2 missing", NULL},
	{"a rdma=r port=1:ib:active port=2:ib:down uverbs=0 umad=0:1 umad=1:2 cm", "umad=required",
	 NULL, "rdma_cm umad0 umad1 uverbs0"},
	{"a rdma=r port=1:ib:active port=2:eth:down uverbs=0 issm=0:1 cm", "issm=required", NULL,
	 "issm0 rdma_cm uverbs0"},
	{"a " IB0 IB1 "cm", "issm=required", "issm for mlx5_1 port 1 missing", NULL},
	/* a management device's nodes are nobody's */
	{"a " IB0 "rdma=smi1 management port=1:ib:active uverbs=1 umad=1 issm=1 cm",
	 "umad=required issm=optional", NULL, "issm0 rdma_cm umad0 uverbs0"},
	/* vendors' nodes come along */
	{"a " IB0 "node=hns/x cm", "", NULL, "/dev/hns/x rdma_cm uverbs0"},
};

static char *files_text(const struct hca *hca, const ResourceConfig *config)
{
	g_autoptr(Snapshot) snapshot = snapshot_new("rdma/r");
	g_autoptr(GString) text = g_string_new(NULL);

	hca_add_files(hca, config, snapshot->files);
	for (guint i = 0; i < snapshot->files->len; i++) {
		const struct char_file *file = snapshot->files->pdata[i];
		const char *path = file->host_path;

		assert_true(g_str_has_prefix(path, "/dev/"));
		assert_string_equal(path + strlen("/dev/"), file->dev_name);
		if (g_str_has_prefix(path, NODES))
			path += strlen(NODES);
		g_string_append_printf(text, "%s%s", text->len > 0 ? " " : "", path);
	}
	return g_string_free(g_steal_pointer(&text), FALSE);
}

static struct hca *hca_build(const char *words, const ResourceConfig *config)
{
	g_autoptr(Device) device = device_build(words);
	struct hca *hca = g_new0(struct hca, 1);

	hca->healthy = TRUE;
	hca_set_device(hca, device, config, NULL);
	return hca;
}

static void the_rules_decide_what_must_be_there(G_GNUC_UNUSED void **state)
{
	for (gsize i = 0; i < G_N_ELEMENTS(table); i++) {
		g_autoptr(ResourceConfig) config = config_build(table[i].config);
		struct hca *hca = hca_build(table[i].device, config);
		const char *expected = table[i].missing == NULL ? "nothing" : table[i].missing;

		assert_string_equal(hca->missing == NULL ? "nothing" : hca->missing, expected);
		assert_int_equal(hca_is_complete(hca), table[i].missing == NULL);
		assert_int_equal(hca->ready, table[i].missing == NULL);
		if (table[i].files != NULL) {
			g_autofree char *files = files_text(hca, config);

			assert_string_equal(files, table[i].files);
		}
		hca_free(hca);
	}
}

static void a_node_of_a_newer_kind_is_nobodys(G_GNUC_UNUSED void **state)
{
	g_autoptr(ResourceConfig) config = config_build("");
	g_autoptr(DeviceBuilder) builder = device_builder_new("a " IB0 "cm node=infiniband/new0");
	g_autoptr(Device) device = NULL;
	g_autofree char *files = NULL;
	struct hca *hca = g_new0(struct hca, 1);

	device_builder_node(builder, 4)->kind = 5;
	device = device_copy(device_builder_abi(builder), NULL);
	hca_set_device(hca, device, config, NULL);
	files = files_text(hca, config);
	assert_string_equal(files, "rdma_cm uverbs0");
	hca_free(hca);
}

static void a_file_carries_what_the_last_look_needs(G_GNUC_UNUSED void **state)
{
	g_autoptr(ResourceConfig) config = config_build("");
	g_autoptr(Snapshot) snapshot = snapshot_new("rdma/r");
	struct hca *hca = hca_build("a " IB0 "cm", config);
	const struct char_file *file;

	hca_add_files(hca, config, snapshot->files);
	file = snapshot->files->pdata[0];
	assert_null(file->rdma_device);
	assert_string_equal(file->sysfs_dir, "class/misc/rdma_cm");
	assert_int_equal(file->dev_major, 10);
	file = snapshot->files->pdata[1];
	assert_string_equal(file->rdma_device, "mlx5_0");
	assert_string_equal(file->sysfs_dir, "class/infiniband_verbs/uverbs0");
	assert_int_equal(file->dev_minor, 192);
	hca_free(hca);
}

static void remedies_fit_what_is_missing(G_GNUC_UNUSED void **state)
{
	static const struct {
		const char *device, *config, *remedy;
	} rows[] = {
		{"a rdma=r cm", "", "load the module ib_uverbs (modprobe ib_uverbs)"},
		{"a rdma=r uverbs=0", "", "load the module rdma_ucm (modprobe rdma_ucm)"},
		{"a rdma=r port=1:ib:active uverbs=0 cm", "umad=required",
		 "load the module ib_umad (modprobe ib_umad)"},
		{"a rdma=r port=1:eth:active uverbs=0 cm", "umad=required",
		 "load the module ib_umad (modprobe ib_umad); iWARP has none even then: set "
		 "charDevices.umad to \"optional\""},
		{"a rdma=r port=1:ib:active uverbs=0 cm", "issm=required",
		 "load the module ib_umad (modprobe ib_umad)"},
		{"a rdma=r port=1:ib:active uverbs=0 umad=0 cm", "issm=required",
		 "set charDevices.issm to \"optional\" if pods can do without"},
		{"a rdma=r port=1:ib:active port=2:ib:active uverbs=0 umad=0:1 cm", "umad=required",
		 "set charDevices.umad to \"optional\" if pods can do without"},
		{"a", "", "load the RDMA driver of this adapter"},
		{"a note=x", "", NULL},
		{"a " IB0 "cm", "", NULL},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_autoptr(ResourceConfig) config = config_build(rows[i].config);
		struct hca *hca = hca_build(rows[i].device, config);

		assert_string_equal(hca->remedy == NULL ? "none" : hca->remedy,
				    rows[i].remedy == NULL ? "none" : rows[i].remedy);
		hca_free(hca);
	}
}

static void once_ready_only_its_health_decides(G_GNUC_UNUSED void **state)
{
	g_autoptr(ResourceConfig) config = config_build("");
	g_autoptr(Device) partial = device_build("a rdma=mlx5_0 cm");
	g_autoptr(Device) complete = device_build("a " IB0 "cm");
	struct hca *hca = g_new0(struct hca, 1);

	hca->healthy = TRUE;
	hca_set_device(hca, partial, config, NULL);
	assert_false(hca_is_good(hca));
	assert_string_equal(hca_problem(hca), "uverbs for mlx5_0 missing");
	hca_set_device(hca, complete, config, NULL);
	assert_true(hca_is_good(hca));
	assert_null(hca_problem(hca));
	hca_set_device(hca, partial, config, NULL);
	assert_true(hca_is_good(hca));
	assert_false(hca_is_complete(hca));
	hca->healthy = FALSE;
	assert_false(hca_is_good(hca));
	hca_set_device(hca, complete, config, NULL);
	assert_string_equal(hca_problem(hca), "it is not healthy");
	hca->reason = g_strdup("link: port 1 is DOWN");
	assert_string_equal(hca_problem(hca), "link: port 1 is DOWN");
	hca->present = FALSE;
	assert_string_equal(hca_problem(hca), "the device is gone or no longer selected");
	hca->refusal = g_strdup("no longer selected: ifNames: has dev5, wanted ens1");
	assert_string_equal(hca_problem(hca), hca->refusal);
	hca_set_device(hca, complete, config, NULL);
	assert_null(hca->refusal);
	hca->present = FALSE;
	assert_false(hca_is_complete(hca));
	hca_free(hca);
	hca_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_rules_decide_what_must_be_there),
		cmocka_unit_test(a_node_of_a_newer_kind_is_nobodys),
		cmocka_unit_test(a_file_carries_what_the_last_look_needs),
		cmocka_unit_test(remedies_fit_what_is_missing),
		cmocka_unit_test(once_ready_only_its_health_decides),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
