/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/settings_keys.h"

#include <string.h>

#include "edge/resource_values.h"
#include "model/socket_name.h"
#include "model/suggest.h"

#define DAY 86400
#define YEAR (365.0 * DAY)
/* Timers count milliseconds: less would mean without a pause. */
#define LEAST_SECONDS 0.001
#define MAX_PATH 4095
#define MAX_LABEL 317 /* 253, '/', 63 */
#define MAX_GROUP 32
/* What a directory of sockets may have, so that a name is left. */
#define MAX_SOCKET_DIR (SOCKET_NAME_MAX_PATH - SOCKET_NAME_LEAST - 1)

static const struct setting_choice log_levels[] = {
	{"error", LOG_LEVEL_ERROR},
	{"warning", LOG_LEVEL_WARNING},
	{"info", LOG_LEVEL_INFO},
	{"debug", LOG_LEVEL_DEBUG},
	{NULL, 0},
};

static const struct setting_choice log_formats[] = {
	{"auto", LOG_FORMAT_AUTO},
	{"text", LOG_FORMAT_TEXT},
	{"journal", LOG_FORMAT_JOURNAL},
	{"json", LOG_FORMAT_JSON},
	{NULL, 0},
};

static const struct setting_choice registrations[] = {
	{"register", REGISTRATION_REGISTER},
	{"watcher", REGISTRATION_WATCHER},
	{"auto", REGISTRATION_AUTO},
	{NULL, 0},
};

static const struct setting_choice initial_states[] = {
	{"require", FALSE},
	{"assume", TRUE},
	{NULL, 0},
};

static const char *check_word(const char *text, const char *others)
{
	for (; *text != '\0'; text++) {
		if (!g_ascii_isalnum(*text) && strchr(others, *text) == NULL)
			return "contains a character that does not belong there";
	}
	return NULL;
}

static const char *check_group(const char *text)
{
	return check_word(text, "-_.");
}

static const char *check_label(const char *text)
{
	const char *slash = strchr(text, '/');
	if (slash != NULL && (slash == text || slash[1] == '\0' || strchr(slash + 1, '/') != NULL))
		return "is not the key of a node label, such as "
		       "\"rdma.network.alibabacloud.com/exclusive\"";
	return check_word(text, "-_./");
}

#define MEMBER(name) G_STRUCT_OFFSET(struct settings, name)
#define PATH_KEY(path, member, shortest, longest)                                                  \
	{                                                                                          \
		path, SETTING_PATH, MEMBER(member), shortest, longest, NULL, value_check_path      \
	}
#define TEXT_KEY(path, member, longest, check)                                                     \
	{                                                                                          \
		path, SETTING_TEXT, MEMBER(member), 0, longest, NULL, check                        \
	}
#define CHOICE_KEY(path, member, choices)                                                          \
	{                                                                                          \
		path, SETTING_CHOICE, MEMBER(member), 0, 0, choices, NULL                          \
	}
#define SECONDS_KEY(path, member, max)                                                             \
	{                                                                                          \
		path, SETTING_SECONDS, MEMBER(member), 0, max, NULL, NULL                          \
	}

const struct setting_key setting_keys[] = {
	CHOICE_KEY("log.level", log_level, log_levels),
	CHOICE_KEY("log.format", log_format, log_formats),
	PATH_KEY("backend_dir", backend_dir, 1, MAX_PATH),
	PATH_KEY("resources", resources, 1, MAX_PATH),
	PATH_KEY("kubelet.device_plugins_dir", kubelet_dir, 1, MAX_SOCKET_DIR),
	PATH_KEY("kubelet.plugins_registry_dir", plugins_registry_dir, 1, MAX_SOCKET_DIR),
	PATH_KEY("kubelet.pod_resources_socket", pod_resources_socket, 1, SOCKET_NAME_MAX_PATH),
	SECONDS_KEY("kubelet.settle_time", settle_time_s, DAY),
	CHOICE_KEY("kubelet.registration", registration, registrations),
	{"kubelet.unique_socket_names", SETTING_FLAG, MEMBER(unique_socket_names), 0, 0, NULL,
	 NULL},
	PATH_KEY("sysfs_root", sysfs_root, 1, MAX_PATH),
	PATH_KEY("dev_root", dev_root, 1, MAX_PATH),
	PATH_KEY("cdi_dir", cdi_dir, 1, MAX_PATH),
	PATH_KEY("devinfo_dir", devinfo_dir, 0, MAX_PATH),
	PATH_KEY("state_dir", state_dir, 1, MAX_PATH),
	PATH_KEY("status_socket", status_socket, 0, SOCKET_NAME_MAX_PATH),
	TEXT_KEY("status_group", status_group, MAX_GROUP, check_group),
	TEXT_KEY("mode_label", mode_label, MAX_LABEL, check_label),
	PATH_KEY("mode_label_file", mode_label_file, 0, MAX_PATH),
	SECONDS_KEY("health.poll", poll_s, DAY),
	SECONDS_KEY("health.down_delay", down_delay_s, DAY),
	SECONDS_KEY("health.up_delay", up_delay_s, DAY),
	SECONDS_KEY("health.unknown_limit", unknown_limit_s, DAY),
	{"health.missing_scans", SETTING_COUNT, MEMBER(missing_scans), 1, 1000, NULL, NULL},
	CHOICE_KEY("health.initial_state", assume_initial, initial_states),
	SECONDS_KEY("retire_after", retire_after_s, YEAR),
	{NULL, SETTING_TEXT, 0, 0, 0, NULL, NULL},
};

static const char *const group_names[] = {"log", "kubelet", "health", NULL};

Settings *settings_new(void)
{
	Settings *settings = g_new0(Settings, 1);
	settings->log_level = LOG_LEVEL_INFO;
	settings->log_format = LOG_FORMAT_AUTO;
	settings->backend_dir = g_strdup(RDMADP_BACKEND_DIR);
	settings->resources = g_strdup("/k8s-rdma-shared-dev-plugin/config.json");
	settings->kubelet_dir = g_strdup("/var/lib/kubelet/device-plugins");
	settings->plugins_registry_dir = g_strdup("/var/lib/kubelet/plugins_registry");
	settings->pod_resources_socket = g_strdup("/var/lib/kubelet/pod-resources/kubelet.sock");
	settings->registration = REGISTRATION_REGISTER;
	settings->sysfs_root = g_strdup("/sys");
	settings->dev_root = g_strdup("/dev");
	settings->cdi_dir = g_strdup("/var/run/cdi");
	settings->devinfo_dir = g_strdup("");
	settings->state_dir = g_strdup("/var/lib/rdmadp");
	settings->status_socket = g_strdup("/run/rdmadp/status.sock");
	settings->status_group = g_strdup("");
	settings->mode_label = g_strdup("rdma.network.alibabacloud.com/exclusive");
	settings->mode_label_file = g_strdup("");
	settings->poll_s = 5;
	settings->down_delay_s = 10;
	settings->up_delay_s = 10;
	settings->unknown_limit_s = 60;
	settings->missing_scans = 3;
	settings->retire_after_s = 600;
	settings->settle_time_s = 10;
	return settings;
}

static gboolean is_text(const struct setting_key *key)
{
	return key->kind == SETTING_TEXT || key->kind == SETTING_PATH;
}

void settings_free(Settings *settings)
{
	if (settings == NULL)
		return;
	for (const struct setting_key *key = setting_keys; key->path != NULL; key++) {
		if (is_text(key))
			g_free(G_STRUCT_MEMBER(char *, settings, key->offset));
	}
	g_free(settings);
}

const struct setting_key *settings_find_key(const char *path)
{
	for (const struct setting_key *key = setting_keys; key->path != NULL; key++) {
		if (g_str_equal(key->path, path))
			return key;
	}
	return NULL;
}

gboolean settings_is_group(const char *path)
{
	return g_strv_contains(group_names, path);
}

static const char *last_part(const char *path)
{
	const char *dot = strrchr(path, '.');
	return dot == NULL ? path : dot + 1;
}

/* The same name elsewhere is more likely than a similar group. */
const char *settings_nearest_key(const char *path)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new();
	for (const struct setting_key *key = setting_keys; key->path != NULL; key++)
		g_ptr_array_add(names, (gpointer)last_part(key->path));
	g_ptr_array_add(names, NULL);
	const char *name = suggest_nearest(last_part(path), (const char *const *)names->pdata);
	guint i;
	if (name != NULL && g_ptr_array_find(names, name, &i))
		return setting_keys[i].path;
	return suggest_nearest(path, group_names);
}

static char *choice_problem(const struct setting_key *key, const char *text)
{
	g_autoptr(GPtrArray) words = g_ptr_array_new();
	for (const struct setting_choice *choice = key->choices; choice->word != NULL; choice++)
		g_ptr_array_add(words, (gpointer)choice->word);
	g_ptr_array_add(words, NULL);
	const char *nearest = suggest_nearest(text, (const char *const *)words->pdata);
	g_autofree char *all = g_strjoinv("\", \"", (char **)words->pdata);
	if (nearest != NULL)
		return g_strdup_printf("\"%s\" is unknown; did you mean \"%s\"?", text, nearest);
	return g_strdup_printf("\"%s\" is unknown; possible are \"%s\"", text, all);
}

static char *set_choice(Settings *settings, const struct setting_key *key, const char *text)
{
	for (const struct setting_choice *choice = key->choices; choice->word != NULL; choice++) {
		if (g_str_equal(choice->word, text)) {
			G_STRUCT_MEMBER(int, settings, key->offset) = choice->value;
			return NULL;
		}
	}
	return choice_problem(key, text);
}

/* "/var/lib//" and "/var/lib" are the same; the root stays. */
static char *without_slashes(const char *path)
{
	gsize length = strlen(path);
	while (length > 1 && path[length - 1] == '/')
		length--;
	return g_strndup(path, length);
}

static char *set_string(Settings *settings, const struct setting_key *key, const char *text)
{
	g_autofree char *value = key->kind == SETTING_PATH ? without_slashes(text) : g_strdup(text);
	gsize length = strlen(value);
	if ((double)length < key->min)
		return g_strdup("is empty; remove the line for the default");
	if ((double)length > key->max)
		return g_strdup_printf("\"%s\" is too long: %" G_GSIZE_FORMAT " of %.0f bytes",
				       value, length, key->max);
	const char *problem = length == 0 || key->check == NULL ? NULL : key->check(value);
	if (problem != NULL)
		return g_strdup_printf("\"%s\" %s", value, problem);
	char **member = &G_STRUCT_MEMBER(char *, settings, key->offset);
	g_free(*member);
	*member = g_steal_pointer(&value);
	return NULL;
}

const char *settings_kind_name(const struct setting_key *key)
{
	switch (key->kind) {
	case SETTING_TEXT:
	case SETTING_PATH:
	case SETTING_CHOICE:
		break;
	case SETTING_SECONDS:
		return "a number of seconds";
	case SETTING_COUNT:
		return "a whole number";
	case SETTING_FLAG:
		return "true or false";
	}
	return "text in double quotes";
}

char *settings_set_text(Settings *settings, const struct setting_key *key, const char *text)
{
	if (is_text(key))
		return set_string(settings, key, text);
	if (key->kind == SETTING_CHOICE)
		return set_choice(settings, key, text);
	return g_strdup_printf("\"%s\" is not %s", text, settings_kind_name(key));
}

char *settings_set_number(Settings *settings, const struct setting_key *key, double number)
{
	gboolean is_whole = number == (double)(gint64)CLAMP(number, -1e15, 1e15);
	if (key->kind != SETTING_SECONDS && (key->kind != SETTING_COUNT || !is_whole))
		return g_strdup_printf("%.15g is not %s", number, settings_kind_name(key));
	if (!(number >= key->min && number <= key->max))
		return g_strdup_printf("%.15g is out of range; from %.0f to %.0f are allowed",
				       number, key->min, key->max);
	if (key->kind == SETTING_SECONDS && number > 0 && number < LEAST_SECONDS)
		return g_strdup_printf("%.15g is less than a millisecond; write 0 or %g", number,
				       LEAST_SECONDS);
	if (key->kind == SETTING_SECONDS)
		G_STRUCT_MEMBER(double, settings, key->offset) = number;
	else
		G_STRUCT_MEMBER(int, settings, key->offset) = (int)number;
	return NULL;
}

char *settings_set_flag(Settings *settings, const struct setting_key *key, gboolean flag)
{
	if (key->kind != SETTING_FLAG)
		return g_strdup_printf("%s is not %s", flag ? "true" : "false",
				       settings_kind_name(key));
	G_STRUCT_MEMBER(gboolean, settings, key->offset) = flag;
	return NULL;
}
