/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/configuration.h"

#include "edge/file_watch.h"
#include "edge/log.h"
#include "edge/mount_point.h"
#include "model/text.h"

/* Of what is wrong with a file. */
#define MOST_FINDINGS 100

struct configuration {
	const Options *options;
	Settings *settings;
	ResourceFile *file;
	FileWatch *settings_watch, *file_watch;
	gboolean has_settings_file; /* there was one when it was read last */
	void (*on_changed)(gpointer data);
	void (*on_refused)(gpointer data);
	gpointer data;
	guint64 reloads, refused;
	gint64 changed_us, refused_us;
	char *error;
};

/* One reading of both files. */
struct reading {
	Settings *settings;
	ResourceFile *file;
	char *error; /* the first one */
};

static void reading_clear(struct reading *reading)
{
	settings_free(reading->settings);
	resource_file_free(reading->file);
	g_free(reading->error);
}

static void findings_say(const char *path, GPtrArray *findings, char **first_error)
{
	for (guint i = 0; i < findings->len; i++) {
		const struct finding *finding = g_ptr_array_index(findings, i);
		gboolean is_error = finding->level == FINDING_ERROR;

		if (is_error && *first_error == NULL)
			*first_error = g_strdup_printf("%s: %s", path, finding->text);
		if (i < MOST_FINDINGS)
			log_message(is_error ? LOG_LEVEL_ERROR : LOG_LEVEL_WARNING, path, "%s",
				    finding->text);
	}
	if (findings->len > MOST_FINDINGS)
		log_warning(path, "and %u more: rdmadp check-config shows all",
			    findings->len - MOST_FINDINGS);
	g_ptr_array_set_size(findings, 0);
}

/* What was in force must not become the defaults only because its file is away for a
 * moment. */
static void read_settings(struct reading *reading, const Configuration *configuration)
{
	const Options *options = configuration->options;
	gboolean is_first = configuration->settings == NULL;
	g_autoptr(GPtrArray) findings = findings_new();

	reading->settings = options_settings(options, configuration->has_settings_file, findings);
	if (reading->settings != NULL && is_first)
		log_setup(reading->settings->log_level, reading->settings->log_format,
			  g_getenv("NODE_NAME"));
	findings_say(options_config(options), findings, &reading->error);
}

static gboolean has_settings_file(const Configuration *configuration)
{
	return g_file_test(options_config(configuration->options), G_FILE_TEST_EXISTS);
}

static void read_resources(struct reading *reading, const char *path)
{
	g_autoptr(GPtrArray) findings = findings_new();

	reading->file = resource_file_read(path, findings);
	findings_say(path, findings, &reading->error);
}

/* --- the start --- */

static void on_file_changed(gpointer data)
{
	configuration_reload(data);
}

static FileWatch *watch_file(Configuration *configuration, const char *path)
{
	g_autoptr(GError) error = NULL;
	FileWatch *watch = file_watch_new(path, on_file_changed, configuration, &error);

	if (watch == NULL)
		log_warning("rdmadp", "%s; changes need a SIGHUP", error->message);
	return watch;
}

/* Such a mount is of one version of the file, for as long as the container lives. */
static void say_frozen(const char *path)
{
	g_autofree char *absolute = g_canonicalize_filename(path, NULL);

	if (mount_point_is(MOUNT_POINT_TABLE, absolute))
		log_warning("rdmadp",
			    "'%s' is mounted by itself, as with subPath: changes of the ConfigMap "
			    "do not reach it before the pod is made again; mount the directory",
			    path);
}

/* Each file is watched before it is read, so that no change is missed. */
static gboolean read_first(Configuration *configuration, struct reading *reading)
{
	const Options *options = configuration->options;

	configuration->settings_watch = watch_file(configuration, options_config(options));
	read_settings(reading, configuration);
	if (reading->settings == NULL)
		return FALSE;
	configuration->file_watch = watch_file(configuration, reading->settings->resources);
	read_resources(reading, reading->settings->resources);
	say_frozen(reading->settings->resources);
	return reading->error == NULL;
}

Configuration *configuration_read(const Options *options)
{
	g_autoptr(Configuration) configuration = g_new0(Configuration, 1);
	struct reading reading = {0};

	configuration->options = options;
	if (!read_first(configuration, &reading)) {
		reading_clear(&reading);
		log_error("rdmadp", "the configuration is refused; nothing is registered");
		return NULL;
	}
	configuration->settings = reading.settings;
	configuration->file = reading.file;
	configuration->has_settings_file = has_settings_file(configuration);
	configuration->changed_us = g_get_real_time();
	return g_steal_pointer(&configuration);
}

void configuration_free(Configuration *configuration)
{
	if (configuration == NULL)
		return;
	file_watch_free(configuration->settings_watch);
	file_watch_free(configuration->file_watch);
	resource_file_free(configuration->file);
	settings_free(configuration->settings);
	g_free(configuration->error);
	g_free(configuration);
}

const Settings *configuration_settings(const Configuration *configuration)
{
	return configuration->settings;
}

const ResourceFile *configuration_file(const Configuration *configuration)
{
	return configuration->file;
}

double configuration_poll_s(const Configuration *configuration)
{
	return configuration->file->fault_detect_s >= 0 ? configuration->file->fault_detect_s
							: configuration->settings->poll_s;
}

/* --- reload --- */

static void take_settings(Configuration *configuration, const Settings *fresh)
{
	g_autoptr(GPtrArray) others = g_ptr_array_new();

	if (settings_take_live(configuration->settings, fresh, others))
		log_setup(configuration->settings->log_level, configuration->settings->log_format,
			  g_getenv("NODE_NAME"));
	for (guint i = 0; i < others->len; i++)
		log_warning(options_config(configuration->options),
			    "%s has changed: that takes effect when the daemon is started again",
			    (const char *)g_ptr_array_index(others, i));
}

static void refuse(Configuration *configuration, const char *error)
{
	configuration->refused++;
	configuration->refused_us = g_get_real_time();
	g_free(configuration->error);
	configuration->error = g_strdup(error);
	log_error("rdmadp", "the changed configuration is refused; the last good one stays in "
			    "force");
}

static void accept(Configuration *configuration, struct reading *reading)
{
	take_settings(configuration, reading->settings);
	resource_file_free(configuration->file);
	configuration->file = g_steal_pointer(&reading->file);
	configuration->has_settings_file = has_settings_file(configuration);
	configuration->reloads++;
	configuration->changed_us = g_get_real_time();
	configuration->refused_us = 0;
	g_clear_pointer(&configuration->error, g_free);
}

void configuration_reload(Configuration *configuration)
{
	g_autofree char *count = NULL;
	struct reading reading = {0};
	gboolean good;

	read_settings(&reading, configuration);
	if (reading.settings != NULL)
		read_resources(&reading, configuration->settings->resources);
	good = reading.error == NULL;
	if (good)
		accept(configuration, &reading);
	else
		refuse(configuration, reading.error);
	reading_clear(&reading);
	if (!good) {
		if (configuration->on_refused != NULL)
			configuration->on_refused(configuration->data);
		return;
	}
	if (configuration->on_changed != NULL)
		configuration->on_changed(configuration->data);
	/* Said when it holds, so that whoever waits for the line can count on it. */
	count = text_count(configuration->file->resources->len, "resource");
	log_info("rdmadp", "configuration read again: %s", count);
}

void configuration_on_change(Configuration *configuration, void (*changed)(gpointer data),
			     void (*refused)(gpointer data), gpointer data)
{
	configuration->on_changed = changed;
	configuration->on_refused = refused;
	configuration->data = data;
}

void configuration_get_status(const Configuration *configuration,
			      struct configuration_status *ret_status)
{
	*ret_status = (struct configuration_status){
		.reloads = configuration->reloads,
		.refused = configuration->refused,
		.changed_us = configuration->changed_us,
		.refused_us = configuration->refused_us,
		.error = configuration->error,
	};
}
