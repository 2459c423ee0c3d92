/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the file of a backend and decides whether it may be trusted; loads nothing.
 * Part of module.c, which has the rules.
 */
#pragma once

#include <glib.h>
#include <sys/stat.h>

enum module_error {
	MODULE_ERROR_MISSING, /* there is no such file */
	MODULE_ERROR_REFUSED /* the file or its directory breaks a rule, or cannot be loaded */
};

#define MODULE_ERROR (module_error_quark())
GQuark module_error_quark(void);

#define module_refuse(error, ...)                                                                  \
	g_set_error(error, MODULE_ERROR, MODULE_ERROR_REFUSED, __VA_ARGS__)

/* The pattern [a-z][a-z0-9_]{0,31}. */
gboolean module_file_name_is_valid(const char *name);

/* Real path of the backend directory, or NULL when it is missing or not to be trusted. */
char *module_file_directory(const char *backend_dir, GError **error);

/* Applies the rules to <dir>/<name>.so; 'dir' is a real path. Returns the file's real
 * path and what it was when it was checked, or NULL. */
char *module_file_find(const char *dir, const char *name, struct stat *ret_st, GError **error);

/* What lies in the directory: names that could be loaded, and "'file' (reason)" for
 * the other files *.so. Sorted. */
void module_file_survey(const char *dir, GStrv *ret_names, GStrv *ret_refused);
