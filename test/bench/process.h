/* SPDX-License-Identifier: Apache-2.0 */
/* A program under measurement, seen from outside. */
#pragma once

#include <glib.h>

typedef struct process Process;

/* Starts argv[0]; both outputs go to the file 'log'. Ends the bench if it cannot. */
Process *process_start(const char *const *argv, const char *log);
/* SIGTERM, and waits. Complains if the program had ended by itself. */
void process_stop(Process *process);
GPid process_pid(const Process *process);
gboolean process_is_alive(Process *process);

/* A number of /proc/PID/status, such as "VmRSS" (kB) or "Threads". */
double process_status(const Process *process, const char *key);
/* Times that any of its threads has gone to sleep so far: each is a wake-up. */
double process_sleeps(const Process *process);
/* CPU time of all its threads so far, in microseconds. */
double process_cpu_us(const Process *process);
