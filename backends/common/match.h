/* SPDX-License-Identifier: Apache-2.0 */
/* Compares a device with one value of a configuration. Pure. */
#pragma once

#include <rdmadp/backend.h>

enum match_kind {
	MATCH_TEXT, /* the same bytes */
	MATCH_GUID, /* the same text in any letter case */
	MATCH_HEX, /* the same hexadecimal number, however it is written */
	MATCH_DECIMAL,
	MATCH_DRIVER, /* the bus device's driver, or that of an RDMA device of it */
};

struct match_rule {
	const char *key;
	enum match_kind kind;
	/* MATCH_DRIVER: the driver that 'value' is another name of, or NULL. */
	const char *(*alias)(const char *value);
};

/* As rdmadp_backend.match. 'rules' end with one without key. */
int match_device(const struct match_rule *rules, const struct rdmadp_device *device,
		 const char *key, const char *value);
