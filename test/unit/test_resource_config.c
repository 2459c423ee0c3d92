/* SPDX-License-Identifier: Apache-2.0 */
#include <glib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/resource_config.h"

static void add_mount(ResourceConfig *config)
{
	struct resource_mount *mount = g_new0(struct resource_mount, 1);
	mount->host_path = g_strdup("/dev/hugepages");
	mount->container_path = g_strdup("/huge");
	config->mounts = g_ptr_array_new_with_free_func((GDestroyNotify)resource_mount_free);
	g_ptr_array_add(config->mounts, mount);
}

static ResourceConfig *full_config(void)
{
	ResourceConfig *config = resource_config_new();
	config->prefix = g_strdup("rdma");
	config->name = g_strdup("hca");
	config->full_name = g_strdup("rdma/hca");
	config->bus = g_strdup("pci");
	struct selector *selector = selector_new();
	selector->values[SELECTOR_VENDORS] = g_strsplit("15b3 8086", " ", -1);
	selector->attributes =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_strfreev);
	g_hash_table_insert(selector->attributes, g_strdup("type"), g_strsplit("0x1", " ", -1));
	selector->exclude = selector_new();
	selector->exclude->values[SELECTOR_IF_NAMES] = g_strsplit("eth0", " ", -1);
	g_ptr_array_add(config->selectors, selector);
	config->extra_devices = g_strsplit("/dev/hns_*", " ", -1);
	add_mount(config);
	config->env_hca_list = g_strdup("NCCL_IB_HCA");
	return config;
}

static struct selector *first_selector(ResourceConfig *config)
{
	return g_ptr_array_index(config->selectors, 0);
}

static void replace_list(GStrv *list, const char *words)
{
	g_strfreev(*list);
	*list = words == NULL ? NULL : g_strsplit(words, " ", -1);
}

static void change_name(ResourceConfig *config)
{
	g_free(config->full_name);
	config->full_name = g_strdup("rdma/other");
}

static void change_bus(ResourceConfig *config)
{
	g_free(config->bus);
	config->bus = g_strdup("ub");
}

static void change_mode(ResourceConfig *config)
{
	config->mode = RESOURCE_AUTO;
}

static void change_max(ResourceConfig *config)
{
	config->rdma_hca_max = 1;
}

static void change_topology(ResourceConfig *config)
{
	config->topology = 0;
}

static void change_allocation(ResourceConfig *config)
{
	config->allocation_policy = ALLOCATION_DISTRIBUTED;
}

static void change_list(ResourceConfig *config)
{
	replace_list(&first_selector(config)->values[SELECTOR_VENDORS], "15b3");
}

static void clear_list(ResourceConfig *config)
{
	replace_list(&first_selector(config)->values[SELECTOR_VENDORS], NULL);
}

static void change_attribute(ResourceConfig *config)
{
	g_hash_table_insert(first_selector(config)->attributes, g_strdup("type"),
			    g_strsplit("0x2", " ", -1));
}

static void rename_attribute(ResourceConfig *config)
{
	g_hash_table_remove(first_selector(config)->attributes, "type");
	g_hash_table_insert(first_selector(config)->attributes, g_strdup("guid"),
			    g_strsplit("0x1", " ", -1));
}

static void drop_attributes(ResourceConfig *config)
{
	g_clear_pointer(&first_selector(config)->attributes, g_hash_table_unref);
}

static void drop_exclude(ResourceConfig *config)
{
	g_clear_pointer(&first_selector(config)->exclude, selector_free);
}

static void change_exclude(ResourceConfig *config)
{
	replace_list(&first_selector(config)->exclude->values[SELECTOR_IF_NAMES], "eth1");
}

static void add_selector(ResourceConfig *config)
{
	g_ptr_array_add(config->selectors, selector_new());
}

static void change_policy(ResourceConfig *config)
{
	config->health_policy = HEALTH_OFF;
}

static void change_umad(ResourceConfig *config)
{
	config->umad = CHAR_OPTIONAL;
}

static void change_rdma_cm(ResourceConfig *config)
{
	config->rdma_cm = CHAR_OPTIONAL;
}

static void change_issm(ResourceConfig *config)
{
	config->issm = CHAR_REQUIRED;
}

static void change_extra(ResourceConfig *config)
{
	replace_list(&config->extra_devices, NULL);
}

static void change_mount(ResourceConfig *config)
{
	struct resource_mount *mount = g_ptr_array_index(config->mounts, 0);
	mount->read_only = TRUE;
}

static void drop_mounts(ResourceConfig *config)
{
	g_clear_pointer(&config->mounts, g_ptr_array_unref);
}

static void change_env(ResourceConfig *config)
{
	g_clear_pointer(&config->env_hca_list, g_free);
}

static void change_down_delay(ResourceConfig *config)
{
	config->health.down_delay_s = 0;
}

static void change_initial(ResourceConfig *config)
{
	config->health.assume_initial = 1;
}

static void every_difference_counts(void **state)
{
	(void)state;
	static const struct {
		const char *what;
		void (*change)(ResourceConfig *config);
	} cases[] = {
		{"name", change_name},
		{"bus", change_bus},
		{"mode", change_mode},
		{"max", change_max},
		{"topology", change_topology},
		{"allocation", change_allocation},
		{"list", change_list},
		{"no list", clear_list},
		{"attribute", change_attribute},
		{"attribute's key", rename_attribute},
		{"no attributes", drop_attributes},
		{"no exclude", drop_exclude},
		{"exclude", change_exclude},
		{"one more selector", add_selector},
		{"policy", change_policy},
		{"umad", change_umad},
		{"rdma_cm", change_rdma_cm},
		{"issm", change_issm},
		{"extra devices", change_extra},
		{"mount", change_mount},
		{"no mounts", drop_mounts},
		{"env", change_env},
		{"down delay", change_down_delay},
		{"initial state", change_initial},
	};
	g_autoptr(ResourceConfig) original = full_config();
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(ResourceConfig) changed = full_config();
		assert_true(resource_config_equal(original, changed));
		cases[i].change(changed);
		if (resource_config_equal(original, changed) ||
		    resource_config_equal(changed, original))
			fail_msg("a change of '%s' was not seen", cases[i].what);
	}
}

static void order_and_repetition_in_a_list_do_not_count(void **state)
{
	(void)state;
	g_autoptr(ResourceConfig) a = full_config();
	g_autoptr(ResourceConfig) b = full_config();
	replace_list(&first_selector(b)->values[SELECTOR_VENDORS], "8086 15b3 8086");
	first_selector(b)->values[SELECTOR_DRIVERS] = g_new0(char *, 1);
	assert_true(resource_config_equal(a, b));
}

static void defaults_are_those_of_a_silent_file(void **state)
{
	(void)state;
	g_autoptr(ResourceConfig) config = resource_config_new();
	g_autoptr(ResourceConfig) same = resource_config_new();
	assert_int_equal(config->mode, RESOURCE_SHARED);
	assert_int_equal(config->rdma_hca_max, -1);
	assert_int_equal(config->rdma_cm, CHAR_REQUIRED);
	assert_int_equal(config->umad, CHAR_OFF);
	assert_int_equal(config->issm, CHAR_OFF);
	assert_int_equal(config->health_policy, HEALTH_PER_DEVICE);
	assert_int_equal(config->topology, -1);
	assert_true(config->health.down_delay_s < 0);
	assert_int_equal(config->health.assume_initial, -1);
	assert_true(resource_config_equal(config, same));
}

static void references_keep_it_alive(void **state)
{
	(void)state;
	ResourceConfig *config = full_config();
	ResourceConfig *second = resource_config_ref(config);
	resource_config_unref(config);
	assert_string_equal(second->full_name, "rdma/hca");
	resource_config_unref(second);
	resource_config_unref(NULL);
	selector_free(NULL);
	resource_mount_free(NULL);
}

static void keys_are_named_as_users_write_them(void **state)
{
	(void)state;
	assert_string_equal(selector_key_name(SELECTOR_VENDORS), "vendors");
	assert_string_equal(selector_key_name(SELECTOR_DEVICE_IDS), "deviceIDs");
	assert_string_equal(selector_key_name(SELECTOR_NUMA_NODES), "numaNodes");
	for (int key = 0; key < SELECTOR_N_KEYS; key++)
		assert_non_null(selector_key_name(key));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_difference_counts),
		cmocka_unit_test(order_and_repetition_in_a_list_do_not_count),
		cmocka_unit_test(defaults_are_those_of_a_silent_file),
		cmocka_unit_test(references_keep_it_alive),
		cmocka_unit_test(keys_are_named_as_users_write_them),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
