/* SPDX-License-Identifier: Apache-2.0 */
#include "support/fixture_macros.h"

#include <string.h>

#include "support/fixture_files.h"

/* One line: positional words and options. Writes stop at the first failure. */
struct macro {
	const char *root;
	GPtrArray *words; /* borrowed */
	GHashTable *options; /* owned key, borrowed value */
	GError *error;
};

static const char *word(const struct macro *m, guint i)
{
	return i < m->words->len ? g_ptr_array_index(m->words, i) : "";
}

static const char *option(const struct macro *m, const char *key, const char *otherwise)
{
	const char *value = g_hash_table_lookup(m->options, key);

	return value ? value : otherwise;
}

static void put_line(struct macro *m, const char *dir, const char *name, const char *text)
{
	g_autofree char *path = g_build_filename(dir, name, NULL);

	if (!m->error)
		fixture_put_line(m->root, path, text, &m->error);
}

static void put_option(struct macro *m, const char *dir, const char *name, const char *otherwise)
{
	const char *text = option(m, name, otherwise);

	if (text)
		put_line(m, dir, name, text);
}

static void put_link(struct macro *m, const char *dir, const char *name, const char *other)
{
	g_autofree char *path = g_build_filename(dir, name, NULL);

	if (!m->error)
		fixture_put_link_to(m->root, path, other, &m->error);
}

static void put_dir(struct macro *m, const char *dir)
{
	if (!m->error)
		fixture_put_dir(m->root, dir, &m->error);
}

static char *device_dir(struct macro *m, const char *name)
{
	char *dir = m->error ? NULL : fixture_device_dir(m->root, name, &m->error);

	return dir ? dir : g_strdup("sys/lost");
}

/* The links that make a device one of a bus. */
static void put_on_bus(struct macro *m, const char *bus, const char *dir, const char *driver)
{
	g_autofree char *name = g_path_get_basename(dir);
	g_autofree char *bus_dir = g_build_filename("sys/bus", bus, NULL);
	g_autofree char *devices = g_build_filename(bus_dir, "devices", NULL);
	g_autofree char *driver_dir = g_build_filename(bus_dir, "drivers", driver, NULL);

	put_link(m, devices, name, dir);
	put_link(m, dir, "subsystem", bus_dir);
	if (g_str_equal(driver, "-"))
		return;
	put_dir(m, driver_dir);
	put_link(m, dir, "driver", driver_dir);
}

static void run_pci(struct macro *m)
{
	g_autofree char *dir =
		g_build_filename("sys/devices", option(m, "under", "pci0000:00"), word(m, 1), NULL);

	put_option(m, dir, "class", "0x020000");
	put_option(m, dir, "vendor", "0x15b3");
	put_option(m, dir, "device", "0x101d");
	put_option(m, dir, "subsystem_vendor", option(m, "vendor", "0x15b3"));
	put_option(m, dir, "subsystem_device", "0x0001");
	put_option(m, dir, "revision", "0x00");
	put_line(m, dir, "numa_node", option(m, "numa", "-1"));
	put_option(m, dir, "sriov_numvfs", NULL);
	put_option(m, dir, "sriov_totalvfs", NULL);
	put_on_bus(m, "pci", dir, option(m, "driver", "-"));
}

static void run_vf(struct macro *m)
{
	g_autofree char *vf = device_dir(m, word(m, 1));
	g_autofree char *pf = device_dir(m, word(m, 2));
	g_autofree char *name = g_strconcat("virtfn", word(m, 3), NULL);

	put_link(m, vf, "physfn", pf);
	put_link(m, pf, name, vf);
}

static void run_aux(struct macro *m)
{
	g_autofree char *parent = device_dir(m, word(m, 2));
	g_autofree char *dir = g_build_filename(parent, word(m, 1), NULL);

	put_dir(m, dir);
	put_option(m, dir, "sfnum", NULL);
	put_on_bus(m, "auxiliary", dir, option(m, "driver", "-"));
}

static gboolean is_special_ub(const char *key)
{
	return g_str_equal(key, "driver") || g_str_equal(key, "class");
}

static void run_ub(struct macro *m)
{
	g_autofree char *dir = g_build_filename("sys/devices/ub0", word(m, 1), NULL);
	GHashTableIter iter;
	gpointer key, value;

	put_line(m, dir, "class_code", option(m, "class", "0x0102"));
	put_line(m, dir, "match_driver", "true");
	g_hash_table_iter_init(&iter, m->options);
	while (g_hash_table_iter_next(&iter, &key, &value))
		if (!is_special_ub(key))
			put_line(m, dir, key, value);
	put_on_bus(m, "ub", dir, option(m, "driver", "-"));
}

static void run_device(struct macro *m)
{
	put_dir(m, word(m, 2));
	put_link(m, "other-devices", word(m, 1), word(m, 2));
}

/* A child that a class made: <device>/<class>/<name>, without the 'device' link
 * when the parent is none. Returns its directory. */
static char *put_class_child(struct macro *m, const char *class, const char *device,
			     const char *name)
{
	g_autofree char *parent = device_dir(m, device);
	g_autofree char *class_dir = g_build_filename("sys/class", class, NULL);
	char *dir = g_build_filename(parent, class, name, NULL);

	put_dir(m, dir);
	put_link(m, class_dir, name, dir);
	put_link(m, dir, "subsystem", class_dir);
	if (!g_str_equal(device, "virtual"))
		put_link(m, dir, "device", parent);
	return dir;
}

static void run_net(struct macro *m)
{
	g_autofree char *dir = put_class_child(m, "net", word(m, 1), word(m, 2));
	gboolean up = g_str_equal(option(m, "up", "1"), "1");
	gboolean carrier = up && g_str_equal(option(m, "carrier", "1"), "1");

	put_option(m, dir, "type", "1");
	put_line(m, dir, "flags", up ? "0x1003" : "0x1002");
	put_line(m, dir, "operstate", carrier ? "up" : "down");
	if (up) /* the kernel refuses to read it otherwise */
		put_line(m, dir, "carrier", carrier ? "1" : "0");
	put_option(m, dir, "ifindex", "2");
	put_option(m, dir, "dev_port", "0");
	put_option(m, dir, "address", "02:00:00:00:00:01");
	put_option(m, dir, "parent", NULL);
	if (option(m, "port_name", NULL))
		put_line(m, dir, "phys_port_name", option(m, "port_name", ""));
	if (option(m, "switch_id", NULL))
		put_line(m, dir, "phys_switch_id", option(m, "switch_id", ""));
}

static void run_bond(struct macro *m)
{
	const char *bond = word(m, 1);
	g_autofree char *dir = g_build_filename("sys/devices/virtual/net", bond, NULL);
	g_autofree char *upper = g_strconcat("upper_", bond, NULL);

	put_link(m, "sys/class/net", bond, dir);
	put_line(m, dir, "type", "1");
	put_line(m, dir, "flags", "0x1403");
	put_line(m, dir, "bonding/mode", "802.3ad 4");
	for (guint i = 2; i < m->words->len && !m->error; i++) {
		g_autofree char *lower = g_strconcat("lower_", word(m, i), NULL);
		g_autofree char *slave = fixture_class_dir(m->root, "net", word(m, i), &m->error);

		if (!slave)
			return;
		put_link(m, dir, lower, slave);
		put_link(m, slave, upper, dir);
		put_link(m, slave, "master", dir);
		put_line(m, slave, "bonding_slave/state", "active");
	}
}

static void put_gid(struct macro *m, const char *port)
{
	const char *gid = option(m, "gid", "fe80:0000:0000:0000:0000:0000:0000:0001");
	gboolean ethernet = !g_strcmp0(option(m, "ll", "InfiniBand"), "Ethernet");
	g_autofree char *gids = g_build_filename(port, "gids", NULL);

	put_dir(m, gids);
	if (g_str_equal(gid, "none"))
		return;
	put_line(m, gids, "0", gid);
	put_line(m, port, "gid_attrs/types/0", ethernet ? "RoCE v2" : "IB/RoCE v1");
	if (option(m, "ndev", NULL))
		put_line(m, port, "gid_attrs/ndevs/0", option(m, "ndev", ""));
}

static void put_port(struct macro *m, const char *ib_dir, const char *number)
{
	g_autofree char *dir = g_build_filename(ib_dir, "ports", number, NULL);

	put_option(m, dir, "state", "4: ACTIVE");
	put_line(m, dir, "phys_state", option(m, "phys", "5: LinkUp"));
	put_line(m, dir, "link_layer", option(m, "ll", "InfiniBand"));
	put_option(m, dir, "rate", "100 Gb/sec (4X EDR)");
	put_option(m, dir, "lid", "0x0");
	put_option(m, dir, "sm_lid", "0x0");
	put_option(m, dir, "cap_mask", "0x00010000");
	put_gid(m, dir);
}

static void run_ib(struct macro *m)
{
	const char *guid = option(m, "guid", "0000:0000:0000:0001");
	g_autofree char *dir = put_class_child(m, "infiniband", word(m, 1), word(m, 2));

	put_option(m, dir, "node_type", "1: CA");
	put_line(m, dir, "node_guid", guid);
	put_option(m, dir, "sys_image_guid", guid);
	put_line(m, dir, "fw_ver", option(m, "fw", "28.36.1010"));
	put_option(m, dir, "node_desc", word(m, 2));
	put_option(m, dir, "hca_type", NULL);
	put_option(m, dir, "board_id", NULL);
	put_option(m, dir, "parent", NULL);
	if (!g_str_equal(option(m, "ports", "1"), "0"))
		put_port(m, dir, "1");
}

static void run_port(struct macro *m)
{
	g_autofree char *dir =
		m->error ? NULL : fixture_class_dir(m->root, "infiniband", word(m, 1), &m->error);

	if (dir)
		put_port(m, dir, word(m, 2));
}

static void put_node(struct macro *m, const char *name, const char *numbers)
{
	g_autofree char *path = g_build_filename("dev/infiniband", name, NULL);
	char *end = NULL;
	guint64 major = g_ascii_strtoull(numbers, &end, 10);
	guint64 minor = *end == ':' ? g_ascii_strtoull(end + 1, NULL, 10) : 0;

	if (!m->error)
		fixture_put_node(m->root, path, (guint)major, (guint)minor, &m->error);
}

/* <kind> DEVICE N IBDEV [PORT]: uverbs, umad and issm differ in class and number. */
static void put_char_device(struct macro *m, const char *class, guint base)
{
	guint64 minor = base + g_ascii_strtoull(word(m, 2), NULL, 10);
	g_autofree char *usual = g_strdup_printf("231:%u", (guint)minor);
	g_autofree char *name = g_strconcat(word(m, 0), word(m, 2), NULL);
	g_autofree char *dir = put_class_child(m, class, word(m, 1), name);
	g_autofree char *class_dir = g_build_filename("sys/class", class, NULL);

	put_line(m, dir, "ibdev", word(m, 3));
	put_option(m, dir, "dev", usual);
	if (m->words->len > 4)
		put_line(m, dir, "port", word(m, 4));
	else
		put_line(m, dir, "abi_version", option(m, "abi", "1"));
	/* A plain file among the links, as on every machine. */
	put_line(m, class_dir, "abi_version", m->words->len > 4 ? "5" : "6");
	put_node(m, name, option(m, "dev", usual));
}

static void run_uverbs(struct macro *m)
{
	put_char_device(m, "infiniband_verbs", 192);
}

static void run_umad(struct macro *m)
{
	put_char_device(m, "infiniband_mad", 0);
}

static void run_issm(struct macro *m)
{
	put_char_device(m, "infiniband_mad", 64);
}

static void run_rdma_cm(struct macro *m)
{
	const char *numbers = m->words->len > 1 ? word(m, 1) : "10:121";

	put_link(m, "sys/class/misc", "rdma_cm", "sys/devices/virtual/misc/rdma_cm");
	put_line(m, "sys/devices/virtual/misc/rdma_cm", "dev", numbers);
	put_line(m, "sys/devices/virtual/misc/rdma_cm", "abi_version", "4");
	put_node(m, "rdma_cm", numbers);
}

static void run_netns(struct macro *m)
{
	put_line(m, "sys/module/ib_core/parameters", "netns_mode", word(m, 1));
}

static const struct {
	const char *name;
	void (*run)(struct macro *m);
	guint n_words; /* at least, the name included */
} macros[] = {
	{"pci", run_pci, 2},	     {"vf", run_vf, 4},		{"aux", run_aux, 3},
	{"ub", run_ub, 2},	     {"device", run_device, 3}, {"net", run_net, 3},
	{"bond", run_bond, 3},	     {"ib", run_ib, 3},		{"port", run_port, 3},
	{"uverbs", run_uverbs, 4},   {"umad", run_umad, 5},	{"issm", run_issm, 5},
	{"rdma_cm", run_rdma_cm, 1}, {"netns", run_netns, 2},
};

static void split_words(struct macro *m, const char *const *words)
{
	for (; *words; words++) {
		const char *equals = strchr(*words, '=');

		if (equals)
			g_hash_table_insert(m->options, g_strndup(*words, (gsize)(equals - *words)),
					    (gpointer)(equals + 1));
		else
			g_ptr_array_add(m->words, (gpointer)*words);
	}
}

gboolean fixture_run_macro(const char *root, const char *const *words, GError **error)
{
	g_autoptr(GPtrArray) positional = g_ptr_array_new();
	g_autoptr(GHashTable) options =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	struct macro m = {.root = root, .words = positional, .options = options};
	gsize i = 0;

	split_words(&m, words);
	while (i < G_N_ELEMENTS(macros) && !g_str_equal(macros[i].name, words[0]))
		i++;
	if (i == G_N_ELEMENTS(macros) || positional->len < macros[i].n_words) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "%s: '%s'",
			    i == G_N_ELEMENTS(macros) ? "no such line" : "words are missing",
			    words[0]);
		return FALSE;
	}
	macros[i].run(&m);
	if (!m.error)
		return TRUE;
	g_propagate_error(error, m.error);
	return FALSE;
}
