/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The forms that values of the resource file have: ids, addresses, names, ranges.
 * Pure. Functions that check return NULL for "right", else the rule that is broken,
 * as the end of a sentence that begins with the value.
 */
#pragma once

#include <glib.h>

/* "0x15B3" -> "15b3", "222" -> "0222"; NULL if it is no hexadecimal id. */
char *value_hex_id(const char *text);
/* "3B:00.0" -> "0000:3b:00.0"; NULL if it is no PCI address. */
char *value_pci_address(const char *text);
/* "ib" -> "infiniband", "roce" -> "ether"; NULL if it is no link type. */
const char *value_link_type(const char *text);

enum value_form {
	VALUE_PLAIN,
	VALUE_PCI_ADDRESS, /* "0000:41:00.2", "41:00.2" */
	VALUE_BUS_NUMBER, /* "41:00", "0000:41" */
	VALUE_ID_PAIR, /* "15b3:1017", as lspci -n prints it */
	VALUE_RANGE, /* "ens1f0#0-3" */
};

/* What a value looks like, to say where it belongs. */
enum value_form value_form(const char *text);
/* "mlx5_0": the name that an RDMA device has by default. */
gboolean value_looks_like_rdma_device(const char *text);
/* "uverbs0" */
gboolean value_looks_like_char_device(const char *text);
/* "MT4125", as firmware calls a model by its decimal id: "101d". NULL if it is none. */
char *value_model_id(const char *text);
/* The first character that is not ASCII, as "U+200B"; NULL if all are. */
char *value_odd_character(const char *text);

const char *value_check_resource_name(const char *name);
const char *value_check_resource_prefix(const char *prefix);
const char *value_check_bus(const char *bus);
const char *value_check_interface(const char *name);
/* RDMA device name or glob. */
const char *value_check_rdma_device(const char *name);
/* An absolute path without '.' and '..'. */
const char *value_check_path(const char *path);
/* A path or glob of a device node below /dev. */
const char *value_check_device(const char *path);
/* A variable that every shell can read. */
const char *value_check_variable(const char *name);
