/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/settings.h"
#include "daemon/stamp.h"
#include "hashstore/objects.h"

/*
 * What the store knows of a file, beside what is seen of it now.
 *
 * Pure.  Thread: any.
 */

/* The stamp that the file had when it was read. */
Stamp known_file_stamp(const Object *known);

/*
 * Whether another file has got the inode's number, by a @generation that was seen; 0: it was not.
 */
bool known_file_is_other(const Object *known, uint32_t generation);

/*
 * Whether what is known still holds on day @today (days since 1970): STAMP_CHANGED if the file must be
 * read again, be it since it changed, or may have, or since @settings want something else of it.
 */
StampVerdict known_file_compare(const Object *known, const Stamp *seen, const Settings *settings,
				uint32_t today);
