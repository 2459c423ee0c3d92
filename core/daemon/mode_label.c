/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/mode_label.h"

#include <string.h>

#include "edge/file_watch.h"
#include "edge/log.h"
#include "edge/small_file.h"
#include "model/labels.h"

#define AREA "mode"
#define EXCLUSIVE_VALUE "true"

struct mode_label {
	void (*changed)(gpointer data);
	gpointer data;
	char *key;
	char *path; /* "": none */
	FileWatch *watch;
	gboolean exclusive;
	gboolean known; /* it is what the file says */
	char *trouble; /* what was last said about the file */
};

static const char *node_name(void)
{
	const char *name = g_getenv("NODE_NAME");

	return name != NULL && *name != '\0' ? name : g_get_host_name();
}

static void say_trouble(ModeLabel *self, const char *trouble)
{
	if (trouble != NULL && g_strcmp0(trouble, self->trouble) != 0)
		log_warning(AREA,
			    "mode_label_file '%s' cannot be read: %s; resources with the mode auto "
			    "stay %s",
			    self->path, trouble,
			    !self->known      ? "as they were, or shared"
			    : self->exclusive ? "exclusive"
					      : "shared");
	g_free(self->trouble);
	self->trouble = g_strdup(trouble);
}

/* *ret_value: NULL if the node does not have it. */
static gboolean read_label(const char *path, const char *key, char **ret_value, GError **error)
{
	gsize length;
	g_autofree char *text = small_file_read(path, SMALL_FILE_MIB, &length, error);

	if (text == NULL)
		return FALSE;
	*ret_value = labels_find(text, key);
	return TRUE;
}

static gboolean is_exclusive(const char *value)
{
	return g_strcmp0(value, EXCLUSIVE_VALUE) == 0;
}

gboolean mode_label_peek(const Settings *settings, char **ret_why)
{
	const char *path = settings->mode_label_file;
	g_autofree char *value = NULL;
	g_autoptr(GError) error = NULL;

	if (path[0] == '\0')
		*ret_why = g_strdup("the settings have no mode_label_file");
	else if (!read_label(path, settings->mode_label, &value, &error))
		*ret_why = g_strdup_printf("'%s': %s", path, error->message);
	else if (value != NULL)
		*ret_why = g_strdup_printf("'%s' has %s=\"%s\"%s", path, settings->mode_label,
					   value, is_exclusive(value) ? "" : ", not \"true\"");
	else
		*ret_why = g_strdup_printf("'%s' does not have %s=\"true\"", path,
					   settings->mode_label);
	return is_exclusive(value);
}

/* FALSE: the file says nothing, and that was said. */
static gboolean read_file(ModeLabel *self, gboolean *ret_exclusive)
{
	g_autofree char *value = NULL;
	g_autoptr(GError) error = NULL;
	gboolean is_read = read_label(self->path, self->key, &value, &error);

	say_trouble(self, is_read ? NULL : error->message);
	if (is_read)
		*ret_exclusive = is_exclusive(value);
	return is_read;
}

static void say(const ModeLabel *self)
{
	log_info(AREA, "node %s has %s label, enabling %s mode", node_name(),
		 self->exclusive ? "exclusive" : "no exclusive",
		 self->exclusive ? "exclusive" : "shared");
}

static void on_change(gpointer data)
{
	ModeLabel *self = data;
	gboolean exclusive;

	if (!read_file(self, &exclusive) || (self->known && exclusive == self->exclusive))
		return;
	self->exclusive = exclusive;
	self->known = TRUE;
	say(self);
	self->changed(self->data);
}

static void open_file(ModeLabel *self)
{
	g_autoptr(GError) error = NULL;

	self->known = self->path[0] == '\0';
	if (self->known) {
		self->exclusive = FALSE;
		return;
	}
	self->watch = file_watch_new(self->path, on_change, self, &error);
	if (self->watch == NULL)
		log_error(AREA, "mode_label_file: %s; changes need a SIGHUP", error->message);
	self->known = read_file(self, &self->exclusive);
}

static void close_file(ModeLabel *self)
{
	g_clear_pointer(&self->watch, file_watch_free);
	g_free(self->key);
	g_free(self->path);
}

static void take_settings(ModeLabel *self, const Settings *settings)
{
	self->key = g_strdup(settings->mode_label);
	self->path = g_strdup(settings->mode_label_file);
	open_file(self);
}

ModeLabel *mode_label_new(const Settings *settings, void (*changed)(gpointer data), gpointer data)
{
	ModeLabel *self = g_new0(ModeLabel, 1);

	self->changed = changed;
	self->data = data;
	take_settings(self, settings);
	if (self->exclusive)
		say(self);
	return self;
}

void mode_label_free(ModeLabel *label)
{
	if (label == NULL)
		return;
	close_file(label);
	g_free(label->trouble);
	g_free(label);
}

void mode_label_configure(ModeLabel *label, const Settings *settings)
{
	gboolean before = label->exclusive;
	gboolean was_known = label->known;

	if (strcmp(settings->mode_label, label->key) == 0 &&
	    strcmp(settings->mode_label_file, label->path) == 0) {
		/* A file that cannot be watched is looked at with SIGHUP. */
		if (label->watch == NULL && label->path[0] != '\0')
			on_change(label);
		return;
	}
	close_file(label);
	take_settings(label, settings);
	if (!label->known || (was_known && label->exclusive == before))
		return;
	say(label);
	label->changed(label->data);
}

gboolean mode_label_is_known(const ModeLabel *label)
{
	return label->known;
}

gboolean mode_label_is_exclusive(const ModeLabel *label)
{
	return label->exclusive;
}
