/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for a state of the kubelet, with a deadline. */
#pragma once

#include "kubelet/sim.h"

typedef struct sim_wait SimWait;

/* 'words': "registered RESOURCE [SECONDS]" and so on, NULL-terminated. The event "waited"
 * or a bad verdict "wait", then 'over'; it has freed itself then. NULL: bad words. */
SimWait *sim_wait_new(Sim *sim, char **words, void (*over)(gpointer data), gpointer data,
		      GError **error);
void sim_wait_free(SimWait *wait);
