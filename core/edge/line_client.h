/* SPDX-License-Identifier: Apache-2.0 */
/* Asks a local service that speaks in lines. Blocks; for programs that ask once. */
#pragma once

#include <glib.h>

typedef struct line_client LineClient;

/* NULL and an error that names the path. */
LineClient *line_client_new(const char *path, GError **error);
void line_client_free(LineClient *client);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(LineClient, line_client_free)

/* The line gets its end here. */
gboolean line_client_send(LineClient *client, const char *line, GError **error);
/* The next line without its end; NULL and an error if none comes before 'until_us'
 * (monotonic) or the service has ended. */
char *line_client_next(LineClient *client, gint64 until_us, GError **error);
