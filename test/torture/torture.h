/* SPDX-License-Identifier: Apache-2.0 */
/* A node under torture: the daemon as a process, the kubelet in this one, the model of
 * both. Shared by the files of this folder. */
#pragma once

#include "edge/line_client.h"
#include "kubelet/sim.h"
#include "system/node.h"
#include "torture/model.h"

struct torture {
	guint32 seed;
	GRand *random;
	struct node *node;
	Rpc *rpc;
	SimEvents *events;
	Sim *sim;
	Model *model;
	LineClient *status; /* NULL: not connected */
	char *log_path;
	goffset log_read;
	guint refusals; /* of configurations, by the log */
	GHashTable *renumbered; /* "rdma/slots 0000:10:00.0" -> how often the log says so */
	guint seen_present[N_RESOURCES]; /* by the status socket: a bit a device */
	GQueue *trail; /* char *, what was done last */
	guint n_events, n_pods;
	guint touched; /* devices that this burst has changed */
	gboolean has_appeared; /* one has, in this burst */
};

/* 'text' is what this process sees of the node in the end. */
struct torture *torture_new(guint32 seed);
/* Ends the daemon, which has two seconds, and the kubelet. */
void torture_free(struct torture *torture);

/* Remembers what was done, for the report of a failure. */
void torture_note(struct torture *torture, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Runs everything until it is so; else the test fails with a report. */
void torture_await(struct torture *torture,
		   gboolean (*holds)(const struct torture *torture, gconstpointer data),
		   gconstpointer data, const char *what);
/* Fails the test with the same report. */
void torture_fail(const struct torture *torture, const char *what);
/* Runs everything for a moment. */
void torture_pause(guint ms);

void torture_write_devices(const struct torture *torture);
/* How often the daemon has said that a device of a resource has other numbers. */
guint torture_renumbered(const struct torture *torture, guint resource, guint device);

/* The list that the kubelet has, as model_predict writes it. */
char *torture_list(const struct torture *torture, guint resource);
/* TRUE if all lists are those of the model, and the daemon has seen which devices are
 * there. */
gboolean torture_is_settled(const struct torture *torture, gconstpointer unused);

/* --- operations.c --- */

/* One random event. FALSE: the burst ends with it. */
gboolean torture_step(struct torture *torture);
