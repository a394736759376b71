/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/config/settings.h"
#include "common/files/stamp.h"
#include "hashstore/objects/objects.h"
#include "kernel-ioctl/file/file-stat.h"

/*
 * The store's record of a file, compared with the file's present state.
 *
 * Pure.  Thread: any.
 */

/* The stamp that the file had when it was read. */
Stamp known_file_stamp(const Object *known);

/* The stamp of a file as it is now. */
Stamp known_file_present_stamp(const FileStat *stat);

/* Whether the inode's number belongs to another file now, by a @generation that was seen; 0: it was not. */
bool known_file_is_other(const Object *known, uint32_t generation);

/*
 * How many times in a row the file was found changed, this one included, if it is read now.
 */
uint32_t known_file_changes(const Object *known, const Stamp *seen);

/*
 * Whether a file that has to be read is still deferred at @now_sec (since 1970), because it changes all the time.
 */
bool known_file_waits(const Object *known, const Stamp *seen, const Settings *settings,
		      uint64_t now_sec);

/*
 * Whether to record that the file, which was found unchanged, has settled down.  It has if it stayed unchanged for
 * as long as a change would have deferred it.
 */
bool known_file_has_settled(const Object *known, uint64_t now_sec);

/*
 * Whether the record still holds on day @today (days since 1970).  STAMP_CHANGED if the file must be read again:
 * it changed, or may have changed, or @settings require other data of it.
 */
StampVerdict known_file_compare(const Object *known, const Stamp *seen, const Settings *settings,
				uint32_t today);
