/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/sim_text.h"

#include <glib.h>
#include <string.h>

/* How an event reads: {field} is replaced by its value. Events that are not here are
 * shown as their fields. */
static const struct {
	const char *event, *line;
} formats[] = {
	{"started", "kubelet {profile} simulated on {dir}"},
	{"serving", "{socket}"},
	{"register", "{resource} at {endpoint}"},
	{"registered", "{resource} at {endpoint} in {ms} ms"},
	{"refused", "{resource}: {message}"},
	{"list", "{resource}: {healthy} of {devices} devices healthy"},
	{"stream-ended", "{resource}: {message}"},
	{"resource", "{name}: capacity {capacity}, allocatable {allocatable}, free {free}"},
	{"resources", "{count} in all, {connections} connected"},
	{"allocated", "{resource} to {pod}: {ids}; files {files}"},
	{"rejected", "{pod}: {message}"},
	{"skipped", "{pod} asks for {resource}: {text}"},
	{"waited", "{condition} {resource}: after {ms} ms"},
	{"freed", "{pod}"},
	{"wiped", "{files}"},
	{"scenario", "{mark} {name}: {times} times, median {median_ms} ms, worst {worst_ms} ms"},
	{"verdict", "{mark} {rule}: {text}"},
};

static void append_value(GString *line, const json_t *value)
{
	size_t index;
	const json_t *item;
	switch (json_typeof(value)) {
	case JSON_STRING:
		g_string_append(line, json_string_value(value));
		break;
	case JSON_INTEGER:
		g_string_append_printf(line, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
		break;
	case JSON_REAL:
		g_string_append_printf(line, "%.1f", json_real_value(value));
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		g_string_append(line, json_is_true(value) ? "yes" : "no");
		break;
	case JSON_ARRAY:
		json_array_foreach(value, index, item)
		{
			g_string_append(line, index > 0 ? " " : "");
			append_value(line, item);
		}
		break;
	default:
		g_string_append(line, "…");
		break;
	}
}

/* The paths of an allocation's devices. */
static void append_files(GString *line, const json_t *event)
{
	size_t index;
	const json_t *device;
	json_array_foreach(json_object_get(event, "devices"), index, device)
	{
		g_string_append(line, index > 0 ? " " : "");
		g_string_append(line, json_string_value(json_object_get(device, "host")));
	}
	if (index == 0)
		g_string_append(line, "none");
}

static void append_field(GString *line, const json_t *event, const char *name)
{
	const json_t *value = json_object_get(event, name);
	if (value)
		append_value(line, value);
	else if (strcmp(name, "files") == 0)
		append_files(line, event);
	else if (strcmp(name, "mark") == 0)
		g_string_append(line, json_is_true(json_object_get(event, "ok")) ? "ok" : "BAD");
}

static void append_format(GString *line, const json_t *event, const char *format)
{
	g_auto(GStrv) parts = g_strsplit_set(format, "{}", -1);
	for (gsize i = 0; parts[i]; i++) {
		if (i % 2 == 0)
			g_string_append(line, parts[i]);
		else
			append_field(line, event, parts[i]);
	}
}

static void append_all(GString *line, const json_t *event)
{
	const char *key, *separator = "";
	const json_t *value;
	json_object_foreach((json_t *)event, key, value)
	{
		if (strcmp(key, "t") == 0 || strcmp(key, "event") == 0)
			continue;
		g_string_append_printf(line, "%s%s ", separator, key);
		append_value(line, value);
		separator = ", ";
	}
}

/* Names come from the plugin: they must not move the cursor. */
static char *printable(GString *line)
{
	for (char *c = line->str; *c; c++) {
		if (g_ascii_iscntrl(*c))
			*c = '?';
	}
	return g_string_free(line, FALSE);
}

static const char *format_of(const json_t *event, const char *name)
{
	/* No times: the plugin was not back once. */
	if (strcmp(name, "scenario") == 0 && !json_object_get(event, "times"))
		return "{mark} {name}";
	for (gsize i = 0; i < G_N_ELEMENTS(formats); i++) {
		if (strcmp(formats[i].event, name) == 0)
			return formats[i].line;
	}
	return NULL;
}

char *sim_text_line(const json_t *event)
{
	const char *name = json_string_value(json_object_get(event, "event"));
	const char *format = format_of(event, name);
	GString *line = g_string_new(NULL);
	g_string_append_printf(line, "%9.3f  %-13s ", json_real_value(json_object_get(event, "t")),
			       name);
	if (format)
		append_format(line, event, format);
	else
		append_all(line, event);
	return printable(line);
}
