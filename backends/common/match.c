/* SPDX-License-Identifier: Apache-2.0 */
#include "common/match.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "common/text.h"

static bool same_decimal(const char *a, const char *b)
{
	uint32_t left;
	uint32_t right;

	return text_unsigned(a, 10, &left) && text_unsigned(b, 10, &right) && left == right;
}

static bool is_possible(enum match_kind kind, const char *value)
{
	char id[TEXT_ID];
	uint32_t number;

	if (kind == MATCH_HEX)
		return text_hex_id(value, id);
	return kind == MATCH_DECIMAL ? text_unsigned(value, 10, &number) : *value != '\0';
}

static bool is_same(enum match_kind kind, const char *seen, const char *wanted)
{
	if (kind == MATCH_HEX)
		return text_same_hex(seen, wanted);
	if (kind == MATCH_GUID)
		return strcasecmp(seen, wanted) == 0;
	return kind == MATCH_DECIMAL ? same_decimal(seen, wanted) : strcmp(seen, wanted) == 0;
}

static int match_attributes(const struct match_rule *rule, const struct rdmadp_device *device,
			    const char *value)
{
	for (uint32_t i = 0; i < device->n_attributes; i++) {
		const struct rdmadp_attribute *attribute = device->attributes[i];

		if (strcmp(attribute->key, rule->key) == 0 &&
		    is_same(rule->kind, attribute->value, value))
			return 1;
	}
	return 0;
}

static bool is_driver(const char *driver, const char *value)
{
	return driver && value && strcmp(driver, value) == 0;
}

static bool has_driver(const struct rdmadp_device *device, const char *value)
{
	if (is_driver(device->driver, value))
		return true;
	for (uint32_t i = 0; i < device->n_rdma_devices; i++)
		if (is_driver(device->rdma_devices[i]->driver, value))
			return true;
	return false;
}

static int match_driver(const struct match_rule *rule, const struct rdmadp_device *device,
			const char *value)
{
	return has_driver(device, value) || (rule->alias && has_driver(device, rule->alias(value)));
}

int match_device(const struct match_rule *rules, const struct rdmadp_device *device,
		 const char *key, const char *value)
{
	const struct match_rule *rule = rules;

	while (rule->key && strcmp(rule->key, key) != 0)
		rule++;
	if (!rule->key || !is_possible(rule->kind, value))
		return -EINVAL;
	return rule->kind == MATCH_DRIVER ? match_driver(rule, device, value)
					  : match_attributes(rule, device, value);
}
