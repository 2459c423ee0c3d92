/* SPDX-License-Identifier: Apache-2.0 */
/* One resource towards a kubelet that restarts, refuses, is late or is not there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cmocka.h>

#include "fake_kubelet.h"
#include "kubelet/plugin.h"
#include "plugin_fixture.h"
#include "support/capture.h"

static void start(struct plugin_fixture *fixture)
{
	fixture_start(fixture, REGISTRATION_REGISTER, &shared_ops);
	publish(fixture, 3, 0);
}

static struct connection *streaming(struct plugin_fixture *fixture)
{
	fake_start(fixture->fake);
	start(fixture);
	WAIT_FOR(fake_sees(fixture->fake, 3));
	return fake_last(fixture->fake);
}

static char *own_socket(const struct plugin_fixture *fixture)
{
	return g_build_filename(fixture->dir, "rdma_a.sock", NULL);
}

static guint count_descriptors(void)
{
	g_autoptr(GDir) listing = g_dir_open("/proc/self/fd", 0, NULL);
	guint count = 0;

	while (listing && g_dir_read_name(listing) != NULL)
		count++;
	return count;
}

static void a_lost_stream_is_registered_again(void **state)
{
	struct plugin_fixture *fixture = *state;

	for (guint i = 1; i <= 5; i++) {
		struct connection *connection =
			i == 1 ? streaming(fixture) : fake_last(fixture->fake);

		connection_close(connection);
		WAIT_FOR(fixture->fake->registers == i + 1);
		WAIT_FOR(fake_sees(fixture->fake, 3));
	}
}

static guint count_in(const char *log, const char *text)
{
	g_auto(GStrv) parts = g_strsplit(log, text, -1);

	return g_strv_length(parts) - 1;
}

/* Two plugins that take a resource from each other would fill the log. */
static void streams_that_end_again_and_again_are_told_once(void **state)
{
	struct plugin_fixture *fixture = *state;
	struct connection *connection = streaming(fixture);

	capture_start();
	for (guint i = 2; i <= 11; i++) {
		connection_close(connection);
		WAIT_FOR(fixture->fake->registers == i);
		WAIT_FOR(fake_sees(fixture->fake, 3));
		connection = fake_last(fixture->fake);
	}
	g_autofree char *log = capture_stop();

	assert_int_equal(count_in(log, "the kubelet has ended its stream"), 4);
	assert_int_equal(count_in(log, "does another plugin register 'rdma/a', too?"), 1);
	assert_int_equal(count_in(log, "Registered device plugin"), 4);
	fake_stop(fixture->fake);
	fake_start(fixture->fake);
	WAIT_FOR(fake_sees(fixture->fake, 3));
}

static void a_restarted_kubelet_is_shown_the_list_again(void **state)
{
	struct plugin_fixture *fixture = *state;

	streaming(fixture);
	for (guint i = 2; i <= 6; i++) {
		fake_stop(fixture->fake);
		fake_start(fixture->fake);
		WAIT_FOR(fake_sees(fixture->fake, 3));
		assert_int_equal(fixture->fake->registers, i);
		assert_null(status_of(fixture).last_error);
	}
}

/* The old kubelet's connection may outlive the file of its socket. */
static void a_new_socket_counts_although_the_old_stream_lives(void **state)
{
	struct plugin_fixture *fixture = *state;
	struct connection *old = streaming(fixture);
	struct fake_kubelet *next = fake_new(fixture->rpc, fixture->dir);

	WAIT_FOR(status_of(fixture).registrations == 1);
	fake_start(next);
	WAIT_FOR(fake_sees(next, 3));
	WAIT_FOR(old->has_ended);
	assert_int_equal(next->registers, 1);
	assert_int_equal(status_of(fixture).streams, 1);
	fake_free(next);
}

static void a_kubelet_that_comes_later_is_met_at_once(void **state)
{
	struct plugin_fixture *fixture = *state;

	start(fixture);
	WAIT_FOR(error_contains(fixture, "kubelet.sock"));
	assert_int_equal(status_of(fixture).state, PLUGIN_LISTENING);
	fake_start(fixture->fake);
	WAIT_FOR(fake_sees(fixture->fake, 3));
	assert_int_equal(fixture->fake->registers, 1);
	assert_null(status_of(fixture).last_error);
}

/* Told once and not again; the test only sees that it ends well afterwards. */
static void a_kubelet_that_comes_much_later_is_met_too(void **state)
{
	struct plugin_fixture *fixture = *state;

	start(fixture);
	WAIT_FOR(error_contains(fixture, "kubelet.sock"));
	WAIT_FOR(fixture->kubelet->absent_timer != 0);
	WAIT_FOR(fixture->kubelet->absent_timer == 0); /* it has been told */
	fake_start(fixture->fake);
	WAIT_FOR(fake_sees(fixture->fake, 3));
}

static int bound_socket(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	g_strlcpy(address.sun_path, path, sizeof(address.sun_path));
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static void a_kubelet_that_does_not_listen_yet_is_tried_again(void **state)
{
	struct plugin_fixture *fixture = *state;
	g_autofree char *path = g_build_filename(fixture->dir, "kubelet.sock", NULL);
	int fd = bound_socket(path);

	capture_start();
	start(fixture);
	WAIT_FOR(error_contains(fixture, "no kubelet answers"));
	/* Every kubelet that starts does that for a moment: it is not worth a line. */
	WAIT_FOR(fixture->plugin->machine.attempts > 5);
	g_autofree char *log = capture_stop();

	assert_null(strstr(log, "no kubelet answers"));
	/* It takes connections now, and says nothing: Register is under way. */
	assert_int_equal(listen(fd, 10), 0);
	WAIT_FOR(status_of(fixture).state == PLUGIN_REGISTERING);
	close(fd);
	g_unlink(path);
	fake_start(fixture->fake);
	WAIT_FOR(fake_sees(fixture->fake, 3));
}

static void a_removed_socket_is_made_again_and_nothing_else(void **state)
{
	struct plugin_fixture *fixture = *state;
	struct connection *connection = streaming(fixture);
	g_autofree char *path = own_socket(fixture);

	for (int i = 0; i < 3; i++) {
		assert_int_equal(g_unlink(path), 0);
		WAIT_FOR(g_file_test(path, G_FILE_TEST_EXISTS));
	}
	publish(fixture, 4, 0);
	WAIT_FOR(fake_sees(fixture->fake, 4));
	assert_int_equal(fixture->fake->registers, 1);
	connection_close(connection);
	WAIT_FOR(fixture->fake->registers == 2);
	WAIT_FOR(fake_sees(fixture->fake, 4));
}

static void a_directory_that_is_made_again_is_used(void **state)
{
	struct plugin_fixture *fixture = *state;

	streaming(fixture);
	fake_stop(fixture->fake);
	remove_files(fixture->dir);
	assert_int_equal(g_rmdir(fixture->dir), 0);
	WAIT_FOR(status_of(fixture).state == PLUGIN_IDLE);
	assert_true(error_contains(fixture, "cannot use directory"));
	assert_int_equal(g_mkdir(fixture->dir, 0750), 0);
	fake_start(fixture->fake);
	WAIT_FOR(fake_sees(fixture->fake, 3));
}

static void a_directory_may_go_before_the_stream_does(void **state)
{
	struct plugin_fixture *fixture = *state;
	struct connection *connection = streaming(fixture);

	remove_files(fixture->dir);
	assert_int_equal(g_rmdir(fixture->dir), 0);
	WAIT_FOR(error_contains(fixture, "cannot use directory"));
	assert_int_equal(status_of(fixture).state, PLUGIN_STREAMING);
	publish(fixture, 4, 0);
	WAIT_FOR(fake_sees(fixture->fake, 4));
	connection_close(connection);
	WAIT_FOR(status_of(fixture).state == PLUGIN_IDLE);
	fake_stop(fixture->fake);
	assert_int_equal(g_mkdir(fixture->dir, 0750), 0);
	fake_start(fixture->fake);
	WAIT_FOR(fake_sees(fixture->fake, 4));
}

static void a_directory_that_comes_late_is_used(void **state)
{
	struct plugin_fixture *fixture = *state;

	assert_int_equal(g_rmdir(fixture->dir), 0);
	start(fixture);
	WAIT_FOR(error_contains(fixture, "cannot use directory"));
	assert_int_equal(g_mkdir(fixture->dir, 0750), 0);
	fake_start(fixture->fake);
	WAIT_FOR(fake_sees(fixture->fake, 3));
}

static void a_directory_that_is_too_long_is_an_error_that_stays(void **state)
{
	struct plugin_fixture *fixture = *state;
	struct kubelet_options options = {fixture->dir, fixture->registry, REGISTRATION_REGISTER,
					  FALSE};
	g_autofree char *dir = g_strnfill(90, 'd');

	options.device_plugins_dir = dir;
	fixture->kubelet = kubelet_new(fixture->rpc, &options);
	fixture->plugin = kubelet_add(fixture->kubelet, "rdma/a", &shared_ops, fixture);
	publish(fixture, 1, 0);
	assert_int_equal(status_of(fixture).state, PLUGIN_IDLE);
	assert_true(error_contains(fixture, "use a shorter path"));
	assert_null(status_of(fixture).socket_path);
}

/* --- more than one instance --- */

static void of_two_instances_one_waits_and_takes_over(void **state)
{
	struct plugin_fixture *fixture = *state;
	struct plugin_fixture second = *fixture;

	streaming(fixture);
	second.kubelet = NULL;
	fixture_start(&second, REGISTRATION_REGISTER, &shared_ops);
	publish(&second, 5, 0);
	WAIT_FOR(error_contains(&second, "another instance"));
	assert_int_equal(status_of(&second).state, PLUGIN_IDLE);
	assert_int_equal(status_of(fixture).state, PLUGIN_STREAMING);
	kubelet_stop_and_wait(g_steal_pointer(&fixture->kubelet));
	WAIT_FOR(fake_sees(fixture->fake, 5));
	kubelet_stop_and_wait(second.kubelet);
}

static void with_unique_names_both_serve(void **state)
{
	struct plugin_fixture *fixture = *state;
	struct plugin_fixture second = *fixture;
	g_autofree char *first_name = NULL;

	fake_start(fixture->fake);
	fixture->kubelet = fixture_kubelet(fixture, REGISTRATION_REGISTER, TRUE);
	fixture->plugin = kubelet_add(fixture->kubelet, "rdma/a", &shared_ops, fixture);
	publish(fixture, 3, 0);
	WAIT_FOR(fake_sees(fixture->fake, 3));
	first_name = g_strdup(fake_last(fixture->fake)->endpoint);
	second.kubelet = fixture_kubelet(&second, REGISTRATION_REGISTER, TRUE);
	second.plugin = kubelet_add(second.kubelet, "rdma/a", &shared_ops, &second);
	publish(&second, 5, 0);
	WAIT_FOR(fake_sees(fixture->fake, 5));
	assert_string_not_equal(first_name, fake_last(fixture->fake)->endpoint);
	assert_true(g_str_has_prefix(first_name, "rdma_a-"));
	assert_int_equal(status_of(fixture).state, PLUGIN_STREAMING);
	kubelet_stop_and_wait(second.kubelet);
	assert_int_equal(status_of(fixture).state, PLUGIN_STREAMING);
}

static void what_a_killed_instance_left_is_removed(void **state)
{
	struct plugin_fixture *fixture = *state;
	g_autofree char *stale = g_build_filename(fixture->dir, "rdma_a-0badcafe.sock", NULL);
	g_autofree char *own = own_socket(fixture);

	fake_start(fixture->fake);
	close(bound_socket(stale));
	close(bound_socket(own));
	start(fixture);
	WAIT_FOR(fake_sees(fixture->fake, 3));
	assert_false(g_file_test(stale, G_FILE_TEST_EXISTS));
}

/* --- the end --- */

static void the_end_leaves_no_socket_and_shows_no_empty_list(void **state)
{
	struct plugin_fixture *fixture = *state;
	struct connection *connection = streaming(fixture);
	g_autofree char *path = own_socket(fixture);

	kubelet_stop_and_wait(g_steal_pointer(&fixture->kubelet));
	assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
	WAIT_FOR(connection->has_ended);
	assert_int_equal(connection->n_lists, 1);
	assert_int_equal(connection->list->n_devices, 3);
}

static void a_removed_resource_goes_and_may_come_back(void **state)
{
	struct plugin_fixture *fixture = *state;
	struct connection *connection = streaming(fixture);

	plugin_remove(fixture->plugin);
	fixture->plugin = kubelet_add(fixture->kubelet, "rdma/a", &shared_ops, fixture);
	publish(fixture, 7, 0);
	WAIT_FOR(fake_sees(fixture->fake, 7));
	WAIT_FOR(connection->has_ended);
	assert_int_equal(connection->n_lists, 1);
	assert_int_equal(fixture->fake->registers, 2);
}

static void the_end_may_come_at_any_time(void **state)
{
	struct plugin_fixture *fixture = *state;

	fake_start(fixture->fake);
	for (int steps = 0; steps < 60; steps++) {
		start(fixture);
		for (int i = 0; i < steps; i++)
			g_main_context_iteration(NULL, FALSE);
		kubelet_stop_and_wait(g_steal_pointer(&fixture->kubelet));
	}
}

static void a_kubelet_without_resources_ends_too(void **state)
{
	struct plugin_fixture *fixture = *state;

	fixture->kubelet = fixture_kubelet(fixture, REGISTRATION_AUTO, FALSE);
	kubelet_stop(g_steal_pointer(&fixture->kubelet), NULL, NULL);
	while (g_main_context_iteration(NULL, FALSE))
		;
}

/* --- again and again --- */

static void a_hundred_restarts_leave_nothing_behind(void **state)
{
	struct plugin_fixture *fixture = *state;
	guint before = 0;

	streaming(fixture);
	for (int i = 0; i < 100; i++) {
		if (i == 10)
			before = count_descriptors();
		fake_stop(fixture->fake);
		fake_start(fixture->fake);
		WAIT_FOR(fake_sees(fixture->fake, 3));
	}
	/* What gRPC closes late is closed by the time all is quiet. */
	/* gRPC's threads close the last of them: nothing wakes the loop then. */
	while (count_descriptors() > before) {
		g_main_context_iteration(NULL, FALSE);
		g_usleep(1000);
	}
	assert_int_equal(status_of(fixture).streams, 1);
	assert_int_equal(fixture->fake->registers, 101);
}

static void a_kubelet_may_restart_at_any_step(void **state)
{
	struct plugin_fixture *fixture = *state;
	g_autoptr(GRand) random = g_rand_new_with_seed(7);

	fake_start(fixture->fake);
	start(fixture);
	for (int i = 0; i < 100; i++) {
		int steps = g_rand_int_range(random, 0, 40);

		for (int j = 0; j < steps; j++)
			g_main_context_iteration(NULL, FALSE);
		fake_stop(fixture->fake);
		fake_start(fixture->fake);
	}
	WAIT_FOR(fake_sees(fixture->fake, 3));
	WAIT_FOR(status_of(fixture).streams == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(a_lost_stream_is_registered_again),
		FIXTURE_TEST(streams_that_end_again_and_again_are_told_once),
		FIXTURE_TEST(a_restarted_kubelet_is_shown_the_list_again),
		FIXTURE_TEST(a_new_socket_counts_although_the_old_stream_lives),
		FIXTURE_TEST(a_kubelet_that_comes_later_is_met_at_once),
		FIXTURE_TEST(a_kubelet_that_comes_much_later_is_met_too),
		FIXTURE_TEST(a_kubelet_that_does_not_listen_yet_is_tried_again),
		FIXTURE_TEST(a_removed_socket_is_made_again_and_nothing_else),
		FIXTURE_TEST(a_directory_that_is_made_again_is_used),
		FIXTURE_TEST(a_directory_may_go_before_the_stream_does),
		FIXTURE_TEST(a_directory_that_comes_late_is_used),
		FIXTURE_TEST(a_directory_that_is_too_long_is_an_error_that_stays),
		FIXTURE_TEST(of_two_instances_one_waits_and_takes_over),
		FIXTURE_TEST(with_unique_names_both_serve),
		FIXTURE_TEST(what_a_killed_instance_left_is_removed),
		FIXTURE_TEST(the_end_leaves_no_socket_and_shows_no_empty_list),
		FIXTURE_TEST(a_removed_resource_goes_and_may_come_back),
		FIXTURE_TEST(the_end_may_come_at_any_time),
		FIXTURE_TEST(a_kubelet_without_resources_ends_too),
		FIXTURE_TEST(a_hundred_restarts_leave_nothing_behind),
		FIXTURE_TEST(a_kubelet_may_restart_at_any_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
