/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for conditions: tests never sleep for luck. */
#pragma once

#include <glib.h>

/* Long enough for any machine; only a test that fails waits for so long. */
#define TEST_WAIT_MS 60000

typedef gboolean (*test_condition_fn)(gpointer data);

/* Runs the thread-default main context until the condition is met. It is looked at
 * after each round of the loop and every few milliseconds. Aborts the program after
 * TEST_WAIT_MS. */
void test_wait(test_condition_fn condition, gpointer data);
