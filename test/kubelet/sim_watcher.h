/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other way in: the kubelet's plugin watcher. It looks for sockets below
 * plugins_registry, asks each who it is, connects and tells it the outcome. After a lost
 * stream it does nothing until the socket is made again.
 */
#pragma once

#include "kubelet/sim_private.h"

/* Nothing happens if the options name no directory. */
void sim_watcher_start(Sim *sim);
void sim_watcher_stop(Sim *sim);
