/* SPDX-License-Identifier: Apache-2.0 */
#include "common/scan.h"

int scan_begin(struct scan *scan, struct sysfs *sysfs)
{
	sysfs_open_again(sysfs);
	*scan = (struct scan){.sysfs = sysfs};
	return class_index_read(sysfs, &scan->arena, &scan->index);
}

void scan_end(struct scan *scan)
{
	arena_free(&scan->arena);
}
