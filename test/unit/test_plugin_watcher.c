/* SPDX-License-Identifier: Apache-2.0 */
/* One resource towards the kubelet's plugin watcher, and the mode that tries both. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "fake_kubelet.h"
#include "kubelet/plugin.h"
#include "plugin_fixture.h"
#include "pluginregistration.pb-c.h"

static void start(struct plugin_fixture *fixture, int mode)
{
	fixture_start(fixture, mode, &shared_ops);
	publish(fixture, 3, 0);
}

static char *registry_socket(const struct plugin_fixture *fixture)
{
	return g_build_filename(fixture->registry, "rdma_a.sock", NULL);
}

static gboolean exists(const char *path)
{
	return g_file_test(path, G_FILE_TEST_EXISTS);
}

/* Holds the file open, so that a new one cannot have its inode number. */
static int hold(const char *path)
{
	int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static gboolean is_another(const char *path, int held)
{
	struct stat then, now;

	assert_int_equal(fstat(held, &then), 0);
	return lstat(path, &now) == 0 && now.st_ino != then.st_ino;
}

static void expect_info(const struct connection *connection)
{
	struct answer answer = ask(connection, METHOD_GET_INFO, g_bytes_new_static("", 0));
	Pluginregistration__PluginInfo *info;

	assert_int_equal(answer.status, RPC_OK);
	info = pluginregistration__plugin_info__unpack(NULL, g_bytes_get_size(answer.reply),
						       g_bytes_get_data(answer.reply, NULL));
	assert_string_equal(info->type, "DevicePlugin");
	assert_string_equal(info->name, "rdma/a");
	assert_string_equal(info->endpoint, "");
	assert_int_equal(info->n_supported_versions, 1);
	assert_string_equal(info->supported_versions[0], "v1beta1");
	pluginregistration__plugin_info__free_unpacked(info, NULL);
	answer_clear(&answer);
}

static void notify(const struct connection *connection, const char *refusal)
{
	Pluginregistration__RegistrationStatus status =
		PLUGINREGISTRATION__REGISTRATION_STATUS__INIT;
	struct answer answer;

	status.plugin_registered = refusal == NULL;
	if (refusal)
		status.error = (char *)refusal;
	answer = ask(connection, METHOD_NOTIFY, pack_message(&status));
	assert_int_equal(answer.status, RPC_OK);
	assert_int_equal(g_bytes_get_size(answer.reply), 0);
	answer_clear(&answer);
}

/* What the kubelet does when it sees a new socket in the registry. */
static struct connection *discover(struct plugin_fixture *fixture)
{
	g_autofree char *path = registry_socket(fixture);
	struct connection *connection = connection_new(fixture->fake, path);

	expect_info(connection);
	return connection;
}

static struct connection *streaming(struct plugin_fixture *fixture)
{
	struct connection *connection = discover(fixture);

	connection_subscribe(connection);
	WAIT_FOR(fake_sees(fixture->fake, 3));
	notify(connection, NULL);
	return connection;
}

static void the_watcher_finds_and_lists_the_resource(void **state)
{
	struct plugin_fixture *fixture = *state;
	g_autofree char *path = registry_socket(fixture);

	fake_start(fixture->fake); /* nobody calls Register there */
	start(fixture, REGISTRATION_WATCHER);
	assert_true(exists(path));
	assert_int_equal(status_of(fixture).state, PLUGIN_LISTENING);
	streaming(fixture);
	assert_int_equal(status_of(fixture).state, PLUGIN_STREAMING);
	assert_int_equal(status_of(fixture).registrations, 1);
	assert_int_equal(fixture->fake->registers, 0);
}

static void a_lost_stream_makes_the_socket_anew(void **state)
{
	struct plugin_fixture *fixture = *state;
	g_autofree char *path = registry_socket(fixture);
	struct connection *connection;
	int held;

	start(fixture, REGISTRATION_WATCHER);
	connection = streaming(fixture);
	held = hold(path);
	connection_close(connection);
	WAIT_FOR(status_of(fixture).state == PLUGIN_LISTENING);
	WAIT_FOR(is_another(path, held));
	close(held);
	streaming(fixture);
	assert_int_equal(status_of(fixture).state, PLUGIN_STREAMING);
}

static void a_refusal_makes_the_socket_anew_and_is_told(void **state)
{
	struct plugin_fixture *fixture = *state;
	g_autofree char *path = registry_socket(fixture);

	start(fixture, REGISTRATION_WATCHER);
	for (int i = 0; i < 2; i++) {
		struct connection *connection = discover(fixture);
		int held = hold(path);

		assert_int_equal(status_of(fixture).state, PLUGIN_REGISTERING);
		notify(connection, "RegisterPlugin error -- plugin validation failed");
		assert_int_equal(status_of(fixture).state, PLUGIN_LISTENING);
		assert_non_null(strstr(status_of(fixture).last_error, "plugin validation failed"));
		WAIT_FOR(is_another(path, held));
		close(held);
	}
	streaming(fixture);
	assert_null(status_of(fixture).last_error);
}

static void a_status_that_is_none_is_refused(void **state)
{
	struct plugin_fixture *fixture = *state;
	struct answer answer;

	start(fixture, REGISTRATION_WATCHER);
	answer = ask(discover(fixture), METHOD_NOTIFY, g_bytes_new_static("\xff", 1));
	assert_int_equal(answer.status, RPC_INTERNAL);
	assert_int_equal(status_of(fixture).state, PLUGIN_REGISTERING);
	answer_clear(&answer);
}

static void a_removed_socket_is_made_again(void **state)
{
	struct plugin_fixture *fixture = *state;
	g_autofree char *path = registry_socket(fixture);

	start(fixture, REGISTRATION_WATCHER);
	assert_int_equal(g_unlink(path), 0);
	WAIT_FOR(exists(path));
	streaming(fixture);
}

static void a_registry_that_comes_late_is_used(void **state)
{
	struct plugin_fixture *fixture = *state;
	g_autofree char *path = registry_socket(fixture);

	assert_int_equal(g_rmdir(fixture->registry), 0);
	start(fixture, REGISTRATION_WATCHER);
	assert_int_equal(status_of(fixture).state, PLUGIN_IDLE);
	assert_int_equal(g_mkdir(fixture->registry, 0750), 0);
	WAIT_FOR(exists(path));
	streaming(fixture);
}

static void a_registry_that_cannot_be_written_during_a_renewal_is_waited_for(void **state)
{
	struct plugin_fixture *fixture = *state;
	g_autofree char *path = registry_socket(fixture);
	struct connection *connection;

	start(fixture, REGISTRATION_WATCHER);
	connection = streaming(fixture);
	assert_int_equal(chmod(fixture->registry, 0757), 0);
	connection_close(connection);
	WAIT_FOR(status_of(fixture).state == PLUGIN_IDLE);
	assert_non_null(strstr(status_of(fixture).last_error, "0757"));
	assert_int_equal(chmod(fixture->registry, 0750), 0);
	WAIT_FOR(exists(path));
	streaming(fixture);
}

static void auto_registers_where_that_works(void **state)
{
	struct plugin_fixture *fixture = *state;
	g_autofree char *path = registry_socket(fixture);

	fake_start(fixture->fake);
	start(fixture, REGISTRATION_AUTO);
	WAIT_FOR(fake_sees(fixture->fake, 3));
	assert_false(exists(path));
}

static void auto_takes_the_other_way_until_the_kubelet_restarts(void **state)
{
	struct plugin_fixture *fixture = *state;
	g_autofree char *registry = registry_socket(fixture);
	g_autofree char *registered = g_build_filename(fixture->dir, "rdma_a.sock", NULL);
	struct connection *connection;

	fixture->fake->opens_no_stream = TRUE;
	fake_start(fixture->fake);
	start(fixture, REGISTRATION_AUTO);
	WAIT_FOR(exists(registry)); /* ten seconds later */
	assert_false(exists(registered));
	connection = streaming(fixture);
	assert_int_equal(fixture->fake->registers, 1);
	fixture->fake->opens_no_stream = FALSE;
	fake_stop(fixture->fake);
	fake_start(fixture->fake);
	WAIT_FOR(fake_sees(fixture->fake, 3) && fake_last(fixture->fake) != connection);
	assert_false(exists(registry));
	assert_true(exists(registered));
	assert_int_equal(fixture->fake->registers, 2);
}

/* A new kubelet's socket may be there before the old one has closed what it had. */
static void auto_leaves_the_old_kubelet_for_the_new_one(void **state)
{
	struct plugin_fixture *fixture = *state;
	struct fake_kubelet *next = fake_new(fixture->rpc, fixture->dir);
	struct connection *old;

	fixture->fake->opens_no_stream = TRUE;
	fake_start(fixture->fake);
	start(fixture, REGISTRATION_AUTO);
	WAIT_FOR(status_of(fixture).registrations == 1);
	plugin_feed(fixture->plugin, REGISTRATION_TIMER, NULL); /* ten seconds are over */
	old = streaming(fixture);
	fake_start(next);
	WAIT_FOR(fake_sees(next, 3));
	WAIT_FOR(old->has_ended);
	assert_int_equal(next->registers, 1);
	fake_free(next);
}

/* The timer of ten seconds, called early. */
static void auto_stays_where_there_is_no_registry(void **state)
{
	struct plugin_fixture *fixture = *state;

	assert_int_equal(g_rmdir(fixture->registry), 0);
	fixture->fake->opens_no_stream = TRUE;
	fake_start(fixture->fake);
	start(fixture, REGISTRATION_AUTO);
	WAIT_FOR(status_of(fixture).registrations == 1);
	fixture->fake->opens_no_stream = FALSE;
	plugin_feed(fixture->plugin, REGISTRATION_TIMER, NULL);
	WAIT_FOR(fake_sees(fixture->fake, 3));
	assert_int_equal(fixture->fake->registers, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(the_watcher_finds_and_lists_the_resource),
		FIXTURE_TEST(a_lost_stream_makes_the_socket_anew),
		FIXTURE_TEST(a_refusal_makes_the_socket_anew_and_is_told),
		FIXTURE_TEST(a_status_that_is_none_is_refused),
		FIXTURE_TEST(a_removed_socket_is_made_again),
		FIXTURE_TEST(a_registry_that_comes_late_is_used),
		FIXTURE_TEST(a_registry_that_cannot_be_written_during_a_renewal_is_waited_for),
		FIXTURE_TEST(auto_registers_where_that_works),
		FIXTURE_TEST(auto_takes_the_other_way_until_the_kubelet_restarts),
		FIXTURE_TEST(auto_leaves_the_old_kubelet_for_the_new_one),
		FIXTURE_TEST(auto_stays_where_there_is_no_registry),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
