/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/sim_profile.h"

#include <string.h>

/* clang-format off */
static const struct sim_profile profiles[] = {
	{.first_minor = 20, .last_minor = 24, .register_async = TRUE, .request_options = TRUE,
	 .deprecation_file = TRUE, .wipes_files = TRUE, .authority = SIM_AUTHORITY_PATH,
	 .client_key = SIM_KEY_POINTER, .empty_topology_rejects = TRUE},
	{.first_minor = 25, .last_minor = 25, .wipes_files = TRUE, .authority = SIM_AUTHORITY_PATH,
	 .client_key = SIM_KEY_NAME, .empty_topology_rejects = TRUE},
	{.first_minor = 26, .last_minor = 26, .wipes_files = TRUE,
	 .authority = SIM_AUTHORITY_LOCALHOST, .client_key = SIM_KEY_NAME},
	{.first_minor = 27, .last_minor = 27, .wipes_files = TRUE,
	 .authority = SIM_AUTHORITY_LOCALHOST, .client_key = SIM_KEY_NAME, .checks_health = TRUE},
	{.first_minor = 28, .last_minor = 32, .wipes_files = TRUE,
	 .authority = SIM_AUTHORITY_LOCALHOST, .client_key = SIM_KEY_NAME, .checks_health = TRUE,
	 .cdi_field = TRUE},
	{.first_minor = 33, .last_minor = 33, .authority = SIM_AUTHORITY_LOCALHOST,
	 .client_key = SIM_KEY_NAME, .checks_health = TRUE, .cdi_field = TRUE},
	{.first_minor = 34, .last_minor = 34, .authority = SIM_AUTHORITY_LOCALHOST,
	 .client_key = SIM_KEY_NAME, .checks_health = TRUE, .cdi_field = TRUE, .checks_utf8 = TRUE,
	 .panics = TRUE, .list_active_only = TRUE, .pod_resources_get = TRUE},
	{.first_minor = 35, .last_minor = 36, .authority = SIM_AUTHORITY_LOCALHOST,
	 .client_key = SIM_KEY_NAME, .checks_health = TRUE, .cdi_field = TRUE, .checks_utf8 = TRUE,
	 .panics = TRUE, .register_context = TRUE, .drops_unknown_nodes = TRUE,
	 .list_active_only = TRUE, .pod_resources_get = TRUE},
	{.first_minor = 37, .last_minor = 37, .authority = SIM_AUTHORITY_LOCALHOST,
	 .client_key = SIM_KEY_SOCKET, .checks_health = TRUE, .cdi_field = TRUE,
	 .checks_utf8 = TRUE, .panics = TRUE, .register_context = TRUE,
	 .drops_unknown_nodes = TRUE, .list_active_only = TRUE, .pod_resources_get = TRUE},
};
/* clang-format on */

const struct sim_profile *sim_profile_find(const char *version)
{
	const char *digits = g_str_has_prefix(version, "1.") ? version + 2 : version;
	guint64 minor;
	if (!g_ascii_string_to_unsigned(digits, 10, 0, 99, &minor, NULL))
		return NULL;
	for (gsize i = 0; i < G_N_ELEMENTS(profiles); i++) {
		if ((int)minor >= profiles[i].first_minor && (int)minor <= profiles[i].last_minor)
			return &profiles[i];
	}
	return NULL;
}

char *sim_profile_table(void)
{
	static const char *const keys[] = {"pointer", "name (takeover race)", "socket"};
	GString *table = g_string_new(NULL);
	for (gsize i = 0; i < G_N_ELEMENTS(profiles); i++) {
		const struct sim_profile *p = &profiles[i];
		g_string_append_printf(table, "1.%d", p->first_minor);
		if (p->last_minor != p->first_minor)
			g_string_append_printf(table, "-1.%d", p->last_minor);
		g_string_append_printf(
			table, ": Register %s, wipes %s, authority %s, clients by %s%s%s%s\n",
			p->register_async ? "asynchronous" : "synchronous",
			p->wipes_files ? "files and sockets" : "sockets",
			p->authority == SIM_AUTHORITY_PATH ? "path" : "localhost",
			keys[p->client_key], p->checks_utf8 ? ", UTF-8 checked" : "",
			p->panics ? ", panics on vanished ids" : "",
			p->register_context ? ", Register's context" : "");
	}
	return g_string_free(table, FALSE);
}
