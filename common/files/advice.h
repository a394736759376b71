/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/files/pin-cause.h"
#include "common/files/skip.h"

/*
 * Advice - why something is left, and what would change that, in words for an administrator.
 *
 * Each text is "cause; remedy".  A remedy names the setting of dedupd.conf(5) if there is one.
 *
 * Pure.  Thread: any.
 */

/* Of an extent that is pinned for @cause; NULL for PIN_NONE and what this version does not know. */
const char *advice_of_pin(PinCause cause);

/* Of what was left alone for @reason; NULL for a reason that this version does not know. */
const char *advice_of_skip(SkipReason reason);

/*
 * The same of @bytes for which @costly_bytes would have to be compared; 0: not known.  To be freed with
 * g_free().
 */
char *advice_of_costs(SkipReason reason, uint64_t bytes, uint64_t costly_bytes);

/*
 * Why @n extents stay for one cause, of which @uncovered_bytes exist nowhere else and each of which @places
 * show at most.  @by is the path of the file that keeps them, escaped, or NULL.  To be freed with g_free().
 */
char *advice_of_extents(PinCause cause, uint64_t n, uint64_t uncovered_bytes, uint64_t places,
			const char *by);

/*
 * The same of extents that the file that was asked about keeps itself, which take @bytes; NULL: there is no more to
 * say of them.
 */
char *advice_of_own_extents(PinCause cause, uint64_t n, uint64_t uncovered_bytes, uint64_t bytes);
