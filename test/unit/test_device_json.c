/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/device_json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/device_builder.h"

static char *write_text(const Device *device)
{
	g_autoptr(JsonWriter) writer = json_writer_new(FALSE);

	device_json_write(writer, NULL, device);
	return g_strdup(json_writer_text(writer));
}

static Device *read_text(const char *text, GError **error)
{
	g_autoptr(JsonValue) value = json_parse(text, strlen(text), NULL);

	assert_non_null(value);
	return device_json_read(value, error);
}

static const char *const devices[] = {
	"a",
	"0000:3b:00.0 driver=mlx5_core @vendor=15b3 @device=101d rdma=mlx5_0,mlx5_ib "
	"port=1:eth:active net=ens1f0np0:eth uverbs=0 umad=0 cm",
	"0000:12:00.1 identity=guid-1 parent=0000:12:00.0 numa=0 pcie=pci0000:12,0000:12:00.1 vf "
	"elsewhere note=in_use @type=1 @type=2 rdma=mlx5_1 port=1:ib:down port=2:ib:init "
	"issm=1:2 rdma=smi1 management node=uburma/x net=ib0:ib net=bond0:eth:upper "
	"net=ib0.8001:ib:child",
};

static void a_device_is_the_same_afterwards(G_GNUC_UNUSED void **state)
{
	for (gsize i = 0; i < G_N_ELEMENTS(devices); i++) {
		g_autoptr(Device) device = device_build(devices[i]);
		g_autofree char *text = write_text(device);
		g_autoptr(Device) again = read_text(text, NULL);

		assert_non_null(again);
		assert_true(device_equal(device, again));
	}
}

static void what_says_nothing_is_left_out(G_GNUC_UNUSED void **state)
{
	g_autoptr(Device) device = device_build("a");
	g_autofree char *text = write_text(device);

	assert_string_equal(text, "{\"id\":\"a\",\"identity\":\"a\"}");
}

static const struct {
	const char *text, *message;
} bad[] = {
	{"[]", ": a list is not an object"},
	{"{\"id\": 1, \"identity\": \"a\"}", "id: 1 is not text"},
	{"{\"id\": \"a\", \"identity\": \"a\", \"flags\": -1}",
	 "flags: -1 is not a number of 32 bits"},
	{"{\"id\": \"a\", \"identity\": \"a\", \"flags\": 4294967296}",
	 "flags: 4294967296 is not a number of 32 bits"},
	{"{\"id\": \"a\", \"identity\": \"a\", \"numaNode\": 2147483648}",
	 "numaNode: 2147483648 is not a number of 32 bits"},
	{"{\"id\": \"a\", \"identity\": \"a\", \"nodes\": {}}", "nodes: an object is not a list"},
	{"{\"id\": \"a\", \"identity\": \"a\", \"rdmaDevices\": [{\"name\": \"m\", \"ports\": "
	 "[[]]}]}",
	 "rdmaDevices[0].ports[0]: a list is not an object"},
};

static void what_is_no_device_is_refused(G_GNUC_UNUSED void **state)
{
	for (gsize i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_autoptr(GError) error = NULL;

		assert_null(read_text(bad[i].text, &error));
		assert_string_equal(error->message, bad[i].message);
	}
}

/* The core's own checks apply to it as to what a backend reports. */
static void a_device_that_no_backend_may_report_is_refused(G_GNUC_UNUSED void **state)
{
	static const char *const texts[] = {
		"{}",
		"{\"id\": \"a\"}",
		"{\"id\": \"a b\", \"identity\": \"a\"}",
		"{\"id\": \"a\", \"identity\": \"a\", \"nodes\": [{\"kind\": 1, \"name\": "
		"\"../mem\"}]}",
		"{\"id\": \"a\", \"identity\": \"a\", \"nodes\": [{\"kind\": 1, \"name\": "
		"\"infiniband/uverbs0\", \"sysfsDir\": \"/etc\"}]}",
	};

	for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
		g_autoptr(GError) error = NULL;

		assert_null(read_text(texts[i], &error));
		assert_non_null(error);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_device_is_the_same_afterwards),
		cmocka_unit_test(what_says_nothing_is_left_out),
		cmocka_unit_test(what_is_no_device_is_refused),
		cmocka_unit_test(a_device_that_no_backend_may_report_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
