/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs under test: started with pipes, fed with lines, waited for. Every wait reads
 * what all of them write, so that none blocks. A wait that fails prints what everybody
 * has written. Children die with the test.
 */
#pragma once

#include <glib.h>
#include <sys/types.h>

/* Milliseconds that a wait takes at most: generous, because nothing depends on it. An
 * emulated machine has RDMADP_TEST_PATIENCE times as long. */
#define PROCESS_LIMIT_MS 30000

typedef struct process Process;

/* 'argv' is NULL-terminated, argv[0] a path. 'name' is for messages. Ends the test if
 * the program cannot be started. */
Process *process_start(const char *name, const char *const *argv);
/* Kills it if it runs. NULL is a no-op. */
void process_free(Process *process);

/* A line to its standard input; adds the newline. */
void process_write(Process *process, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Closes its standard input. */
void process_close_input(Process *process);

/* Waits for a line of standard output or standard error that was not waited for before,
 * and later than the last one that was: a pattern in JSON ("{…}", see json_match) or
 * else a part of the line. Returns the line, NULL if it does not come. */
const char *process_await(Process *process, const char *text);
/* TRUE if such a line has come since the start, whether waited for or not. */
gboolean process_has_said(Process *process, const char *text);
/* How many such lines have come. */
guint process_count(Process *process, const char *text);
/* The next wait begins with what comes from now on. */
void process_mark(Process *process);

/* Waits for the end. FALSE if it does not come. The status is the exit status, or
 * 128 + signal. */
gboolean process_await_exit(Process *process, int *ret_status);
/* The same with a deadline of the caller's. */
gboolean process_await_exit_within(Process *process, guint limit_ms, int *ret_status);
void process_signal(Process *process, int number);
pid_t process_pid(const Process *process);

/* Everything that was written so far, for messages. */
char *process_output(Process *process);
