/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's own settings (rdmadp.conf, libconfig). Every key is optional;
 * rdmadp.conf(5) describes them and etc/rdmadp.conf shows every default.
 */
#pragma once

#include <glib.h>

#include "edge/log.h"
#include "model/finding.h"

#define SETTINGS_DEFAULT_PATH "/etc/rdmadp/rdmadp.conf"

enum registration_mode { REGISTRATION_REGISTER, REGISTRATION_WATCHER, REGISTRATION_AUTO };

typedef struct settings Settings;

struct settings {
	enum log_level log_level;
	enum log_format log_format;
	char *backend_dir; /* default: where cmake --install puts the backends */
	char *resources; /* path of the resource file */
	char *kubelet_dir; /* device-plugins directory of the kubelet */
	char *plugins_registry_dir; /* for the watcher mode */
	char *pod_resources_socket;
	double settle_time_s; /* a kubelet that has just started may not know its pods */
	enum registration_mode registration;
	gboolean unique_socket_names; /* one name per instance of the daemon */
	char *sysfs_root; /* stands for /sys */
	char *dev_root; /* stands for /dev */
	char *cdi_dir;
	char *devinfo_dir; /* "" = no device-info files */
	char *state_dir;
	char *status_socket; /* "" = none */
	char *status_group; /* group of the status socket; "" = root's */
	char *mode_label; /* node label of mode "auto" */
	char *mode_label_file; /* "" = none */
	double poll_s; /* health poll period when the resource file is silent; 0 = none */
	double down_delay_s, up_delay_s, unknown_limit_s;
	int missing_scans;
	gboolean assume_initial;
	double retire_after_s;
};

/* All defaults. */
Settings *settings_new(void);
/* Defaults overlaid with the file. NULL if a finding is an error. A missing file
 * is an error only if 'must_exist'. */
Settings *settings_read(const char *path, gboolean must_exist, GPtrArray *findings);
/* The same of a text, which ends with a zero byte; 'dir' is where the files are that
 * it includes. */
Settings *settings_parse(const char *text, gsize length, const char *dir, GPtrArray *findings);
void settings_free(Settings *settings);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Settings, settings_free)

/* Sets what is text in the file, "log.level" or "backend_dir", as the command line
 * does: under the same rules. */
gboolean settings_set(Settings *settings, const char *path, const char *value, GError **error);

/* Takes from 'fresh' what may change under a running daemon: the log, the timing of
 * health, retire_after, the status socket. TRUE if something did. The paths of other keys that differ are
 * added to 'ret_others' (const char *): they need a restart. */
gboolean settings_take_live(Settings *running, const Settings *fresh, GPtrArray *ret_others);

#define SETTINGS_ERROR (settings_error_quark())
GQuark settings_error_quark(void);
