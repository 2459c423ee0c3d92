/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tells one device from another, a GUID or the number of a sub-function, may be
 * unreadable for a moment: while a driver goes or comes, or when two show the same. The
 * device is then reported by its id, and must not become another one by that.
 */
#pragma once

#include <glib.h>

enum identity_kin {
	IDENTITY_OTHER, /* nothing says that they are the same device */
	IDENTITY_HIDDEN, /* the same: what it was known by is not to be seen now */
	IDENTITY_REVEALED, /* the same: only now there is more to see than its id */
};

/* Of a device that is reported with the id and the identity of which 'known' was the
 * identity when it last had this id. */
enum identity_kin identity_kin(const char *id, const char *known, const char *reported);
