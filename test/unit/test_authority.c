/* SPDX-License-Identifier: Apache-2.0 */
/* What clients write into :authority, kubelets of all ages and others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_kubelet.h"
#include "plugin_fixture.h"
#include "raw_http2.h"

#define LONGEST 126

static struct connection *streaming(struct plugin_fixture *fixture)
{
	fake_start(fixture->fake);
	fixture_start(fixture, REGISTRATION_REGISTER, &shared_ops);
	publish(fixture, 3, 0);
	WAIT_FOR(fake_sees(fixture->fake, 3));
	return fake_last(fixture->fake);
}

/* Asks for the list with these fields; TRUE if it came. */
static gboolean is_served(struct plugin_fixture *fixture, const struct raw_field *fields)
{
	int fd = raw_call_with(status_of(fixture).socket_path, METHOD_LIST_AND_WATCH, fields);
	gboolean served = raw_is_served(fd);

	close(fd);
	WAIT_FOR(status_of(fixture).streams == 1);
	return served;
}

static const char *const served[] = {
	"localhost",
	"/var/lib/kubelet/device-plugins/rdma_a.sock",
	"%2Fvar%2Flib%2Fkubelet%2Fplugins_registry%2Frdma_a.sock",
	"unix:///a/b.sock",
	"a b",
	"[::1]:99",
	"host:port:x",
	"user@host",
	"%",
	"%zz",
};

static void any_authority_is_served(void **state)
{
	struct plugin_fixture *fixture = *state;

	streaming(fixture);
	for (gsize i = 0; i < G_N_ELEMENTS(served); i++) {
		const struct raw_field fields[] = {{":authority", served[i]}, {NULL, NULL}};

		if (!is_served(fixture, fields))
			fail_msg("no list for authority '%s'", served[i]);
	}
}

/* What no kubelet sends. gRPC decides itself whether it serves that; it has to do either,
 * and nobody else is the worse for it. */
static const struct raw_field odd[][4] = {
	{{NULL, NULL}},
	{{":authority", ""}},
	{{":authority", "\x01\x02\x7f"}},
	{{":authority", "\xff\xfe\x80"}},
	{{":authority", "a\r\nte: trailers"}},
	{{":authority", "localhost"}, {":authority", "localhost"}},
	{{":authority", "localhost"}, {":authority", "/a.sock"}},
	{{":authority", "/a.sock"}, {":authority", ""}, {":authority", "%2Fa.sock"}},
	{{"host", "localhost"}},
	{{"host", "/a.sock"}, {":authority", "localhost"}},
	{{"user-agent", "grpc-go/1.33.3"}, {":authority", "localhost"}},
};

static void odd_authorities_harm_nobody(void **state)
{
	struct plugin_fixture *fixture = *state;
	struct connection *good = streaming(fixture);

	for (guint i = 0; i < G_N_ELEMENTS(odd); i++) {
		is_served(fixture, odd[i]);
		publish(fixture, 4 + i, 0);
		WAIT_FOR(good->list->n_devices == 4 + i);
	}
	assert_int_equal(fixture->fake->registers, 1);
	assert_int_equal(status_of(fixture).state, PLUGIN_STREAMING);
}

static void a_long_authority_is_served(void **state)
{
	struct plugin_fixture *fixture = *state;
	g_autofree char *authority = g_strnfill(LONGEST, 'a');
	const struct raw_field fields[] = {{":authority", authority}, {NULL, NULL}};

	streaming(fixture);
	assert_true(is_served(fixture, fields));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(any_authority_is_served),
		FIXTURE_TEST(odd_authorities_harm_nobody),
		FIXTURE_TEST(a_long_authority_is_served),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
