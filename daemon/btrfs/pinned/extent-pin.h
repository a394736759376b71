/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/content/extent-cover.h"
#include "common/files/extent-refs.h"
#include "common/files/pin-cause.h"
#include "common/files/skip.h"

/*
 * ExtentPin - why one extent stays, and a place in a file that tells whether the cause still holds.
 *
 * If several places keep an extent, the pin names one: while that one does, the others do not matter.
 *
 * Pure.  Thread: any.
 */
typedef struct {
	PinCause cause;
	ExtentRef place;            /* root 0: no single one */
	uint64_t uncovered_bytes;   /* that its file references */
	uint64_t places;            /* references to the extent, as far as they were counted */
	uint64_t affordable_places; /* PIN_TOO_COSTLY: so many would be shared */
} ExtentPin;

/* Pinned by @place, one of @n_places, which cannot be redirected for @reason. */
ExtentPin extent_pin_kept(const ExtentRef *place, size_t n_places, SkipReason reason);

/*
 * Pinned because some of @places reference blocks that @cover lacks, for @reason.  The pin names the one with most
 * of them.  @cover NULL: nothing is covered, as for compressed extents.
 */
ExtentPin extent_pin_uncovered(const ExtentRef *places, size_t n_places, const ExtentCover *cover,
			       uint32_t block_bytes, SkipReason reason);

/* Pinned because some references could not be looked at; @refs tells why. */
ExtentPin extent_pin_unseen(const ExtentRefs *refs);
