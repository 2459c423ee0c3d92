/* SPDX-License-Identifier: Apache-2.0 */
/* The mock backend with an instance on a temp directory. Include after cmocka.h. */
#pragma once

#include <glib.h>
#include <string.h>

#include "edge/module.h"
#include "support/dump.h"
#include "support/fixture.h"

#define FILE_PATH "sys/bus/mock/devices"

/* The backend, an instance of it and the root whose file it reads. */
struct mock_fixture {
	const struct rdmadp_backend *mock;
	char *root;
	char *sysfs;
	struct rdmadp_host host;
	GString *log;
	void *instance;
};

static struct mock_fixture *logging; /* the host's log function has no other way to it */

static inline void host_log(const struct rdmadp_host *host, int level, const char *message)
{
	assert_ptr_equal(host, &logging->host);
	g_string_append_printf(logging->log, "%d %s\n", level, message);
}

static inline int mock_setup(void **state)
{
	struct mock_fixture *f = g_new0(struct mock_fixture, 1);

	f->mock = module_load(BINARY_DIR "/lib/rdmadp/backends", "mock", NULL);
	assert_non_null(f->mock);
	f->root = fixture_new("dir sys/bus/mock\n");
	f->sysfs = g_build_filename(f->root, "sys", NULL);
	f->log = g_string_new(NULL);
	f->host = (struct rdmadp_host){sizeof(f->host), 0, f->sysfs, "/dev", host_log};
	logging = f;
	assert_int_equal(f->mock->init(&f->host, &f->instance), 0);
	*state = f;
	return 0;
}

static inline int mock_teardown(void **state)
{
	struct mock_fixture *f = *state;

	f->mock->fini(f->instance);
	fixture_remove(f->root);
	g_free(f->root);
	g_free(f->sysfs);
	g_string_free(f->log, TRUE);
	g_free(f);
	return 0;
}

static inline char *scan(struct mock_fixture *f)
{
	g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);

	assert_int_equal(f->mock->discover(f->instance, dump_emit, texts), 0);
	return dump_join(texts);
}

static inline void assert_scan(struct mock_fixture *f, const char *expected)
{
	g_autofree char *seen = scan(f);

	assert_string_equal(seen, expected);
}
