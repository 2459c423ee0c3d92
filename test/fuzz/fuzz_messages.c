/* SPDX-License-Identifier: Apache-2.0 */
/* What a peer of the kubelet side may send: every decoder on the same bytes. */
#include <glib.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kubelet/messages.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A function, not GLib's macros: those count as complexity. */
static void must(gboolean truth)
{
	if (!truth)
		abort();
}

static void check_error(const GError *error)
{
	must(error != NULL);
	must(g_utf8_validate(error->message, -1, NULL));
	for (const char *at = error->message; *at != '\0'; at++)
		must(!g_ascii_iscntrl(*at));
}

static void check_ids(GStrv ids)
{
	for (gsize i = 0; ids[i] != NULL; i++) {
		must(strlen(ids[i]) > 0);
		must(g_utf8_validate(ids[i], -1, NULL));
	}
}

static void try_allocate(GBytes *bytes)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) containers = messages_unpack_allocate(bytes, &error);

	if (containers == NULL)
		check_error(error);
	for (guint i = 0; containers != NULL && i < containers->len; i++)
		check_ids(g_ptr_array_index(containers, i));
}

static void try_preferred(GBytes *bytes)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) preferences = messages_unpack_preferred(bytes, &error);

	if (preferences == NULL)
		check_error(error);
	for (guint i = 0; preferences != NULL && i < preferences->len; i++) {
		const struct preference *preference = g_ptr_array_index(preferences, i);

		check_ids(preference->available);
		check_ids(preference->must);
	}
}

static void try_status(GBytes *bytes)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *refusal = NULL;

	if (!messages_unpack_status(bytes, &refusal, &error))
		check_error(error);
	else if (refusal != NULL)
		must(g_utf8_validate(refusal, -1, NULL));
}

static void try_pod_resources(GBytes *bytes)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) holdings = messages_unpack_pod_resources(bytes, &error);

	if (holdings == NULL)
		check_error(error);
	for (guint i = 0; holdings != NULL && i < holdings->len; i++) {
		const struct holding *holding = g_ptr_array_index(holdings, i);

		must(g_utf8_validate(holding->pod, -1, NULL));
		must(g_utf8_validate(holding->resource, -1, NULL));
		must(holding->ids != NULL);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autoptr(GBytes) bytes = g_bytes_new(data, size);

	try_allocate(bytes);
	try_preferred(bytes);
	try_status(bytes);
	try_pod_resources(bytes);
	return 0;
}
