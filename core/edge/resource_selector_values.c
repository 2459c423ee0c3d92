/* SPDX-License-Identifier: Apache-2.0 */
/* The values inside the lists of "selectors". */
#include <string.h>

#include "edge/resource_parse.h"
#include "edge/resource_reader.h"
#include "edge/resource_values.h"
#include "model/suggest.h"
#include "model/vf_range.h"

#define MAX_ADDRESS 63
#define MAX_NUMA_NODE 65535

static const char *id_word(enum selector_key key)
{
	return key == SELECTOR_VENDORS ? "vendor id" : "device id";
}

static gboolean is_pci(const char *bus)
{
	return g_str_equal(bus, DEFAULT_BUS);
}

static char *convert_id_number(const JsonValue *item, enum selector_key key, GPtrArray *findings)
{
	g_autofree char *digits = json_describe(item);
	g_autofree char *id = value_hex_id(digits);
	if (id == NULL) {
		reader_error(item, findings, "%s is not a %s", digits, id_word(key));
		return NULL;
	}
	reader_warning(item, findings,
		       "the number %s is taken by its digits as the %s \"%s\"; write it in quotes",
		       digits, id_word(key), id);
	return g_steal_pointer(&id);
}

/* The name of what has the id, in place of the id; FALSE if it is none that is known. */
static gboolean report_named(const JsonValue *item, const char *word, GPtrArray *findings)
{
	const char *text = item->string;
	g_autofree char *id = value_model_id(text);
	if (id != NULL)
		reader_error(
			item, findings,
			"\"%s\" is the name of a model, not a %s; that of its devices is \"%s\"",
			text, word, id);
	else if (value_looks_like_rdma_device(text))
		reader_error(item, findings,
			     "\"%s\" is an RDMA device, not a %s; use \"rdmaDevices\": [\"%s\"]",
			     text, word, text);
	return id != NULL || value_looks_like_rdma_device(text);
}

static void report_no_id(const JsonValue *item, enum selector_key key, GPtrArray *findings)
{
	const char *text = item->string, *word = id_word(key);
	switch (value_form(text)) {
	case VALUE_PCI_ADDRESS:
		reader_error(item, findings,
			     "\"%s\" is a PCI address, not a %s; use \"addresses\": [\"%s\"]", text,
			     word, text);
		return;
	case VALUE_BUS_NUMBER:
		reader_error(
			item, findings,
			"\"%s\" is a bus number, not a %s; to choose a device by its place use "
			"\"addresses\"",
			text, word);
		return;
	case VALUE_ID_PAIR:
		reader_error(item, findings,
			     "\"%s\" is a vendor and a device id; use \"vendors\": [\"%.4s\"] and "
			     "\"deviceIDs\": [\"%s\"]",
			     text, text, text + strlen("15b3:"));
		return;
	case VALUE_PLAIN:
	case VALUE_RANGE:
		break;
	}
	if (!report_named(item, word, findings))
		reader_error(item, findings,
			     "\"%s\" is not a %s, which has up to 8 hexadecimal digits, such as "
			     "\"%s\"; lspci -nn shows it in brackets",
			     text, word, key == SELECTOR_VENDORS ? "15b3" : "101b");
}

static char *convert_id(const JsonValue *item, enum selector_key key, const char *bus,
			GPtrArray *findings)
{
	(void)bus;
	if (item->kind == JSON_KIND_INT)
		return convert_id_number(item, key, findings);
	const char *text = reader_text(item, findings);
	if (text == NULL)
		return NULL;
	char *id = value_hex_id(text);
	if (id == NULL)
		report_no_id(item, key, findings);
	return id;
}

static const char *check_driver(const char *text)
{
	return strpbrk(text, "/: \t*#") == NULL
		       ? NULL
		       : "is not the name of a driver, such as \"mlx5_core\"";
}

/* They are legal in names, hardly ever meant, and some of them cannot be seen. */
static void warn_odd(const JsonValue *item, const char *text, GPtrArray *findings)
{
	g_autofree char *odd = value_odd_character(text);
	if (odd != NULL)
		reader_warning(item, findings,
			       "\"%s\" has the character %s, which may be invisible; if it is not "
			       "meant, write the name anew",
			       text, odd);
}

static char *convert_driver(const JsonValue *item, enum selector_key key, const char *bus,
			    GPtrArray *findings)
{
	(void)key;
	(void)bus;
	if (item->kind == JSON_KIND_STRING)
		warn_odd(item, item->string, findings);
	return reader_checked_text(item, check_driver, findings);
}

/* Says where a value belongs that is no interface name; FALSE if it may be one. */
static gboolean report_misplaced(const JsonValue *item, const char *text, GPtrArray *findings)
{
	enum value_form form = value_form(text);
	if (form == VALUE_PCI_ADDRESS)
		reader_error(item, findings,
			     "\"%s\" is a PCI address, not an interface; use \"addresses\": "
			     "[\"%s\"]",
			     text, text);
	else if (form == VALUE_RANGE)
		reader_error(item, findings,
			     "\"%s\" is a range of virtual functions, not an interface; use "
			     "\"pfNames\": [\"%s\"]",
			     text, text);
	return form == VALUE_PCI_ADDRESS || form == VALUE_RANGE;
}

static char *convert_interface(const JsonValue *item, enum selector_key key, const char *bus,
			       GPtrArray *findings)
{
	(void)key;
	(void)bus;
	const char *text = reader_text(item, findings);
	if (text == NULL || report_misplaced(item, text, findings))
		return NULL;
	const char *problem = value_check_interface(text);
	if (problem != NULL) {
		reader_error(item, findings, "\"%s\" %s", text, problem);
		return NULL;
	}
	warn_odd(item, text, findings);
	if (strchr(text, '@') != NULL)
		reader_warning(item, findings,
			       "\"%s\" looks as 'ip link' prints it; the name of the interface "
			       "ends before the '@'",
			       text);
	if (value_looks_like_rdma_device(text))
		reader_warning(item, findings,
			       "\"%s\" looks like an RDMA device, not an interface; if it is one, "
			       "use \"rdmaDevices\"",
			       text);
	return g_strdup(text);
}

static char *convert_link_type(const JsonValue *item, enum selector_key key, const char *bus,
			       GPtrArray *findings)
{
	(void)key;
	(void)bus;
	static const char *const words[] = {"ether", "infiniband", "ethernet", "roce", NULL};
	const char *text = reader_text(item, findings);
	if (text == NULL)
		return NULL;
	const char *type = value_link_type(text);
	const char *nearest = suggest_nearest(text, words);
	if (type != NULL)
		return g_strdup(type);
	if (nearest != NULL)
		reader_error(item, findings, "\"%s\" is unknown; did you mean \"%s\"?", text,
			     nearest);
	else
		reader_error(item, findings,
			     "\"%s\" is unknown; possible are \"ether\" and \"infiniband\"", text);
	return NULL;
}

/* "mlx5_core.sf.4" */
static gboolean is_auxiliary_name(const char *text)
{
	g_auto(GStrv) parts = g_strsplit(text, ".", -1);
	return g_strv_length(parts) == 3 && *parts[0] != '\0' && *parts[1] != '\0' &&
	       g_ascii_isdigit(*parts[2]);
}

static void report_no_address(const JsonValue *item, const char *text, GPtrArray *findings)
{
	g_autofree char *id = value_hex_id(text);
	if (value_form(text) == VALUE_BUS_NUMBER)
		reader_error(item, findings,
			     "\"%s\" is a bus number; an address has a function, such as "
			     "\"0000:3b:00.0\"",
			     text);
	else if (id != NULL)
		reader_error(item, findings,
			     "\"%s\" is not a PCI address, such as \"0000:3b:00.0\"; if it is a "
			     "device id, use \"deviceIDs\"",
			     text);
	else if (strpbrk(text, "*?[") != NULL)
		reader_error(item, findings,
			     "\"%s\" is a pattern; write the addresses out, or select by another "
			     "key",
			     text);
	else if (strchr(text, ':') != NULL)
		reader_error(item, findings,
			     "\"%s\" is not a PCI address, which has a domain, a bus, a device up "
			     "to 1f and a function up to 7, such as \"0000:3b:1f.7\"",
			     text);
	else
		reader_error(
			item, findings,
			"\"%s\" is not a PCI address, such as \"0000:3b:00.0\"; interface names "
			"belong into \"%s\"",
			text, "ifNames");
}

/* Addresses of buses that we do not know are the backend's business. */
static char *convert_foreign_address(const JsonValue *item, const char *text, GPtrArray *findings)
{
	if (strlen(text) <= MAX_ADDRESS && strpbrk(text, " \t\n") == NULL)
		return g_strdup(text);
	reader_error(item, findings,
		     "\"%s\" is not an address: at most 63 characters without white space", text);
	return NULL;
}

static char *convert_address(const JsonValue *item, enum selector_key key, const char *bus,
			     GPtrArray *findings)
{
	(void)key;
	const char *text = reader_text(item, findings);
	if (text == NULL)
		return NULL;
	if (value_form(text) == VALUE_RANGE) {
		reader_error(item, findings,
			     "\"%s\" is a range of virtual functions; \"addresses\" takes single "
			     "devices, use \"rootDevices\": [\"%s\"]",
			     text, text);
		return NULL;
	}
	if (!is_pci(bus))
		return convert_foreign_address(item, text, findings);
	char *address = value_pci_address(text);
	if (address != NULL)
		return address;
	if (is_auxiliary_name(text))
		return g_strdup(text);
	report_no_address(item, text, findings);
	return NULL;
}

static char *convert_rdma_device(const JsonValue *item, enum selector_key key, const char *bus,
				 GPtrArray *findings)
{
	(void)key;
	(void)bus;
	char *name = reader_checked_text(item, value_check_rdma_device, findings);
	if (name != NULL && value_looks_like_char_device(name))
		reader_warning(item, findings,
			       "\"%s\" looks like a character device; its RDMA device is in "
			       "/sys/class/infiniband_verbs/*/ibdev",
			       name);
	return name;
}

static const char *check_pf_name(const char *name)
{
	g_autofree char *address = value_pci_address(name);
	if (address != NULL)
		return "is a PCI address, not an interface; use \"rootDevices\"";
	return value_check_interface(name);
}

static const char *check_root_device(const char *name, const char *bus)
{
	g_autofree char *address = value_pci_address(name);
	if (address != NULL || !is_pci(bus))
		return NULL;
	return "is not a PCI address, such as \"0000:3b:00.0\"; interface names belong into "
	       "\"pfNames\"";
}

static char *normal_root(const char *name, enum selector_key key, const char *bus)
{
	gboolean is_address = key == SELECTOR_ROOT_DEVICES && is_pci(bus);
	return is_address ? value_pci_address(name) : g_strdup(name);
}

/* A physical function with or without a range: "ens1f0#0-3,7". */
static char *convert_root(const JsonValue *item, enum selector_key key, const char *bus,
			  GPtrArray *findings)
{
	const char *text = reader_text(item, findings);
	if (text == NULL)
		return NULL;
	g_autofree char *range_problem = vf_range_problem(text);
	if (range_problem != NULL) {
		reader_error(item, findings, "\"%s\" is no range of virtual functions: %s", text,
			     range_problem);
		return NULL;
	}
	gsize length = vf_range_name_length(text);
	g_autofree char *name = g_strndup(text, length);
	const char *problem =
		key == SELECTOR_PF_NAMES ? check_pf_name(name) : check_root_device(name, bus);
	if (problem != NULL) {
		reader_error(item, findings, "\"%s\" %s", name, problem);
		return NULL;
	}
	warn_odd(item, name, findings);
	g_autofree char *root = normal_root(name, key, bus);
	return g_strconcat(root, text + length, NULL);
}

static char *convert_numa_node(const JsonValue *item, enum selector_key key, const char *bus,
			       GPtrArray *findings)
{
	(void)key;
	(void)bus;
	gint64 node = item->integer;
	gboolean is_number = item->kind == JSON_KIND_INT;
	if (item->kind == JSON_KIND_STRING)
		is_number =
			g_ascii_string_to_signed(item->string, 10, G_MININT, G_MAXINT, &node, NULL);
	if (is_number && node >= 0 && node <= MAX_NUMA_NODE)
		return g_strdup_printf("%" G_GINT64_FORMAT, node);
	g_autofree char *seen = json_describe(item);
	reader_error(item, findings, "%s is not a NUMA node: a number from 0 on", seen);
	return NULL;
}

/* ["15b3,8086"]: a comma is in no value but that of a range of virtual functions. */
static gboolean report_several(const JsonValue *item, enum selector_key key, GPtrArray *findings)
{
	if (item->kind != JSON_KIND_STRING || strchr(item->string, ',') == NULL ||
	    strchr(item->string, '#') != NULL || key == SELECTOR_PF_NAMES ||
	    key == SELECTOR_ROOT_DEVICES)
		return FALSE;
	g_auto(GStrv) values = g_strsplit(item->string, ",", -1);
	for (gsize i = 0; values[i] != NULL; i++)
		g_strstrip(values[i]);
	g_autofree char *list = g_strjoinv("\", \"", values);
	reader_error(item, findings, "\"%s\" is several values in one text; write [\"%s\"]",
		     item->string, list);
	return TRUE;
}

typedef char *(*convert_fn)(const JsonValue *item, enum selector_key key, const char *bus,
			    GPtrArray *findings);

char *resource_parse_value(const JsonValue *item, enum selector_key key, const char *bus,
			   GPtrArray *findings)
{
	static const convert_fn convert[SELECTOR_N_KEYS] = {
		[SELECTOR_VENDORS] = convert_id,
		[SELECTOR_DEVICE_IDS] = convert_id,
		[SELECTOR_DRIVERS] = convert_driver,
		[SELECTOR_IF_NAMES] = convert_interface,
		[SELECTOR_LINK_TYPES] = convert_link_type,
		[SELECTOR_ADDRESSES] = convert_address,
		[SELECTOR_RDMA_DEVICES] = convert_rdma_device,
		[SELECTOR_PF_NAMES] = convert_root,
		[SELECTOR_ROOT_DEVICES] = convert_root,
		[SELECTOR_NUMA_NODES] = convert_numa_node,
	};
	if (report_several(item, key, findings))
		return NULL;
	return convert[key](item, key, bus, findings);
}
