/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/disks/cached-ranges.h"

#include "kernel-ioctl/file/page-cache.h"

#include <glib.h>

#define PIECES_MAX 32

static unsigned n_pieces(uint64_t length)
{
	unsigned n = (unsigned)((length + HOT_PIECE_BYTES - 1) / HOT_PIECE_BYTES);

	g_assert(n <= PIECES_MAX);
	return n;
}

static uint64_t piece_length(uint64_t length, unsigned piece)
{
	return MIN(length - piece * HOT_PIECE_BYTES, HOT_PIECE_BYTES);
}

static bool is_hot(uint32_t hot, unsigned piece)
{
	return hot & (UINT32_C(1) << piece);
}

uint32_t cached_ranges_look(int fd, uint64_t start, uint64_t length)
{
	uint64_t resident = page_cache_resident_bytes(fd, start, length);
	uint32_t hot = 0;

	/* Most ranges are cached as a whole or not at all. */
	for (unsigned i = 0; resident > 0 && i < n_pieces(length); i++) {
		uint64_t bytes = piece_length(length, i);

		if (resident >= length || page_cache_resident_bytes(fd, start + i * HOT_PIECE_BYTES,
								    bytes) >= (bytes + 1) / 2)
			hot |= UINT32_C(1) << i;
	}

	return hot;
}

uint64_t cached_ranges_bytes(uint32_t hot, uint64_t length)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < n_pieces(length); i++)
		bytes += is_hot(hot, i) ? piece_length(length, i) : 0;
	return bytes;
}

void cached_ranges_drop_others(int fd, uint64_t start, uint64_t length, uint32_t hot)
{
	unsigned n = n_pieces(length);
	unsigned end;

	/* Drop adjacent pieces together: XFS has folios that cross the bounds of pieces. */
	for (unsigned first = 0; first < n; first = end) {
		end = first + 1;
		if (is_hot(hot, first))
			continue;
		while (end < n && !is_hot(hot, end))
			end++;
		page_cache_drop(fd, start + first * HOT_PIECE_BYTES,
				(end - first) * HOT_PIECE_BYTES);
	}
}

uint64_t cached_ranges_fetch(int fd, uint64_t start, uint32_t hot, uint64_t first, uint64_t end,
			     bool only_count)
{
	uint64_t absent = 0;

	for (unsigned i = 0; i < PIECES_MAX; i++) {
		uint64_t from = MAX(first, start + i * HOT_PIECE_BYTES);
		uint64_t to = MIN(end, start + (i + 1) * HOT_PIECE_BYTES);
		uint64_t resident;

		if (from >= to || !is_hot(hot, i))
			continue;

		resident = page_cache_resident_bytes(fd, from, to - from);
		if (resident >= to - from)
			continue;
		absent += to - from - resident;
		if (!only_count)
			page_cache_fetch(fd, from, to - from);
	}

	return absent;
}
