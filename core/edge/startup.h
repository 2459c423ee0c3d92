/* SPDX-License-Identifier: Apache-2.0 */
/* What a process inherits from whoever started it, made fit for a daemon. */
#pragma once

#include <glib.h>

/* Gives descriptors 0 to 2 a meaning where they are closed: else the next file that is
 * opened gets such a number, and the log is written into it. */
void startup_fill_descriptors(void);

/* What is made for others can be read by them, and written by none, whatever the umask of
 * who starts us. */
void startup_set_umask(void);

/* Raises the limit of open files to 'wanted', as far as that is allowed; never lowers
 * it. Returns the limit that holds now. */
guint64 startup_raise_descriptors(guint64 wanted);

/* Starts as many threads of the usual size at once as is possible now, at most 'wanted',
 * and lets them end. Returns their number; the error (a positive errno) is 0 if these are all. */
guint startup_probe_threads(guint wanted, int *ret_error);

/* The file of this program, so that it can be started again. */
char *startup_program(void);

/* How much of that limit is used up, in percent, as the number of the newest descriptor
 * shows: the kernel gives out the lowest that is free. */
guint startup_descriptors_used(int fd);
