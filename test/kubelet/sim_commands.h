/* SPDX-License-Identifier: Apache-2.0 */
/* The commands that the program reads, one a line: see sim_commands_help. They run one
 * after the other; one that waits holds up those behind it. */
#pragma once

#include "kubelet/sim.h"

typedef struct sim_commands SimCommands;

/* 'quit' is called for the command of that name. */
SimCommands *sim_commands_new(Sim *sim, void (*quit)(gpointer data), gpointer data);
void sim_commands_free(SimCommands *commands);

void sim_commands_add(SimCommands *commands, const char *line);

/* For --help: a line for each command. */
char *sim_commands_help(void);
