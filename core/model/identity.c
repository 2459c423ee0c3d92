/* SPDX-License-Identifier: Apache-2.0 */
#include "model/identity.h"

#include <string.h>

/* "GUID" and "GUID/0", when another device showed the same GUID for a while. */
static gboolean adds_to(const char *text, const char *start)
{
	return g_str_has_prefix(text, start) && text[strlen(start)] == '/';
}

enum identity_kin identity_kin(const char *id, const char *known, const char *reported)
{
	if (strcmp(known, reported) == 0)
		return IDENTITY_OTHER;
	if (strcmp(reported, id) == 0 || adds_to(known, reported))
		return IDENTITY_HIDDEN;
	if (strcmp(known, id) == 0 || adds_to(reported, known))
		return IDENTITY_REVEALED;
	return IDENTITY_OTHER;
}
