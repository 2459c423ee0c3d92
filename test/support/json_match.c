/* SPDX-License-Identifier: Apache-2.0 */
#include "support/json_match.h"

static gboolean match_object(const json_t *value, const json_t *pattern)
{
	const char *key;
	const json_t *wanted;
	json_object_foreach((json_t *)pattern, key, wanted)
	{
		const json_t *found = json_object_get(value, key);
		if (!found || !json_match(found, wanted))
			return FALSE;
	}
	return TRUE;
}

static gboolean match_array(const json_t *value, const json_t *pattern)
{
	if (json_array_size(value) != json_array_size(pattern))
		return FALSE;
	for (size_t i = 0; i < json_array_size(pattern); i++) {
		if (!json_match(json_array_get(value, i), json_array_get(pattern, i)))
			return FALSE;
	}
	return TRUE;
}

gboolean json_match(const json_t *value, const json_t *pattern)
{
	if (json_is_number(pattern) && json_is_number(value))
		return json_number_value(value) == json_number_value(pattern);
	if (json_is_object(pattern))
		return json_is_object(value) && match_object(value, pattern);
	if (json_is_array(pattern))
		return json_is_array(value) && match_array(value, pattern);
	return json_equal(value, pattern) != 0;
}

json_t *json_pattern(const char *text)
{
	json_error_t error;
	json_t *pattern = json_loads(text, 0, &error);
	if (!pattern)
		g_error("bad pattern '%s': %s", text, error.text);
	return pattern;
}
