/* SPDX-License-Identifier: Apache-2.0 */
/* The files that fixture.c makes: every path is relative to the fixture's root. */
#pragma once

#include <glib.h>

gboolean fixture_put_dir(const char *root, const char *path, GError **error);
/* Replaces what is there. */
gboolean fixture_put_bytes(const char *root, const char *path, const char *bytes, gsize length,
			   GError **error);
/* As sysfs prints it: text and a newline. */
gboolean fixture_put_line(const char *root, const char *path, const char *text, GError **error);
gboolean fixture_put_fifo(const char *root, const char *path, GError **error);
gboolean fixture_put_node(const char *root, const char *path, guint major, guint minor,
			  GError **error);
gboolean fixture_put_link(const char *root, const char *path, const char *target, GError **error);
/* A relative link to another path of the fixture, as the kernel makes them. */
gboolean fixture_put_link_to(const char *root, const char *path, const char *other, GError **error);
/* Nothing there is no error. */
gboolean fixture_remove_path(const char *root, const char *path, GError **error);

/* Where the bus device 'name' is: "sys/devices/...", or NULL with error. */
char *fixture_device_dir(const char *root, const char *name, GError **error);
/* What the class link "sys/class/<class>/<name>" names, likewise. */
char *fixture_class_dir(const char *root, const char *class, const char *name, GError **error);
