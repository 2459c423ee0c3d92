/* SPDX-License-Identifier: Apache-2.0 */
#include "model/socket_name.h"

#include <string.h>

#define SUFFIX ".sock"
#define MAX_STEM ((gsize)64)
#define HASH_LENGTH ((gsize)8)
/* The instance and the hyphen before it. */
#define INSTANCE_ROOM ((gsize)SOCKET_NAME_INSTANCE + 1)

G_DEFINE_QUARK(rdmadp - socket - name - error, socket_name_error)

/* A resource's prefix has no '_' and there is one '/', so different resources stay
 * different. Other characters cannot occur in a resource that was checked. */
static char *escape(const char *resource)
{
	char *stem = g_strdup(resource);

	g_strcanon(stem, G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "-_.", '_');
	if (stem[0] == '.')
		stem[0] = '_';
	return stem;
}

static gsize directory_length(const char *dir)
{
	gsize length = strlen(dir);

	while (length > 0 && dir[length - 1] == '/')
		length--;
	return length;
}

/* Bytes that the directory leaves for the file name; 0 if it is too long. */
static gsize file_room(const char *dir)
{
	gsize used = directory_length(dir) + 1;

	if (used + SOCKET_NAME_LEAST > SOCKET_NAME_MAX_PATH)
		return 0;
	return SOCKET_NAME_MAX_PATH - used;
}

/* The name without instance and suffix, at most 'room' bytes. */
static char *stem_new(const char *resource, gsize room)
{
	g_autofree char *whole = escape(resource);
	g_autofree char *hash = NULL;

	if (strlen(whole) <= room)
		return g_steal_pointer(&whole);
	hash = g_compute_checksum_for_string(G_CHECKSUM_SHA256, resource, -1);
	return g_strdup_printf("%.*s-%.*s", (int)(room - HASH_LENGTH - 1), whole, (int)HASH_LENGTH,
			       hash);
}

static char *name_new(const char *resource, const char *instance, gsize room)
{
	gsize stem_room = MIN(room - strlen(SUFFIX), MAX_STEM);
	g_autofree char *stem = NULL;

	if (!instance) {
		stem = stem_new(resource, stem_room);
		return g_strconcat(stem, SUFFIX, NULL);
	}
	stem = stem_new(resource, stem_room - INSTANCE_ROOM);
	return g_strconcat(stem, "-", instance, SUFFIX, NULL);
}

char *socket_name_new(const char *dir, const char *resource, const char *instance, GError **error)
{
	gsize room = file_room(dir);

	if (room == 0) {
		g_set_error(error, SOCKET_NAME_ERROR, 0,
			    "directory '%s' has %" G_GSIZE_FORMAT " bytes, which leaves less than "
			    "%d of the %d that the path of a socket may have: resource '%s' "
			    "cannot be served there; use a shorter path",
			    dir, directory_length(dir), SOCKET_NAME_LEAST, SOCKET_NAME_MAX_PATH,
			    resource);
		return NULL;
	}
	return name_new(resource, instance, room);
}

/* The part of a file name that would be the instance, or NULL. */
static char *instance_of(const char *file)
{
	gsize tail = SOCKET_NAME_INSTANCE + strlen(SUFFIX), length = strlen(file);

	if (length < tail)
		return NULL;
	file += length - tail;
	if (strspn(file, "0123456789abcdef") != SOCKET_NAME_INSTANCE)
		return NULL;
	return g_strndup(file, SOCKET_NAME_INSTANCE);
}

gboolean socket_name_is_of(const char *file, const char *dir, const char *resource)
{
	g_autofree char *instance = instance_of(file);
	g_autofree char *plain = socket_name_new(dir, resource, NULL, NULL);
	g_autofree char *unique = socket_name_new(dir, resource, instance, NULL);

	return g_strcmp0(file, plain) == 0 || g_strcmp0(file, unique) == 0;
}
