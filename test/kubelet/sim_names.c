/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/sim_names.h"

#include <string.h>

/* Prefix and "requests." together are a DNS subdomain of at most 253 bytes. */
#define PREFIX_MAX 244
#define NAME_MAX_BYTES 63

static gboolean matches(const char *pattern, const char *text)
{
	return g_regex_match_simple(pattern, text, G_REGEX_DOLLAR_ENDONLY, 0);
}

static gboolean is_subdomain(const char *text)
{
	return strlen(text) <= PREFIX_MAX &&
	       matches("^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$", text);
}

static gboolean is_name_part(const char *text)
{
	return strlen(text) <= NAME_MAX_BYTES &&
	       matches("^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$", text);
}

gboolean sim_name_is_resource(const char *name)
{
	if (strstr(name, "kubernetes.io/") || g_str_has_prefix(name, "requests."))
		return FALSE;
	g_auto(GStrv) parts = g_strsplit(name, "/", -1);
	return g_strv_length(parts) == 2 && is_subdomain(parts[0]) && is_name_part(parts[1]);
}

gboolean sim_name_is_env(const char *name)
{
	return matches("^[-._a-zA-Z][-._a-zA-Z0-9]*$", name);
}

gboolean sim_name_is_cdi(const char *name)
{
	return matches(
		"^[A-Za-z]([-A-Za-z0-9_.]*[A-Za-z0-9])?/[A-Za-z]([-A-Za-z0-9_.]*[A-Za-z0-9])?"
		"=[A-Za-z0-9]([-A-Za-z0-9_.:]*[A-Za-z0-9])?$",
		name);
}

/* Go's %q for the printable texts that occur. */
static char *quoted(const char *text)
{
	g_autofree char *escaped = g_strescape(text, NULL);
	return g_strdup_printf("\"%s\"", escaped);
}

char *sim_name_refuse(const char *version, const char *resource)
{
	g_autofree char *text = NULL;
	if (strcmp(version, SIM_API_VERSION) != 0) {
		text = quoted(version);
		return g_strdup_printf("requested API version %s is not supported by kubelet. "
				       "Supported version is [\"" SIM_API_VERSION "\"]",
				       text);
	}
	if (sim_name_is_resource(resource))
		return NULL;
	text = quoted(resource);
	return g_strdup_printf("the ResourceName %s is invalid", text);
}
