/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/files/pin-cause.h"
#include "common/files/skip.h"

/*
 * Advice - why an extent or a file is left, and what would change that, in words for an administrator.
 *
 * Each text is "cause; remedy".  A remedy names the setting of dedupd.conf(5), if there is one.
 *
 * Pure.  Thread: any.
 */

/* Advice for an extent that is pinned for @cause; NULL for PIN_NONE and unknown causes. */
const char *advice_of_pin(PinCause cause);

/* Advice for data that was skipped for @reason; NULL for an unknown reason. */
const char *advice_of_skip(SkipReason reason);

/*
 * The same for @bytes whose deduplication would compare @costly_bytes; 0: not known.  To be freed with
 * g_free().
 */
char *advice_of_costs(SkipReason reason, uint64_t bytes, uint64_t costly_bytes);

/*
 * Advice for @n extents that stay for one cause.  @uncovered_bytes of them exist nowhere else, and each has at
 * most @places references.  @by is the escaped path of the file that keeps them, or NULL.  To be freed with
 * g_free().
 */
char *advice_of_extents(PinCause cause, uint64_t n, uint64_t uncovered_bytes, uint64_t places,
			const char *by);

/*
 * The same for extents of @bytes that the file in question keeps itself; NULL: no more to say.  To be freed
 * with g_free().
 */
char *advice_of_own_extents(PinCause cause, uint64_t n, uint64_t uncovered_bytes, uint64_t bytes);
