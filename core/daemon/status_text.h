/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the running daemon tells about itself, as JSON: the lines of the status socket.
 * packaging/status.schema.json describes them.
 */
#pragma once

#include "daemon/configuration.h"
#include "daemon/roster.h"
#include "kubelet/holdings.h"

struct status_source {
	const Configuration *configuration;
	const Roster *roster;
	gint64 started_us; /* real time */
	/* What to add to monotonic times to make them real ones. Constant, so that a time
	 * that has not changed is always the same text. */
	gint64 real_offset_us;
};

/* Who holds what; NULL: nobody was asked. */
struct status_pods {
	const Holdings *holdings; /* NULL: no answer, and why */
	const char *trouble;
};

/* {"type":"snapshot", …}: everything. */
char *status_snapshot_text(const struct status_source *source, const struct status_pods *pods);
/* {"type":"ready", …}, {"type":"resource", …}, {"type":"bus", …}, {"type":"configuration", …} */
char *status_readiness_text(const struct status_source *source);
char *status_resource_text(const struct status_source *source, const Pool *pool);
char *status_bus_text(const struct status_source *source, const Bus *bus);
char *status_configuration_text(const struct status_source *source);
/* {"type":"removed","kind":"resource","name":"rdma/hca"} */
char *status_removed_text(const char *kind, const char *name);
