/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/pinned/extent-pin.h"

static PinCause cause_of(SkipReason reason)
{
	switch (reason) {
	case SKIP_PINNED:
		return PIN_UNFIT_SOURCES;
	case SKIP_READ_ONLY_SNAPSHOT:
		return PIN_READ_ONLY_SNAPSHOT;
	case SKIP_IMMUTABLE:
		return PIN_IMMUTABLE;
	case SKIP_PIECES:
		return PIN_PIECES;
	case SKIP_METADATA:
		return PIN_METADATA;
	default:
		return PIN_NONE;
	}
}

ExtentPin extent_pin_kept(const ExtentRef *place, size_t n_places, SkipReason reason)
{
	return (ExtentPin){ .cause = cause_of(reason), .place = *place, .places = n_places };
}

static uint64_t overlap(const ExtentRef *place, uint64_t first, uint64_t end)
{
	uint64_t low = MAX(first, place->position);
	uint64_t high = MIN(end, place->position + place->length);

	return high > low ? high - low : 0;
}

/* The bytes that @place references and @cover lacks. */
static uint64_t uncovered_bytes(const ExtentRef *place, const ExtentCover *cover,
				uint32_t block_bytes)
{
	uint64_t bytes = 0, first, end = 0;

	if (!cover)
		return place->length;

	while (extent_cover_gap(cover, end, &first, &end))
		bytes += overlap(place, first * block_bytes, end * block_bytes);
	return bytes;
}

ExtentPin extent_pin_uncovered(const ExtentRef *places, size_t n_places, const ExtentCover *cover,
			       uint32_t block_bytes, SkipReason reason)
{
	ExtentPin pin = { .places = n_places };

	for (size_t i = 0; i < n_places; i++) {
		uint64_t bytes = uncovered_bytes(&places[i], cover, block_bytes);

		if (bytes <= pin.uncovered_bytes)
			continue;
		pin.uncovered_bytes = bytes;
		pin.place = places[i];
	}

	pin.cause = pin.place.is_deleted ? PIN_DELETED_FILE : PIN_UNCOVERED;
	if (reason == SKIP_NEEDS_READING)
		pin.cause = PIN_NEEDS_READING;
	else if (reason == SKIP_KEEP_ZEROS)
		pin.cause = PIN_KEEP_ZEROS;
	return pin;
}

ExtentPin extent_pin_unseen(const ExtentRefs *refs)
{
	static const PinCause causes[] = {
		[EXTENT_UNSEEN_NONE] = PIN_NONE,
		[EXTENT_UNSEEN_MORE] = PIN_TOO_COSTLY,
		[EXTENT_UNSEEN_RESERVED] = PIN_RESERVED,
		[EXTENT_UNSEEN_DELETED] = PIN_DELETED_SUBVOLUME,
	};
	ExtentPin pin = { 0 };

	pin.cause = causes[extent_refs_unseen(refs, &pin.place, &pin.places)];
	return pin;
}
