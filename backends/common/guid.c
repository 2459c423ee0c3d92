/* SPDX-License-Identifier: Apache-2.0 */
#include "common/guid.h"

#include <string.h>

#include "common/text.h"

bool guid_read(struct sysfs *sysfs, const char *dir, const char *name, char guid[SYSFS_TEXT])
{
	if (!sysfs_read_in(sysfs, dir, name, guid))
		return false;
	if (text_is_guid(guid))
		return true;
	sysfs_say_once(sysfs, RDMADP_LOG_WARNING,
		       "'%s': attribute '%s' is '%s', no GUID: it is known by its name meanwhile",
		       strrchr(dir, '/') + 1, name, guid);
	return false;
}
