/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * RescanBackoff - how often to read a file that was found changed each time.
 *
 * The next pass reads the first changes.  Then the pass defers the file for an hour after it was read, and twice as
 * long after each further change, up to a week.  So a file that is written to for ever is read in vain once a week.
 * One that settles down is read a week later at the latest.
 *
 * Pure.  Thread: any.
 */
#define RESCAN_BACKOFF_FREE_CHANGES UINT32_C(3)
#define RESCAN_BACKOFF_FIRST_SEC    UINT64_C(3600)
#define RESCAN_BACKOFF_MOST_SEC     (UINT64_C(7) * 86400)

/* How long the file is deferred after the last of @changes changes in a row was found. */
uint64_t rescan_backoff_wait_sec(uint32_t changes);

/*
 * Whether the file is still deferred at @now_sec.  The last change was found at @changed_sec; both are seconds
 * since 1970.  Not if the clock was set back.
 */
bool rescan_backoff_waits(uint32_t changes, uint64_t changed_sec, uint64_t now_sec);
