/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/pod_resources.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "kubelet/socket_file.h"

/* Between two questions. The kubelet would take a hundred a second of all its users. */
#define PAUSE_MS 200
#define DEADLINE_MS 10000
/* What the kubelet's own client takes. */
#define MAX_REPLY ((gsize)16 * 1024 * 1024)

struct question {
	pod_resources_done_fn done;
	gpointer data;
};

struct pod_resources {
	Rpc *rpc;
	char *path;
	GArray *waiting; /* struct question: for the next List */
	GArray *asked; /* struct question: for the List that is under way; NULL: none is */
	RpcRequest *request;
	gint64 asked_us;
	gint64 age_us; /* of the kubelet that was asked last */
	guint timer; /* to the next List */
};

G_DEFINE_QUARK(rdmadp - pod - resources - error, pod_resources_error)

PodResources *pod_resources_new(Rpc *rpc, const char *socket_path)
{
	PodResources *self = g_new0(PodResources, 1);

	self->rpc = rpc;
	self->path = g_strdup(socket_path);
	self->waiting = g_array_new(FALSE, FALSE, sizeof(struct question));
	self->asked_us = g_get_monotonic_time() - (gint64)PAUSE_MS * 1000;
	return self;
}

void pod_resources_free(PodResources *self)
{
	if (!self)
		return;
	rpc_request_cancel(self->request);
	if (self->timer)
		g_source_remove(self->timer);
	g_array_unref(self->waiting);
	g_clear_pointer(&self->asked, g_array_unref);
	g_free(self->path);
	g_free(self);
}

static gboolean ask_now(gpointer data);

static void schedule(PodResources *self)
{
	gint64 next_us = self->asked_us + (gint64)PAUSE_MS * 1000;
	gint64 wait_us = MAX(next_us - g_get_monotonic_time(), 0);

	if (self->timer || self->asked || self->waiting->len == 0)
		return;
	self->timer = g_timeout_add((guint)(wait_us / 1000), ask_now, self);
}

static void answer_all(PodResources *self, Holdings *holdings, const GError *error)
{
	g_autoptr(GArray) asked = g_steal_pointer(&self->asked);

	/* Before the callbacks: one of them may ask again. */
	schedule(self);
	for (guint i = 0; i < asked->len; i++) {
		const struct question *question = &g_array_index(asked, struct question, i);

		question->done(holdings, error, question->data);
	}
}

/* A socket that may not be used is as silent as one that nobody listens on. */
static enum pod_resources_error code_of(enum rpc_status status, const char *message)
{
	gboolean is_denied = strstr(message, "ermission denied") != NULL;

	return status == RPC_UNAVAILABLE && !is_denied ? POD_RESOURCES_ERROR_AWAY
						       : POD_RESOURCES_ERROR_FAILED;
}

static void on_done(enum rpc_status status, const char *message, GBytes *reply, gpointer data)
{
	PodResources *self = data;
	g_autoptr(Holdings) holdings = NULL;
	g_autoptr(GError) error = NULL;
	GPtrArray *list = NULL;

	self->request = NULL;
	if (status == RPC_OK)
		list = messages_unpack_pod_resources(reply, &error);
	else
		g_set_error(&error, POD_RESOURCES_ERROR, code_of(status, message),
			    "the kubelet at '%s' does not say which pods hold devices: %s (status "
			    "%d)%s",
			    self->path, message, (int)status,
			    strstr(message, "ermission denied") ? listener_access_hint(EACCES)
								: "");
	if (list)
		holdings = holdings_new(list, self->asked_us, self->age_us);
	answer_all(self, holdings, error);
}

/* Its start has made the socket. A clock that was set back says nothing. */
static gint64 age_of(const struct stat *status)
{
	gint64 made_us = status->st_mtim.tv_sec * G_USEC_PER_SEC + status->st_mtim.tv_nsec / 1000;
	gint64 age_us = g_get_real_time() - made_us;

	return age_us >= 0 ? age_us : G_MAXINT64;
}

static gboolean check_socket(PodResources *self, GError **error)
{
	struct stat status;

	if (lstat(self->path, &status) < 0) {
		g_set_error(error, POD_RESOURCES_ERROR,
			    errno == ENOENT ? POD_RESOURCES_ERROR_ABSENT
					    : POD_RESOURCES_ERROR_FAILED,
			    "cannot ask which pods hold devices: '%s': %s%s", self->path,
			    g_strerror(errno), listener_access_hint(errno));
		return FALSE;
	}
	self->age_us = age_of(&status);
	if (S_ISSOCK(status.st_mode) && socket_file_is_trusted(&status))
		return TRUE;
	g_set_error(error, POD_RESOURCES_ERROR, POD_RESOURCES_ERROR_FAILED,
		    "cannot ask which pods hold devices: '%s' is %s of uid %u and not a socket of "
		    "root",
		    self->path, socket_file_kind(&status), status.st_uid);
	return FALSE;
}

static gboolean ask_now(gpointer data)
{
	PodResources *self = data;
	struct rpc_target target = {self->path, METHOD_POD_RESOURCES, DEADLINE_MS, MAX_REPLY};
	g_autoptr(GBytes) empty = messages_pack_empty();
	g_autoptr(GError) error = NULL;

	self->timer = 0;
	self->asked_us = g_get_monotonic_time();
	self->asked = self->waiting;
	self->waiting = g_array_new(FALSE, FALSE, sizeof(struct question));
	if (check_socket(self, &error))
		self->request = rpc_request(self->rpc, &target, empty, on_done, self);
	else
		answer_all(self, NULL, error);
	return G_SOURCE_REMOVE;
}

void pod_resources_ask(PodResources *self, pod_resources_done_fn done, gpointer data)
{
	struct question question = {done, data};

	g_array_append_val(self->waiting, question);
	schedule(self);
}
