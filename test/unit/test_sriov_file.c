/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/sriov_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "edge/resource_file.h"
#include "model/finding.h"

#define THEIRS SOURCE_DIR "/etc/sriov/sriov-plugin.json"
#define OURS SOURCE_DIR "/etc/sriov/rdmadp.json"

/* "error: where: what | warning: …" */
static char *findings_text(GPtrArray *findings)
{
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < findings->len; i++) {
		const struct finding *finding = g_ptr_array_index(findings, i);

		g_string_append_printf(text, "%s%s: %s", i > 0 ? " | " : "",
				       finding->level == FINDING_ERROR ? "error" : "warning",
				       finding->text);
	}
	return g_string_free(text, FALSE);
}

static ResourceFile *parsed(const char *text)
{
	g_autoptr(GPtrArray) findings = findings_new();
	ResourceFile *file = resource_file_parse(text, strlen(text), findings);

	if (file == NULL)
		fail_msg("%s", findings_text(findings));
	return file;
}

static void assert_same(const char *text, const char *expected)
{
	ResourceFile *a = parsed(text);
	ResourceFile *b = parsed(expected);

	assert_int_equal(a->resources->len, b->resources->len);
	for (guint i = 0; i < a->resources->len; i++)
		assert_true(resource_config_equal(a->resources->pdata[i], b->resources->pdata[i]));
	resource_file_free(a);
	resource_file_free(b);
}

/* --- what is the same --- */

#define RDMA "\"isRdma\":true"
#define ENTRY(selectors)                                                                           \
	"{\"resourceList\":[{\"resourceName\":\"r\",\"resourcePrefix\":\"a.b\","                   \
	"\"selectors\":" selectors "}]}"
#define RESULT(more)                                                                               \
	"{\"configList\":[{\"resourceName\":\"r\",\"resourcePrefix\":\"a.b\",\"mode\":"            \
	"\"exclusive\"," more "}]}"

static const struct {
	const char *theirs, *ours;
	const char *said; /* besides the remark about umad */
} same[] = {
	{ENTRY("{" RDMA
	       ",\"vendors\":[\"15b3\"],\"devices\":[\"101e\"],\"drivers\":[\"mlx5_core\"],"
	       "\"pciAddresses\":[\"0000:3b:00.2\"],\"pfNames\":[\"p0#0-3\"],"
	       "\"rootDevices\":[\"0000:3b:00.0\"],\"linkTypes\":[\"ether\"]}"),
	 RESULT("\"selectors\":{\"vendors\":[\"15b3\"],\"deviceIDs\":[\"101e\"],\"drivers\":"
		"[\"mlx5_core\"],\"addresses\":[\"0000:3b:00.2\"],\"pfNames\":[\"p0#0-3\"],"
		"\"rootDevices\":[\"0000:3b:00.0\"],\"linkTypes\":[\"ether\"]}"),
	 ""},
	/* keys in any letter case, as Go reads them */
	{ENTRY("{\"IsRdma\":true,\"pciaddresses\":[\"0000:3b:00.2\"]}"),
	 RESULT("\"selectors\":{\"addresses\":[\"0000:3b:00.2\"]}"), ""},
	/* nothing chosen is everything */
	{ENTRY("{" RDMA ",\"vendors\":[]}"), RESULT("\"selectors\":{\"buses\":[\"pci\"]}"), ""},
	{"{\"resourceList\":[{\"resourceName\":\"r\",\"resourcePrefix\":\"a.b\",\"isRdma\":true}]}",
	 RESULT("\"selectors\":{\"buses\":[\"pci\"]}"), ""},
	{ENTRY("[{" RDMA ",\"vendors\":[\"15b3\"]},{\"vendors\":[\"8086\"]}]"),
	 RESULT("\"selectors\":[{\"vendors\":[\"15b3\"]},{\"vendors\":[\"8086\"]}]"), ""},
	{"{\"resourceList\":[{\"resourceName\":\"r\",\"selectors\":{" RDMA
	 ",\"vendors\":[\"15b3\"]},\"excludeTopology\":true}]}",
	 "{\"configList\":[{\"resourceName\":\"r\",\"resourcePrefix\":\"intel.com\",\"mode\":"
	 "\"exclusive\",\"topology\":false,\"selectors\":{\"vendors\":[\"15b3\"]}}]}",
	 "warning: resourceList[0]: has no \"resourcePrefix\": \"intel.com\" is written, the "
	 "default of the plugin's option -resource-prefix; change it if that was given"},
	{ENTRY("{" RDMA ",\"vendors\":[\"15b3\"],\"needVhostNet\":true}"),
	 RESULT("\"extraDevices\":[\"/dev/vhost-net\",\"/dev/net/tun\"],\"selectors\":"
		"{\"vendors\":[\"15b3\"]}"),
	 "warning: resourceList[0]: \"needVhostNet\" has become \"extraDevices\": without these "
	 "files on the node, pods are refused"},
	{ENTRY("{" RDMA ",\"pfNames\":[\"p0#0-1\",\"P0#4\",\"p1\",\"p10\"]}"),
	 RESULT("\"selectors\":{\"pfNames\":[\"p0#0-1\",\"p1\",\"p10\"]}"),
	 "warning: resourceList[0].selectors.pfNames: \"P0#4\" is left out: the SR-IOV plugin only "
	 "takes the first entry of a physical function; here all entries would count"},
	{ENTRY("{" RDMA ",\"drivers\":[\"vfio-pci\",\"mlx5_core\"]}"),
	 RESULT("\"selectors\":{\"drivers\":[\"mlx5_core\"]}"),
	 "warning: resourceList[0].selectors.drivers: devices with a driver for virtual machines "
	 "or "
	 "user space do no RDMA; that driver is left out"},
	{ENTRY("{" RDMA ",\"vendors\":[\"15b3\"],\"auxTypes\":[\"sf\"],\"acpiIndexes\":[]}"),
	 RESULT("\"selectors\":{\"vendors\":[\"15b3\"]}"), ""},
	/* sub-functions alone */
	{"{\"resourceList\":[{\"resourceName\":\"r\",\"resourcePrefix\":\"a.b\",\"deviceType\":"
	 "\"auxNetDevice\",\"selectors\":{" RDMA
	 ",\"auxTypes\":[\"sf\"],\"pfNames\":[\"p0#1\"]}}]}",
	 RESULT("\"selectors\":{\"pfNames\":[\"p0#1\"],\"drivers\":[\"mlx5_core.sf\"]}"), ""},
	{"{\"resourceList\":[{\"resourceName\":\"r\",\"resourcePrefix\":\"a.b\",\"deviceType\":"
	 "\"netDevice\",\"additionalInfo\":{\"*\":{\"a\":\"b\"}},\"selectors\":{" RDMA
	 ",\"vendors\":[\"15b3\"]}}]}",
	 RESULT("\"selectors\":{\"vendors\":[\"15b3\"]}"),
	 "warning: resourceList[0].additionalInfo: is not carried over: the variable "
	 "PCIDEVICE_…_INFO has no \"extra\" here; set such variables in the pods"},
};

#define UMAD                                                                                       \
	"warning: resourceList: pods got umad and issm as well, with which they can manage the "   \
	"fabric; those that need it want \"charDevices\": {\"umad\": \"optional\", \"issm\": "     \
	"\"optional\"} here"

static void what_is_the_same_here_is_carried_over(void **state)
{
	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(same); i++) {
		g_autoptr(GPtrArray) findings = findings_new();
		g_autofree char *converted =
			sriov_file_convert(same[i].theirs, strlen(same[i].theirs), findings);
		g_autofree char *said = findings_text(findings);
		g_autofree char *expected =
			g_strconcat(same[i].said, same[i].said[0] != '\0' ? " | " : "", UMAD, NULL);

		assert_string_equal(said, expected);
		assert_non_null(converted);
		assert_same(converted, same[i].ours);
	}
}

/* --- what is not --- */

static const struct {
	const char *theirs;
	const char *said; /* the first finding */
} lost[] = {
	{ENTRY("{" RDMA ",\"pKeys\":[\"0x7fff\"]}"),
	 "error: resourceList[0].selectors.pKeys: devices are not chosen by it here; the resource "
	 "is left out"},
	{ENTRY("{" RDMA ",\"acpiIndexes\":[\"101\"]}"),
	 "error: resourceList[0].selectors.acpiIndexes: devices are not chosen by it here; the "
	 "resource is left out"},
	{ENTRY("{" RDMA ",\"ddpProfiles\":[\"GTPv1-C/U IPv4/IPv6 payload\"]}"),
	 "error: resourceList[0].selectors.ddpProfiles: devices are not chosen by it here; the "
	 "resource is left out"},
	{ENTRY("{\"vdpaType\":\"virtio\"}"),
	 "error: resourceList[0].selectors.vdpaType: devices are not chosen by it here; the "
	 "resource is left out"},
	{ENTRY("{" RDMA ",\"auxTypes\":[\"eth\"]}"),
	 "error: resourceList[0].selectors.auxTypes: auxiliary devices other than sub-functions "
	 "are "
	 "not offered here; the resource is left out"},
	{ENTRY("{\"drivers\":[\"vfio-pci\"]}"),
	 "error: resourceList[0].selectors.drivers: a device with such a driver does no RDMA; the "
	 "resource is left out"},
	{"{\"resourceList\":[{\"resourceName\":\"r\",\"resourcePrefix\":\"a.b\",\"deviceType\":"
	 "\"accelerator\"}]}",
	 "error: resourceList[0].deviceType: accelerators are not offered here; the resource is "
	 "left out"},
	{"{\"resourceList\":[{\"resourcePrefix\":\"a.b\"}]}",
	 "error: resourceList[0]: \"resourceName\" is missing"},
	{ENTRY("{" RDMA ",\"pfName\":[\"p0\"]}"),
	 "error: resourceList[0].selectors.pfName: unknown key; did you mean \"pfNames\"?"},
	{ENTRY("{" RDMA ",\"devices\":[\"0000:3b:00.2\"]}"),
	 "error: in what was written: configList[0].selectors.deviceIDs[0]: \"0000:3b:00.2\" is a "
	 "PCI address, not a device id; use \"addresses\": "
	 "[\"0000:3b:00.2\"]"},
	{"{\"resourceList\":[3]}", "error: resourceList[0]: 3 is not an object { … }"},
	{"{\"resourceList\":3}", "error: resourceList: 3 is not a list [ … ]"},
	{"{\"resourceList\":[]}",
	 "error: resourceList: is missing or empty: this is no configuration of the SR-IOV network "
	 "device plugin"},
	{"{}", "error: resourceList: is missing or empty: this is no configuration of the SR-IOV "
	       "network device plugin"},
	{"{\"configList\":[]}",
	 "error: configList: unknown key; this is a resource file of ours already"},
	{"[]", "error: top level: a list is not an object { … }"},
	{"{", "error: line 1, column 1: "},
};

static void what_would_mean_something_else_is_an_error(void **state)
{
	(void)state;
	for (gsize i = 0; i < G_N_ELEMENTS(lost); i++) {
		g_autoptr(GPtrArray) findings = findings_new();
		g_autofree char *converted G_GNUC_UNUSED =
			sriov_file_convert(lost[i].theirs, strlen(lost[i].theirs), findings);
		g_autofree char *said = findings_text(findings);

		if (!g_str_has_prefix(said, lost[i].said))
			assert_string_equal(said, lost[i].said);
		assert_true(findings_have_error(findings));
	}
}

static void the_others_stay_when_one_is_left_out(void **state)
{
	static const char theirs[] =
		"{\"resourceList\":[{\"resourceName\":\"x\",\"resourcePrefix\":\"a.b\","
		"\"deviceType\":\"accelerator\"},{\"resourceName\":\"r\",\"resourcePrefix\":"
		"\"a.b\",\"selectors\":{\"vendors\":[\"15b3\"]}}]}";
	g_autoptr(GPtrArray) findings = findings_new();
	g_autofree char *converted = sriov_file_convert(theirs, strlen(theirs), findings);
	g_autofree char *said = findings_text(findings);

	(void)state;
	assert_same(converted, RESULT("\"selectors\":{\"vendors\":[\"15b3\"]}"));
	assert_non_null(strstr(said, "warning: resourceList[1]: had devices that do no RDMA, too"));
}

static void the_examples_stand_side_by_side(void **state)
{
	g_autoptr(GPtrArray) findings = findings_new();
	g_autofree char *theirs = NULL;
	g_autofree char *ours = NULL;
	g_autofree char *converted = NULL;

	(void)state;
	assert_true(g_file_get_contents(THEIRS, &theirs, NULL, NULL));
	assert_true(g_file_get_contents(OURS, &ours, NULL, NULL));
	converted = sriov_file_convert(theirs, strlen(theirs), findings);
	assert_same(converted, ours);
	assert_false(findings_have_error(findings));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_the_same_here_is_carried_over),
		cmocka_unit_test(what_would_mean_something_else_is_an_error),
		cmocka_unit_test(the_others_stay_when_one_is_left_out),
		cmocka_unit_test(the_examples_stand_side_by_side),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
