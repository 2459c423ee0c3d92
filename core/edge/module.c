/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/module.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

#include "edge/module_file.h"

#define SYMBOL "rdmadp_backend_v1"
#define MAX_KEY_BYTES 63
#define MAX_KEYS 256
/* No vtable will ever be that large: a bigger 'size' is something else. */
#define MAX_SIZE 4096
/* The vtable as version 1.0 froze it; what is appended later is optional. */
#define SIZE_V1_0 (offsetof(struct rdmadp_backend, event_ack) + sizeof(void *))

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

/* An object that this process has mapped, for ever. The dynamic linker knows
 * objects by path: it would answer a second dlopen of the path with the old object,
 * even if the file is another one by now. */
struct loaded {
	struct stat st;
	void *handle;
	const struct rdmadp_backend *vtable; /* the copy; NULL while the object was refused */
};

static GHashTable *loaded_by_path; /* real path -> struct loaded */

static gboolean same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

GStrv module_list(const char *backend_dir)
{
	g_autofree char *dir = module_file_directory(backend_dir, NULL);
	g_auto(GStrv) refused = NULL;
	GStrv names = NULL;

	if (!dir)
		return g_new0(char *, 1);
	module_file_survey(dir, &names, &refused);
	return names;
}

char *module_list_trouble(const char *backend_dir)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *dir = module_file_directory(backend_dir, &error);
	g_autofree char *reasons = NULL;
	g_auto(GStrv) names = NULL;
	g_auto(GStrv) refused = NULL;

	if (!dir)
		return g_strdup(error->message);
	module_file_survey(dir, &names, &refused);
	reasons = g_strjoinv(", ", refused);
	return *reasons ? g_strdup_printf("backends in '%s' are refused: %s", dir, reasons) : NULL;
}

/* Adds to a "no such file" what the user could have meant. */
static void tell_alternatives(const char *dir, GError **error)
{
	g_autofree char *before = g_strdup((*error)->message);
	g_autofree char *there = NULL;
	g_autofree char *reasons = NULL;
	g_auto(GStrv) names = NULL;
	g_auto(GStrv) refused = NULL;

	module_file_survey(dir, &names, &refused);
	there = g_strjoinv("', '", names);
	reasons = g_strjoinv(", ", refused);
	g_clear_error(error);
	g_set_error(error, MODULE_ERROR, MODULE_ERROR_MISSING, "%s; backends there: %s%s%s%s%s",
		    before, *there ? "'" : "none", there, *there ? "'" : "",
		    *reasons ? "; refused: " : "", reasons);
}

/* dlsym also searches the object's dependencies: a library that happens to carry a
 * backend must not stand in for a file that is none. */
static const struct rdmadp_backend *find_symbol(void *handle, GError **error)
{
	void *symbol = dlsym(handle, SYMBOL);
	struct link_map *self = NULL;
	struct link_map *owner = NULL;
	const ElfW(Sym) *entry = NULL;
	Dl_info info;

	if (!symbol) {
		module_refuse(error, "it exports no '" SYMBOL "': it is no backend");
		return NULL;
	}
	if (dlinfo(handle, RTLD_DI_LINKMAP, &self) < 0 ||
	    !dladdr1(symbol, &info, (void **)&owner, RTLD_DL_LINKMAP) || owner != self) {
		module_refuse(error, "its '" SYMBOL "' comes from '%s', not from the file itself",
			      owner ? owner->l_name : "somewhere else");
		return NULL;
	}
	/* The sizes are compared before anything behind the first member is read. */
	if (!dladdr1(symbol, &info, (void **)&entry, RTLD_DL_SYMENT) || !entry ||
	    ELF64_ST_TYPE(entry->st_info) != STT_OBJECT || entry->st_size < SIZE_V1_0) {
		module_refuse(error, "its '" SYMBOL "' is not a const struct rdmadp_backend");
		return NULL;
	}
	if (entry->st_size < ((const struct rdmadp_backend *)symbol)->size) {
		module_refuse(error, "its '" SYMBOL "' says size %u, but has only %zu bytes",
			      ((const struct rdmadp_backend *)symbol)->size,
			      (size_t)entry->st_size);
		return NULL;
	}
	return symbol;
}

static gboolean check_size(const struct rdmadp_backend *vtable, GError **error)
{
	_Static_assert(sizeof(void *) != 8 || SIZE_V1_0 == 88, "version 1.0 is frozen");

	if (vtable->size >= SIZE_V1_0 && vtable->size <= MAX_SIZE &&
	    vtable->size % sizeof(void *) == 0)
		return TRUE;
	module_refuse(error,
		      "its size is %u, not %zu or more; set it to sizeof(struct rdmadp_backend)",
		      vtable->size, SIZE_V1_0);
	return FALSE;
}

static gboolean check_texts(const struct rdmadp_backend *vtable, const char *name, GError **error)
{
	if (!vtable->name || strcmp(vtable->name, name) != 0) {
		module_refuse(error,
			      "it calls itself '%s'; rename the file to match, or the backend",
			      vtable->name ? vtable->name : "NULL");
		return FALSE;
	}
	if (!vtable->version || !g_utf8_validate(vtable->version, -1, NULL)) {
		module_refuse(error, "its 'version' is not a text");
		return FALSE;
	}
	return TRUE;
}

static gboolean key_is_valid(const char *key)
{
	gsize length = strlen(key);

	return length > 0 && length <= MAX_KEY_BYTES && g_ascii_isalpha(*key) &&
	       strspn(key, LOWER UPPER DIGITS "_.-") == length;
}

static gboolean check_keys(const char *const *keys, GError **error)
{
	guint n;

	for (n = 0; keys && keys[n]; n++) {
		if (n == MAX_KEYS) {
			module_refuse(error, "its 'keys' has no NULL within %d entries", MAX_KEYS);
			return FALSE;
		}
		if (!key_is_valid(keys[n])) {
			g_autofree char *shown = g_strescape(keys[n], NULL);

			module_refuse(error,
				      "its keys[%u] '%s' is not [A-Za-z][A-Za-z0-9_.-]{0,62}", n,
				      shown);
			return FALSE;
		}
	}
	return TRUE;
}

static gboolean check_entries(const struct rdmadp_backend *vtable, GError **error)
{
	const char *missing = NULL;

	if (!vtable->init)
		missing = "init";
	else if (!vtable->fini)
		missing = "fini";
	else if (!vtable->discover)
		missing = "discover";
	else if (!vtable->health)
		missing = "health";
	else if (vtable->event_fd && !vtable->event_ack)
		missing = "event_ack (there is an event_fd)";
	else if (vtable->event_ack && !vtable->event_fd)
		missing = "event_fd (there is an event_ack)";
	if (missing)
		module_refuse(error, "it has no %s", missing);
	return missing == NULL;
}

static gboolean check_vtable(const struct rdmadp_backend *vtable, const char *name, GError **error)
{
	return check_size(vtable, error) && check_texts(vtable, name, error) &&
	       check_keys(vtable->keys, error) && check_entries(vtable, error);
}

static struct rdmadp_backend *copy_vtable(const struct rdmadp_backend *vtable)
{
	static const char *const no_keys[] = {NULL};
	struct rdmadp_backend *copy = g_new0(struct rdmadp_backend, 1);

	memcpy(copy, vtable, MIN(vtable->size, sizeof(*copy)));
	copy->size = (uint32_t)MIN(vtable->size, sizeof(*copy));
	if (!copy->keys)
		copy->keys = no_keys;
	return copy;
}

static const struct rdmadp_backend *accept(struct loaded *loaded, const char *name, GError **error)
{
	const struct rdmadp_backend *vtable = find_symbol(loaded->handle, error);

	if (!vtable || !check_vtable(vtable, name, error))
		return NULL;
	if (!loaded->vtable)
		loaded->vtable = copy_vtable(vtable);
	return loaded->vtable;
}

static struct loaded *open_file(const char *path, const struct stat *st, GError **error)
{
	struct loaded *loaded;
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!handle) {
		module_refuse(error, "%s", dlerror());
		return NULL;
	}
	loaded = g_new0(struct loaded, 1);
	loaded->st = *st;
	loaded->handle = handle;
	if (!loaded_by_path)
		loaded_by_path = g_hash_table_new(g_str_hash, g_str_equal);
	g_hash_table_insert(loaded_by_path, g_strdup(path), loaded);
	return loaded;
}

/* The file is opened by its path, not through a checked descriptor: with a name like
 * /proc/self/fd/7 the object's $ORIGIN and what debuggers see would be wrong. Only
 * root and we can write the directory, so the second look is against an upgrade at
 * the wrong moment, not against an attacker. */
static const struct rdmadp_backend *load_file(const char *path, const struct stat *checked,
					      const char *name, GError **error)
{
	struct loaded *loaded = loaded_by_path ? g_hash_table_lookup(loaded_by_path, path) : NULL;
	struct stat now;

	if (loaded && !same_file(&loaded->st, checked)) {
		module_refuse(error,
			      "it was replaced after this process had loaded it; restart rdmadp");
		return NULL;
	}
	if (!loaded) {
		loaded = open_file(path, checked, error);
		if (!loaded)
			return NULL;
		if (stat(path, &now) < 0 || !same_file(&now, checked)) {
			module_refuse(error, "it was replaced while it was loaded; restart rdmadp");
			return NULL;
		}
	}
	return accept(loaded, name, error);
}

const struct rdmadp_backend *module_load(const char *backend_dir, const char *name, GError **error)
{
	const struct rdmadp_backend *vtable = NULL;
	g_autofree char *dir = NULL;
	g_autofree char *path = NULL;
	g_autoptr(GError) reason = NULL;
	struct stat st;

	if (!module_file_name_is_valid(name)) {
		module_refuse(error,
			      "'%s' cannot be the name of a backend: not [a-z][a-z0-9_]{0,31}",
			      name);
		return NULL;
	}
	dir = module_file_directory(backend_dir, &reason);
	if (dir)
		path = module_file_find(dir, name, &st, &reason);
	if (path)
		vtable = load_file(path, &st, name, &reason);
	if (vtable)
		return vtable;
	if (g_error_matches(reason, MODULE_ERROR, MODULE_ERROR_MISSING))
		tell_alternatives(dir, &reason);
	else if (dir)
		g_prefix_error(&reason, "'%s/%s.so' is refused: ", dir, name);
	g_propagate_prefixed_error(error, g_steal_pointer(&reason), "backend '%s': ", name);
	return NULL;
}
