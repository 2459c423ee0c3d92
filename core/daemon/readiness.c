/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/readiness.h"

/* NULL: nothing. */
static char *bus_lacks(const Bus *bus)
{
	struct bus_status status;

	bus_get_status(bus, &status);
	if (status.refusal != NULL)
		return g_strdup_printf("the backend of bus '%s' is not used: %s", bus_name(bus),
				       status.refusal);
	if (status.scans > status.failed_scans)
		return NULL;
	if (status.scan_trouble != NULL)
		return g_strdup_printf("no scan of bus '%s' has worked so far: %s", bus_name(bus),
				       status.scan_trouble);
	return g_strdup_printf("the first scan of bus '%s' has not ended", bus_name(bus));
}

static gboolean is_registered(const Roster *roster, const char *resource)
{
	const Pool *pool = roster_find_pool(roster, resource);
	struct plugin_status status;

	if (pool == NULL)
		return FALSE;
	plugin_get_status(pool_plugin(pool), &status);
	return status.state == PLUGIN_STREAMING;
}

/* All in one sentence: most often it is the kubelet that is not there. */
static char *resources_lack(const Configuration *configuration, const Roster *roster)
{
	const GPtrArray *entries = configuration_file(configuration)->resources;
	g_autoptr(GString) names = g_string_new(NULL);

	for (guint i = 0; i < entries->len; i++) {
		const ResourceConfig *entry = g_ptr_array_index(entries, i);

		if (!is_registered(roster, entry->full_name))
			g_string_append_printf(names, "%s'%s'", names->len > 0 ? ", " : "",
					       entry->full_name);
	}
	return names->len == 0 ? NULL
			       : g_strdup_printf("not registered with the kubelet: %s", names->str);
}

static void add(GPtrArray *lacks, char *text)
{
	if (text != NULL)
		g_ptr_array_add(lacks, text);
}

GPtrArray *readiness_lacks(const Configuration *configuration, const Roster *roster)
{
	const GPtrArray *buses = roster_buses(roster);
	GPtrArray *lacks = g_ptr_array_new_with_free_func(g_free);

	for (guint i = 0; i < buses->len; i++)
		add(lacks, bus_lacks(g_ptr_array_index(buses, i)));
	add(lacks, resources_lack(configuration, roster));
	return lacks;
}
