/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * RescanBackoff - how often a file is read that was found changed each time that it was looked at.
 *
 * The first changes are read by the next pass.  Then the file is left alone for an hour after it was
 * read, and twice as long after each further change, up to a week: so one that is written to for ever
 * is read for nothing once a week, and one that settles down is read a week later at the latest.
 *
 * Pure.  Thread: any.
 */
#define RESCAN_BACKOFF_FREE_CHANGES UINT32_C(3)
#define RESCAN_BACKOFF_FIRST_SEC    UINT64_C(3600)
#define RESCAN_BACKOFF_MOST_SEC     (UINT64_C(7) * 86400)

/* How long it is left alone after the last of so many changes in a row was met. */
uint64_t rescan_backoff_wait_sec(uint32_t changes);

/*
 * Whether it is left alone still at @now_sec, seconds since 1970 as @changed_sec, when the last of the
 * changes was met.  Not if the clock was set back.
 */
bool rescan_backoff_waits(uint32_t changes, uint64_t changed_sec, uint64_t now_sec);
