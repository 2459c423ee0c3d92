/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The running daemon: builds buses, pools and the kubelet side from the two
 * configuration files and lives until a signal ends it.
 */
#pragma once

#include "daemon/options.h"

/* Returns the exit status: 0 after SIGTERM or SIGINT, 1 when the configuration is
 * not usable (every error is on stderr then). */
int daemon_run(const Options *options);
