/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/endpoint.h"

#include "edge/log.h"
#include "kubelet/listener.h"
#include "kubelet/nag.h"
#include "kubelet/pulse.h"
#include "model/socket_name.h"
#include "model/text.h"

/* An instance that was killed gives no sign: the next one is to stream within a second. */
#define RETRY_MS 500

struct endpoint {
	char *dir;
	char *resource;
	char *name;
	char *path;
	struct endpoint_events events;
	gpointer data;
	gboolean wanted;
	gboolean swept;
	Listener *listener;
	guint retry;
	GError *trouble;
	Pulse *other; /* of the instance that has our name; NULL: nobody has */
	gboolean replaces; /* that one has stopped, and its socket was removed */
	struct nag nag;
};

Endpoint *endpoint_new(const char *dir, const char *resource, const char *instance,
		       const struct endpoint_events *events, gpointer data, GError **error)
{
	char *name = socket_name_new(dir, resource, instance, error);
	Endpoint *self;

	if (!name)
		return NULL;
	self = g_new0(Endpoint, 1);
	self->dir = g_strdup(dir);
	self->resource = g_strdup(resource);
	self->name = name;
	self->path = g_build_filename(dir, name, NULL);
	self->events = *events;
	self->data = data;
	return self;
}

void endpoint_free(Endpoint *endpoint)
{
	if (!endpoint)
		return;
	if (endpoint->retry)
		g_source_remove(endpoint->retry);
	listener_free(endpoint->listener);
	g_clear_error(&endpoint->trouble);
	pulse_free(endpoint->other);
	nag_over(&endpoint->nag);
	g_free(endpoint->dir);
	g_free(endpoint->resource);
	g_free(endpoint->name);
	g_free(endpoint->path);
	g_free(endpoint);
}

/* What instances that were killed have left would keep the kubelet busy. */
static void sweep_once(Endpoint *self)
{
	g_autofree char *count = NULL;
	guint removed;

	if (self->swept)
		return;
	self->swept = TRUE;
	removed = listener_sweep(self->dir, self->resource);
	count = text_count(removed, "stale socket");
	if (removed > 0)
		log_info(self->resource, "removed %s of earlier instances from '%s'", count,
			 self->dir);
}

static void accept_connection(int fd, gpointer data)
{
	Endpoint *self = data;

	self->events.accepted(fd, self->data);
}

static gboolean retry(gpointer data);

static void listen_once(Endpoint *self)
{
	g_clear_error(&self->trouble);
	self->listener = listener_new(self->dir, self->name, self->resource, accept_connection,
				      self, &self->trouble);
}

/* TRUE if the name is free now: whoever had it does nothing any more. */
static gboolean bury_other(Endpoint *self)
{
	if (!g_error_matches(self->trouble, LISTENER_ERROR, LISTENER_ERROR_BUSY))
		return FALSE;
	if (!self->other)
		self->other = pulse_new();
	if (!pulse_has_stopped(self->other, self->path, g_get_monotonic_time()))
		return FALSE;
	log_warning(self->resource,
		    "the instance that serves '%s' has not answered for 10 s: its socket is "
		    "replaced",
		    self->path);
	self->replaces = pulse_bury(self->other, self->path);
	return self->replaces;
}

static const char *remedy(const GError *trouble)
{
	return g_error_matches(trouble, LISTENER_ERROR, LISTENER_ERROR_BUSY)
		       ? " (or let both serve with unique_socket_names)"
		       : "";
}

static gboolean try_to_listen(Endpoint *self)
{
	sweep_once(self);
	listen_once(self);
	if (!self->listener && bury_other(self))
		listen_once(self);
	if (self->listener) {
		g_clear_pointer(&self->other, pulse_free);
		if (nag_over(&self->nag))
			log_info(self->resource, "'%s' can be served now", self->path);
		return TRUE;
	}
	if (nag_again(&self->nag, self->trouble->message, g_get_monotonic_time()))
		log_warning(self->resource, "%s%s; trying again", self->trouble->message,
			    remedy(self->trouble));
	if (!self->retry)
		self->retry = g_timeout_add(RETRY_MS, retry, self);
	return FALSE;
}

static void tell_served(Endpoint *self)
{
	gboolean replaces = self->replaces;

	self->replaces = FALSE;
	self->events.served(replaces, self->data);
}

static void stop_retrying(Endpoint *self)
{
	if (self->retry)
		g_source_remove(self->retry);
	self->retry = 0;
}

static void listen_or_wait(Endpoint *self)
{
	if (!try_to_listen(self))
		return;
	stop_retrying(self);
	tell_served(self);
}

static gboolean retry(gpointer data)
{
	Endpoint *self = data;

	if (!try_to_listen(self))
		return G_SOURCE_CONTINUE;
	self->retry = 0;
	tell_served(self);
	return G_SOURCE_REMOVE;
}

void endpoint_open(Endpoint *endpoint)
{
	endpoint->wanted = TRUE;
	if (!endpoint->listener && !endpoint->retry)
		listen_or_wait(endpoint);
}

void endpoint_look(Endpoint *endpoint)
{
	gboolean was_there = endpoint->listener != NULL;

	if (!endpoint->wanted || (was_there && listener_is_intact(endpoint->listener)))
		return;
	if (was_there)
		log_debug(endpoint->resource, "'%s' was removed or replaced", endpoint->path);
	g_clear_pointer(&endpoint->listener, listener_free);
	listen_or_wait(endpoint);
	if (was_there && !endpoint->listener)
		endpoint->events.unserved(endpoint->data);
}

void endpoint_renew(Endpoint *endpoint)
{
	g_clear_pointer(&endpoint->listener, listener_free);
	listen_or_wait(endpoint);
	if (!endpoint->listener)
		endpoint->events.unserved(endpoint->data);
}

const char *endpoint_name(const Endpoint *endpoint)
{
	return endpoint->name;
}

const char *endpoint_path(const Endpoint *endpoint)
{
	return endpoint->path;
}

const char *endpoint_trouble(const Endpoint *endpoint)
{
	return endpoint->trouble ? endpoint->trouble->message : NULL;
}
