/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/bus_log.h"

#include "edge/log.h"
#include "model/text.h"

/* About the reads of one device that hang, one line in that time. */
#define SAY_STUCK_US (60 * G_GINT64_CONSTANT(1000000))

struct bus_log {
	char *area; /* "backend pci" */
	GHashTable *said_stuck; /* identity of a device -> gint64 *, when */
	char *scan_trouble; /* what was last said about a failed scan */
	char *doubles; /* what was last said about devices with the same identity */
};

BusLog *bus_log_new(const char *bus)
{
	BusLog *log = g_new0(BusLog, 1);

	log->area = g_strconcat("backend ", bus, NULL);
	log->said_stuck = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	return log;
}

void bus_log_free(BusLog *log)
{
	g_hash_table_unref(log->said_stuck);
	g_free(log->scan_trouble);
	g_free(log->doubles);
	g_free(log->area);
	g_free(log);
}

void bus_log_stuck(BusLog *log, const Device *device)
{
	const char *identity = device_identity(device);
	const gint64 *said_us = g_hash_table_lookup(log->said_stuck, identity);
	gint64 now_us = g_get_monotonic_time();

	if (said_us != NULL && now_us - *said_us < SAY_STUCK_US)
		return;
	g_hash_table_replace(log->said_stuck, g_strdup(identity),
			     g_memdup2(&now_us, sizeof(now_us)));
	log_warning(log->area,
		    "a health read of '%s' hangs: it keeps one thread, and no other device waits "
		    "for it",
		    device_id(device));
}

void bus_log_scan(BusLog *log, const GError *error, guint n_known)
{
	const char *text = error != NULL ? error->message : NULL;
	g_autofree char *known = text_count(n_known, "known device");

	if (g_strcmp0(text, log->scan_trouble) == 0)
		return;
	if (text != NULL)
		log_error(log->area, "%s; keeping %s", text, known);
	else
		log_info(log->area, "scans work again");
	g_free(log->scan_trouble);
	log->scan_trouble = g_strdup(text);
}

void bus_log_doubles(BusLog *log, GPtrArray *doubles)
{
	g_autoptr(GString) text = g_string_new(NULL);

	for (guint i = 0; i < doubles->len; i++) {
		const Device *device = g_ptr_array_index(doubles, i);

		g_string_append_printf(text, "%s'%s' has the identity '%s' of another device",
				       i > 0 ? "; " : "", device_id(device),
				       device_identity(device));
	}
	if (text->len > 0 && g_strcmp0(text->str, log->doubles) != 0)
		log_warning(log->area, "%s: it is left out", text->str);
	g_free(log->doubles);
	log->doubles = g_string_free(g_steal_pointer(&text), FALSE);
}

/* Backends report what could do RDMA, such as every network adapter. */
void bus_log_found(const BusLog *log, const GPtrArray *found)
{
	g_autofree char *count = text_count(found->len, "device");
	guint n = 0;

	for (guint i = 0; i < found->len; i++)
		n += device_abi(g_ptr_array_index(found, i))->n_rdma_devices > 0;
	log_info(log->area, "%s found, with RDMA: %u", count, n);
}

const char *bus_log_scan_trouble(const BusLog *log)
{
	return log->scan_trouble;
}
