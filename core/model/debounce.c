/* SPDX-License-Identifier: Apache-2.0 */
#include "model/debounce.h"

#define MS G_GINT64_CONSTANT(1000)
#define QUIET_US (100 * MS)
#define LIMIT_US (1000 * MS)

static const gint64 follow_us[] = {1000 * MS, 5000 * MS, 30000 * MS};

gboolean debounce_note(struct debounce *debounce, gboolean follow, gint64 now_us)
{
	gboolean is_first = debounce->first_us == 0;

	if (is_first)
		debounce->first_us = now_us;
	debounce->last_us = now_us;
	if (follow) {
		debounce->followed_us = now_us;
		debounce->n_followed = 0;
	}
	return is_first;
}

static gint64 due_of_burst(const struct debounce *debounce)
{
	return debounce->first_us == 0
		       ? -1
		       : MIN(debounce->last_us + QUIET_US, debounce->first_us + LIMIT_US);
}

static gint64 due_of_follower(const struct debounce *debounce)
{
	return debounce->followed_us == 0 ? -1
					  : debounce->followed_us + follow_us[debounce->n_followed];
}

gint64 debounce_due(const struct debounce *debounce)
{
	gint64 burst = due_of_burst(debounce);
	gint64 follower = due_of_follower(debounce);

	return burst < 0 || follower < 0 ? MAX(burst, follower) : MIN(burst, follower);
}

gboolean debounce_take(struct debounce *debounce, gint64 now_us)
{
	gint64 burst = due_of_burst(debounce);
	gint64 follower = due_of_follower(debounce);
	gboolean is_due = FALSE;

	if (burst >= 0 && now_us >= burst) {
		debounce->first_us = debounce->last_us = 0;
		is_due = TRUE;
	}
	if (follower >= 0 && now_us >= follower) {
		debounce->n_followed++;
		if (debounce->n_followed == G_N_ELEMENTS(follow_us))
			debounce->followed_us = 0;
		is_due = TRUE;
	}
	return is_due;
}
