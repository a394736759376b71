/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/context/known-file.h"

#include "common/files/skip.h"
#include "daemon/context/rescan-backoff.h"

Stamp known_file_stamp(const Object *known)
{
	return (Stamp){ known->size_bytes, known->btime_nsec, known->mtime_nsec,
			known->ctime_nsec };
}

/* Whether the file was read, or skipped, under another policy. */
static bool is_out_of_policy(const Object *known, const Settings *settings)
{
	bool is_left = known->state == OBJECT_SKIPPED;

	if (settings->no_data_cow == NO_COW_SHARE)
		return is_left && known->skip_reason == SKIP_NO_COW;

	return !is_left && known->flags & OBJECT_NO_COW;
}

Stamp known_file_present_stamp(const FileStat *stat)
{
	return (Stamp){ stat->size_bytes, stat->btime_nsec, stat->mtime_nsec, stat->ctime_nsec };
}

bool known_file_is_other(const Object *known, uint32_t generation)
{
	return generation && known->generation && generation != known->generation;
}

/* Whether the settings require more of the file than was read. */
static bool is_read_too_little(const Object *known, const Settings *settings)
{
	return settings->read == READ_POLICY_ALL &&
	       (known->state == OBJECT_SEEN || known->flags & OBJECT_WHOLE);
}

/* The record of a half-read file is little, and may be wrong by now. */
static bool may_be_doubted(const Object *known)
{
	return known->state == OBJECT_DONE || known->state == OBJECT_SEEN;
}

/*
 * Whether the file was skipped because it changed, or while it was read: then the store knows nothing of its data.
 * The same goes for a reason of another version.
 */
static bool is_left_for_a_time(const Object *known)
{
	return known->state == OBJECT_SKIPPED && (!skip_reason_is_known(known->skip_reason) ||
						  skip_may_pass((SkipReason)known->skip_reason));
}

static bool has_changed(const Object *known, const Stamp *seen)
{
	Stamp stored = known_file_stamp(known);

	return stamp_compare(&stored, seen) != STAMP_SAME;
}

uint32_t known_file_changes(const Object *known, const Stamp *seen)
{
	/* The inode number belongs to another file now. */
	if (known->btime_nsec != seen->btime_nsec)
		return 0;

	return known->changes + (known->changes < UINT32_MAX && has_changed(known, seen));
}

bool known_file_waits(const Object *known, const Stamp *seen, const Settings *settings,
		      uint64_t now_sec)
{
	return settings->changing == CHANGING_WAIT && known->btime_nsec == seen->btime_nsec &&
	       has_changed(known, seen) &&
	       rescan_backoff_waits(known->changes, known->changed_sec, now_sec);
}

bool known_file_has_settled(const Object *known, uint64_t now_sec)
{
	return known->state != OBJECT_SKIPPED && known->changes >= RESCAN_BACKOFF_FREE_CHANGES &&
	       !rescan_backoff_waits(known->changes, known->changed_sec, now_sec);
}

StampVerdict known_file_compare(const Object *known, const Stamp *seen, const Settings *settings,
				uint32_t today)
{
	Stamp stored = known_file_stamp(known);
	StampVerdict verdict = stamp_compare(&stored, seen);

	if (known->flags & OBJECT_RACY || is_left_for_a_time(known) ||
	    (verdict == STAMP_DOUBTED && !may_be_doubted(known)) ||
	    stamp_recheck_is_due(known->doubted_day, today, known->id) ||
	    is_out_of_policy(known, settings) || is_read_too_little(known, settings))
		return STAMP_CHANGED;

	return verdict;
}
