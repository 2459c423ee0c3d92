/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/resource_values.h"

#include <string.h>

#define MAX_ID_DIGITS 8
#define MAX_NAME 63 /* the kubelet's, for the part after the '/' */
#define MAX_PREFIX 244 /* 253 for "requests." and the prefix */
#define MAX_INTERFACE 15
#define MAX_RDMA_DEVICE 63

static gboolean is_hex(const char *text, gsize length)
{
	for (gsize i = 0; i < length; i++) {
		if (!g_ascii_isxdigit(text[i]))
			return FALSE;
	}
	return length > 0;
}

char *value_hex_id(const char *text)
{
	const char *digits = text;
	if (digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X'))
		digits += 2;
	gsize length = strlen(digits);
	if (!is_hex(digits, length))
		return NULL;
	while (length > 1 && *digits == '0') {
		digits++;
		length--;
	}
	if (length > MAX_ID_DIGITS)
		return NULL;
	g_autofree char *padded = g_strconcat(&"0000"[MIN(length, 4)], digits, NULL);
	return g_ascii_strdown(padded, -1);
}

/* Takes one group of hexadecimal digits from *at that ends with 'end'. */
static gboolean take_hex(const char **at, gsize min, gsize max, char end, guint64 *ret_number)
{
	const char *stop = strchr(*at, end);
	if (stop == NULL)
		return FALSE;
	gsize length = (gsize)(stop - *at);
	if (length < min || length > max || !is_hex(*at, length))
		return FALSE;
	*ret_number = g_ascii_strtoull(*at, NULL, 16);
	*at = end == '\0' ? stop : stop + 1;
	return TRUE;
}

char *value_pci_address(const char *text)
{
	guint64 domain = 0, bus, slot, function;
	const char *at = text;
	gboolean has_domain = strchr(text, ':') != strrchr(text, ':');
	if (has_domain && !take_hex(&at, 1, 8, ':', &domain))
		return NULL;
	if (!take_hex(&at, 1, 2, ':', &bus) || !take_hex(&at, 1, 2, '.', &slot) ||
	    !take_hex(&at, 1, 1, '\0', &function) || slot > 0x1f || function > 7)
		return NULL;
	return g_strdup_printf("%04x:%02x:%02x.%x", (guint)domain, (guint)bus, (guint)slot,
			       (guint)function);
}

const char *value_link_type(const char *text)
{
	static const char *const table[][2] = {
		{"ether", "ether"}, {"ethernet", "ether"},	  {"roce", "ether"},
		{"eth", "ether"},   {"infiniband", "infiniband"}, {"ib", "infiniband"},
	};
	for (gsize i = 0; i < G_N_ELEMENTS(table); i++) {
		if (g_ascii_strcasecmp(text, table[i][0]) == 0)
			return table[i][1];
	}
	return NULL;
}

/* Groups of hexadecimal digits with colons between: how long is each? */
static gboolean has_groups(char **groups, const gsize *lengths, gsize n)
{
	if (g_strv_length(groups) != n)
		return FALSE;
	for (gsize i = 0; i < n; i++) {
		if (strlen(groups[i]) != lengths[i] || !is_hex(groups[i], lengths[i]))
			return FALSE;
	}
	return TRUE;
}

enum value_form value_form(const char *text)
{
	static const gsize pair[] = {4, 4}, bus_slot[] = {2, 2}, domain_bus[] = {4, 2},
			   domain_bus_slot[] = {4, 2, 2};
	g_autofree char *address = value_pci_address(text);
	if (address != NULL)
		return VALUE_PCI_ADDRESS;
	if (strchr(text, '#') != NULL)
		return VALUE_RANGE;
	g_auto(GStrv) groups = g_strsplit(text, ":", -1);
	if (has_groups(groups, pair, 2))
		return VALUE_ID_PAIR;
	if (has_groups(groups, bus_slot, 2) || has_groups(groups, domain_bus, 2) ||
	    has_groups(groups, domain_bus_slot, 3))
		return VALUE_BUS_NUMBER;
	return VALUE_PLAIN;
}

/* Is it one of the words, and then a digit? */
static gboolean is_numbered(const char *text, const char *const *words)
{
	for (; *words != NULL; words++) {
		gsize length = strlen(*words);
		if (strncmp(text, *words, length) == 0 && g_ascii_isdigit(text[length]))
			return TRUE;
	}
	return FALSE;
}

gboolean value_looks_like_rdma_device(const char *text)
{
	static const char *const words[] = {"mlx4_",  "mlx5_", "mlx5_bond_", "irdma", "bnxt_re",
					    "hns_",   "hrn5_", "rxe",	     "siw",   "rdmap",
					    "erdma_", "mana_", NULL};
	return is_numbered(text, words);
}

gboolean value_looks_like_char_device(const char *text)
{
	static const char *const words[] = {"uverbs", "umad", "issm", NULL};
	return is_numbered(text, words);
}

char *value_model_id(const char *text)
{
	guint64 id;
	if (!g_str_has_prefix(text, "MT") ||
	    !g_ascii_string_to_unsigned(text + 2, 10, 0x1000, 0xa2ff, &id, NULL))
		return NULL;
	/* Others, such as MT27800, are names of chips. */
	return id < 0x1100 || id >= 0xa200 ? g_strdup_printf("%04x", (guint)id) : NULL;
}

char *value_odd_character(const char *text)
{
	for (const char *at = text; *at != '\0'; at = g_utf8_next_char(at)) {
		if ((*at & 0x80) != 0)
			return g_strdup_printf("U+%04X", g_utf8_get_char(at));
	}
	return NULL;
}

static gboolean consists_of(const char *text, const char *others)
{
	for (; *text != '\0'; text++) {
		if (!g_ascii_isalnum(*text) && strchr(others, *text) == NULL)
			return FALSE;
	}
	return TRUE;
}

const char *value_check_resource_name(const char *name)
{
	gsize length = strlen(name);
	if (length == 0)
		return "is empty; a resource needs a name";
	if (strchr(name, '/') != NULL)
		return "contains invalid characters: what is before the '/' is the resourcePrefix";
	if (!consists_of(name, "-_."))
		return "contains invalid characters; letters, digits, '-', '_' and '.' are allowed";
	if (length > MAX_NAME)
		return "is too long; the kubelet takes 63 characters";
	if (!g_ascii_isalnum(name[0]) || !g_ascii_isalnum(name[length - 1]))
		return "must begin and end with a letter or a digit";
	return NULL;
}

static gboolean is_dns_label(const char *label)
{
	gsize length = strlen(label);
	return length > 0 && consists_of(label, "-") && label[0] != '-' && label[length - 1] != '-';
}

const char *value_check_resource_prefix(const char *prefix)
{
	if (strlen(prefix) > MAX_PREFIX)
		return "is too long; the kubelet takes 244 characters";
	if (strchr(prefix, '/') != NULL)
		return "contains a '/'; the prefix ends before it, the rest is the resourceName";
	for (const char *at = prefix; *at != '\0'; at++) {
		if (g_ascii_isupper(*at))
			return "must be lower case";
	}
	if (strchr(prefix, '_') != NULL)
		return "contains '_', which a domain name cannot; use '-'";
	g_auto(GStrv) labels = g_strsplit(prefix, ".", -1);
	for (gsize i = 0; labels[i] != NULL; i++) {
		if (!is_dns_label(labels[i]))
			return "is not a domain name; lower-case letters, digits and '-' with dots "
			       "between are allowed, such as \"huawei.com\"";
	}
	if (g_str_has_suffix(prefix, "kubernetes.io"))
		return "is reserved: the kubelet refuses names below kubernetes.io";
	if (g_str_has_prefix(prefix, "requests."))
		return "is reserved: the kubelet refuses names that begin with \"requests.\"";
	return NULL;
}

const char *value_check_bus(const char *bus)
{
	gsize length = strlen(bus);
	for (const char *at = bus; *at != '\0'; at++) {
		if (g_ascii_isupper(*at))
			return "must be lower case";
	}
	if (length == 0 || length > 32 || !g_ascii_islower(bus[0]) || !consists_of(bus, "_"))
		return "is not the name of a backend; a lower-case letter, then at most 31 "
		       "letters, "
		       "digits or '_'";
	return NULL;
}

const char *value_check_interface(const char *name)
{
	if (strpbrk(name, "*?[") != NULL)
		return "is a pattern; write the interface names out";
	if (strlen(name) > MAX_INTERFACE)
		return "is longer than the 15 characters that an interface name can have; "
		       "alternative names (altname) are not looked at";
	if (strpbrk(name, "/: \t\n\r\v\f") != NULL)
		return "is not the name of a network interface";
	return NULL;
}

const char *value_check_rdma_device(const char *name)
{
	if (strlen(name) > MAX_RDMA_DEVICE)
		return "is longer than the 63 characters that an RDMA device name can have";
	if (!consists_of(name, "_-.*?[]!"))
		return "is not the name of an RDMA device (mlx5_0) or a pattern of names (mlx5_*)";
	return NULL;
}

const char *value_check_path(const char *path)
{
	if (path[0] != '/')
		return "is not an absolute path";
	for (const char *at = path; *at != '\0'; at++) {
		if (g_ascii_iscntrl(*at))
			return "contains a control character";
	}
	g_auto(GStrv) parts = g_strsplit(path, "/", -1);
	for (gsize i = 0; parts[i] != NULL; i++) {
		if (g_str_equal(parts[i], ".") || g_str_equal(parts[i], ".."))
			return "contains '.' or '..'";
	}
	return NULL;
}

const char *value_check_device(const char *path)
{
	if (!g_str_has_prefix(path, "/dev/") || path[strlen("/dev/")] == '\0')
		return "is not below /dev";
	return value_check_path(path);
}

const char *value_check_variable(const char *name)
{
	if (name[0] == '\0' || g_ascii_isdigit(name[0]) || !consists_of(name, "_"))
		return "is not the name of an environment variable; letters, digits and '_' are "
		       "allowed, not beginning with a digit";
	return NULL;
}
