/* SPDX-License-Identifier: Apache-2.0 */
/* packaging/record-machine: a machine that is recorded and built again is the same
 * machine to every backend, and what identifies it is not in the text. */
#include <glib.h>
#include <string.h>
#include <sys/wait.h>

#include "edge/module.h"
#include "support/dump.h"
#include "support/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MACHINES SOURCE_DIR "/test/fixtures/machines/"
#define SCRIPT SOURCE_DIR "/packaging/record-machine"

static char *record(const char *root)
{
	g_autofree char *sysfs = g_build_filename(root, "sys", NULL);
	const char *const argv[] = {SCRIPT, "--sysfs", sysfs, NULL};
	g_autofree char *errors = NULL;
	char *text = NULL;
	int status;

	assert_true(g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, &text,
				 &errors, &status, NULL));
	assert_string_equal(errors, "");
	assert_int_equal(status, 0);
	return text;
}

/* GUIDs and serial numbers are others afterwards: each becomes the number of its first
 * appearance, so that equal ones are still seen to be equal. */
static gboolean number_it(const GMatchInfo *match, GString *result, gpointer data)
{
	g_autofree char *word = g_match_info_fetch(match, 0);
	GHashTable *numbers = data;
	gpointer number = g_hash_table_lookup(numbers, word);

	if (number == NULL) {
		number = GUINT_TO_POINTER(g_hash_table_size(numbers) + 1);
		g_hash_table_insert(numbers, g_strdup(word), number);
	}
	g_string_append_printf(result, "<%u>", GPOINTER_TO_UINT(number));
	return FALSE;
}

static char *without_identities(const char *dump)
{
	g_autoptr(GHashTable) numbers =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_autoptr(GRegex) regex =
		g_regex_new("\\b[0-9a-f]{4}(:[0-9a-f]{4}){3}\\b|-[0-9a-f]{16}\\b", 0, 0, NULL);

	return g_regex_replace_eval(regex, dump, -1, 0, 0, number_it, numbers, NULL);
}

static char *dump(const char *backend_name, const char *root)
{
	const struct rdmadp_backend *backend =
		module_load(BINARY_DIR "/lib/rdmadp/backends", backend_name, NULL);
	g_autofree char *sysfs = g_build_filename(root, "sys", NULL);
	g_autofree char *dev = g_build_filename(root, "dev", NULL);
	g_autofree char *text = NULL;

	assert_non_null(backend);
	text = dump_scan(backend, sysfs, dev, NULL, NULL);
	assert_non_null(text);
	return without_identities(text);
}

static const struct {
	const char *machine, *backend;
} cases[] = {
	{"bond", "pci"},
	{"connectx3-scif", "pci"},
	{"f01-roce-no-issm", "pci"},
	{"f03-partial-boot", "pci"},
	{"f04-issm-subset", "pci"},
	{"f05-vf-netdev-in-pod", "pci"},
	{"f06-vf-in-pod-exclusive", "pci"},
	{"f08-switchdev", "pci"},
	{"f10-b200-mixed", "pci"},
	{"f14-ipoib-guid", "pci"},
	{"f15-e810", "pci"},
	{"f30-zero-guid", "pci"},
	{"f34-vf-down-policy", "pci"},
	{"qib", "pci"},
	{"soft", "soft"},
	{"soft", "pci"},
	{"subfunctions", "pci"},
	{"two-sockets", "pci"},
	{"two-sockets", "ub"},
	{"ub-a11", "ub"},
	{"ub-odd", "ub"},
	{"unusable", "pci"},
	{"vendors", "pci"},
	{"xdr-smi", "pci"},
};

static void a_recorded_machine_is_the_same_machine(G_GNUC_UNUSED void **state)
{
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *file = g_strconcat(MACHINES, cases[i].machine, ".txt", NULL);
		g_autofree char *root = fixture_new(file);
		g_autofree char *text = record(root);
		g_autofree char *again = fixture_new(text);
		g_autofree char *before = dump(cases[i].backend, root);
		g_autofree char *after = dump(cases[i].backend, again);

		if (strcmp(before, after) != 0)
			print_error("machine %s, backend %s:\n%s", cases[i].machine,
				    cases[i].backend, text);
		assert_string_equal(before, after);
		fixture_remove(root);
		fixture_remove(again);
	}
}

#define NAMED                                                                                      \
	"pci 0000:3b:00.0 class=0x020000 vendor=0x15b3 device=0x101d driver=mlx5_core numa=0\n"    \
	"net 0000:3b:00.0 enx0c42a1112233 address=0c:42:a1:11:22:33 port_name=p0 "                 \
	"switch_id=0c42a1112233\n"                                                                 \
	"net 0000:3b:00.0 eth9 address=0c:42:a1:11:22:34 port_name=pf0vf0 "                        \
	"switch_id=0c42a1112233\n"                                                                 \
	"ib 0000:3b:00.0 rocex0c42a10300112233 guid=0c42:a103:0011:2233 ll=Ethernet "              \
	"node_desc=\"secret-host HCA-1\" gid=2001:0db8:0000:0000:0c42:a103:0011:2233\n"            \
	"uverbs 0000:3b:00.0 0 rocex0c42a10300112233\n"                                            \
	"pci 0000:5e:00.0 class=0x020700 vendor=0x15b3 device=0x101b driver=mlx5_core numa=1\n"    \
	"net 0000:5e:00.0 ib0 type=32 "                                                            \
	"address=00:00:10:29:fe:80:00:00:00:00:00:00:0c:42:a1:03:00:44:55:67\n"                    \
	"ib 0000:5e:00.0 mlx5_1 guid=0c42:a103:0044:5566 ll=InfiniBand "                           \
	"gid=fe80:0000:0000:0000:0c42:a103:0044:5567\n"                                            \
	"ub 0000f vendor=0xcc08 device=0x8200 class=0x0102 type=0x1 "                              \
	"guid=cc08-8200-0-1-000000-00000000deadbeef driver=hisdk5\n"

static void what_identifies_a_machine_is_not_in_the_text(G_GNUC_UNUSED void **state)
{
	static const char *const secrets[] = {"42a1",  "42:a1",	   "11:22", "1122", "a103",
					      "a1:03", "deadbeef", "2001",  "0db8", "secret",
					      "4455:", "44:55",	   "44556"};
	g_autofree char *root = fixture_new(NAMED);
	g_autofree char *text = record(root);

	for (gsize i = 0; i < G_N_ELEMENTS(secrets); i++)
		if (strstr(text, secrets[i]) != NULL)
			fail_msg("'%s' is in:\n%s", secrets[i], text);
	fixture_remove(root);
}

static void assert_has(const char *text, const char *part)
{
	if (strstr(text, part) == NULL)
		fail_msg("'%s' is not in:\n%s", part, text);
}

/* The same everywhere, in a name, in a GID, as the bytes of an address. */
static void what_was_equal_stays_equal(G_GNUC_UNUSED void **state)
{
	g_autofree char *root = fixture_new(NAMED);
	g_autofree char *text = record(root);

	assert_has(text, "/net/enx020000000001/address = 02:00:00:00:00:01\n");
	assert_has(text, "/net/enx020000000001/phys_switch_id = 000000000001\n");
	assert_has(text, "/net/eth9/phys_switch_id = 000000000001\n");
	assert_has(text, "/infiniband/rocex0200000000000001/node_guid = 0200:0000:0000:0001\n");
	assert_has(text, "/ports/1/gids/0 = fec0:0000:0000:0001:0200:0000:0000:0001\n");
	assert_has(text, "/uverbs0/ibdev = rocex0200000000000001\n");
	assert_has(text,
		   "link sys/class/infiniband/rocex0200000000000001 -> "
		   "../../devices/pci0000:00/0000:3b:00.0/infiniband/rocex0200000000000001\n");
	assert_has(text, "/net/ib0/address = "
			 "00:00:10:29:fe:80:00:00:00:00:00:00:02:00:00:00:00:00:00:02\n");
	assert_has(text, "/mlx5_1/ports/1/gids/0 = fe80:0000:0000:0000:0200:0000:0000:0002\n");
	assert_has(text, "/mlx5_1/node_guid = 0200:0000:0000:0003\n");
	assert_has(text, "/0000f/guid = cc08-8200-0-1-000000-0000000000000001\n");
	assert_has(text, "/node_desc = scrubbed\n");
	fixture_remove(root);
}

static void what_is_written_strangely_can_be_read_again(G_GNUC_UNUSED void **state)
{
	g_autofree char *root = fixture_new("dir sys\n");
	g_autofree char *text = NULL;

	fixture_write(root, "sys/module/ib_core/parameters/netns_mode", "a\\\\b\\tc\\x01");
	text = record(root);
	assert_string_equal(text, "file sys/module/ib_core/parameters/netns_mode = a\\\\b\\tc?\n");
	fixture_remove(root);
}

/* What cannot be read is left out: nothing waits. */
static void a_machine_in_trouble_is_recorded_all_the_same(G_GNUC_UNUSED void **state)
{
	static const char *const names[] = {"f22-unreadable", "garbage"};

	for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree char *file = g_strconcat(MACHINES, names[i], ".txt", NULL);
		g_autofree char *root = fixture_new(file);
		g_autofree char *text = record(root);
		g_autofree char *again = fixture_new(text);

		fixture_remove(root);
		fixture_remove(again);
	}
}

/* --- and back: --build --- */

/* Makes 'name' below root of the text; returns what it said to that. */
static char *build(const char *root, const char *name, const char *text)
{
	g_autofree char *input = g_build_filename(root, "machine.txt", NULL);
	const char *script = SCRIPT;
	const char *const argv[] = {
		"/bin/sh", "-c", "exec \"$0\" --build \"$1\" <\"$2\"", script, name, input, NULL};
	char *errors = NULL;
	int status;

	assert_true(g_file_set_contents(input, text, -1, NULL));
	assert_true(g_spawn_sync(root, (char **)argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, NULL,
				 &errors, &status, NULL));
	assert_int_equal(status == 0, *errors == '\0');
	return errors;
}

static void the_script_builds_what_it_has_recorded(G_GNUC_UNUSED void **state)
{
	static const char *const names[][2] = {{"f05-vf-netdev-in-pod", "pci"},
					       {"soft", "soft"},
					       {"subfunctions", "pci"},
					       {"ub-a11", "ub"}};

	for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree char *file = g_strconcat(MACHINES, names[i][0], ".txt", NULL);
		g_autofree char *root = fixture_new(file);
		g_autofree char *again = g_build_filename(root, "again", NULL);
		g_autofree char *text = record(root);
		g_autofree char *errors = build(root, "again", text);
		g_autofree char *before = dump(names[i][1], root);
		g_autofree char *after = NULL;

		assert_string_equal(errors, "");
		after = dump(names[i][1], again);
		assert_string_equal(before, after);
		fixture_remove(root);
	}
}

static void strange_text_is_built_as_it_was(G_GNUC_UNUSED void **state)
{
	static const char text[] =
		"file sys/module/ib_core/parameters/netns_mode = a\\\\b\\tc = d\n";
	g_autofree char *root = fixture_new("dir sys\n");
	g_autofree char *again = g_build_filename(root, "again", NULL);
	g_autofree char *errors = build(root, "again", text);
	g_autofree char *recorded = record(again);

	assert_string_equal(errors, "");
	assert_string_equal(recorded, text);
	fixture_remove(root);
}

/* The text may come from anybody: it makes nothing outside of its directory. */
static void what_leads_out_of_the_directory_is_not_built(G_GNUC_UNUSED void **state)
{
	static const struct {
		const char *text, *refusal;
	} evil[] = {
		{"file sys/../../out = x\n", "line 1: not a path below sys or dev/infiniband"},
		{"dir sys/a\nfile /out = x\n", "line 2: not a path below sys or dev/infiniband"},
		{"chr dev/sda 8:0\n", "line 1: not a path below sys or dev/infiniband"},
		{"link sys/../../out -> /\n", "line 1: not a path below sys or dev/infiniband"},
		{"link sys/a -> ../..\nfile sys/a/out = x\n", "sys/a"},
		{"link sys/a -> ../..\nlink sys/a/out -> /\n", "sys/a"},
		{"pci 0000:3b:00.0 vendor=0x15b3\n", "line 1: not a line of a recorded machine"},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(evil); i++) {
		g_autofree char *root = fixture_new("dir sys\n");
		g_autofree char *out = g_build_filename(root, "out", NULL);
		g_autofree char *half = g_build_filename(root, "again", NULL);
		g_autofree char *errors = build(root, "again", evil[i].text);

		assert_has(errors, evil[i].refusal);
		assert_false(g_file_test(half, G_FILE_TEST_EXISTS));
		assert_false(g_file_test(out, G_FILE_TEST_EXISTS));
		fixture_remove(root);
	}
}

static void a_directory_that_is_there_is_left_alone(G_GNUC_UNUSED void **state)
{
	g_autofree char *root = fixture_new("dir sys/a\n");
	g_autofree char *made = g_build_filename(root, "sys/b", NULL);
	g_autofree char *errors = build(root, ".", "dir sys/b\n");

	assert_has(errors, "File exists");
	assert_false(g_file_test(made, G_FILE_TEST_EXISTS));
	fixture_remove(root);
}

/* Under the name that it was called by: it is installed under another one. */
static void the_usage_has_the_name_that_was_typed(G_GNUC_UNUSED void **state)
{
	g_autofree char *root = fixture_new("dir sys\n");
	static const struct {
		const char *option;
		int status;
	} cases_of_usage[] = {{"--help", 0}, {"--biuld", 2}};

	for (gsize i = 0; i < G_N_ELEMENTS(cases_of_usage); i++) {
		const char *script = SCRIPT;
		const char *const argv[] = {"/bin/sh",
					    "-c",
					    "ln -sf \"$0\" rdmadp-x && ./rdmadp-x \"$1\" 2>&1",
					    script,
					    cases_of_usage[i].option,
					    NULL};
		g_autofree char *text = NULL;
		int status;

		assert_true(g_spawn_sync(root, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL,
					 &text, NULL, &status, NULL));
		assert_int_equal(WEXITSTATUS(status), cases_of_usage[i].status);
		assert_has(text, "usage: rdmadp-x [--sysfs DIR] > machine.txt\n");
	}
	fixture_remove(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_recorded_machine_is_the_same_machine),
		cmocka_unit_test(what_identifies_a_machine_is_not_in_the_text),
		cmocka_unit_test(what_was_equal_stays_equal),
		cmocka_unit_test(what_is_written_strangely_can_be_read_again),
		cmocka_unit_test(a_machine_in_trouble_is_recorded_all_the_same),
		cmocka_unit_test(the_script_builds_what_it_has_recorded),
		cmocka_unit_test(strange_text_is_built_as_it_was),
		cmocka_unit_test(what_leads_out_of_the_directory_is_not_built),
		cmocka_unit_test(a_directory_that_is_there_is_left_alone),
		cmocka_unit_test(the_usage_has_the_name_that_was_typed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
