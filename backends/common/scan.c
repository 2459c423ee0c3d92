/* SPDX-License-Identifier: Apache-2.0 */
#include "common/scan.h"

int scan_begin(struct scan *scan, struct sysfs *sysfs)
{
	sysfs_begin_reads();
	sysfs_open_again(sysfs);
	*scan = (struct scan){.sysfs = sysfs};
	return class_index_read(sysfs, &scan->arena, &scan->index);
}

int scan_end(struct scan *scan, int result)
{
	arena_free(&scan->arena);
	return result == 0 ? sysfs_end_reads() : result;
}
