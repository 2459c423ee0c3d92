/* SPDX-License-Identifier: Apache-2.0 */
/* stderr goes to memory for a while, to see what is logged. */
#pragma once

void capture_start(void);
/* What was written since the start; free it. */
char *capture_stop(void);
