/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Hot pieces - which MiB of a stretch of a file, of 32 MiB at most, are in the page cache: one bit each,
 * the lowest for the first.
 *
 * A piece of which half is cached counts.
 *
 * Thread: any.
 */
#define HOT_PIECE_BYTES (UINT64_C(1) << 20)

/* Those of [@start, @start + @length), which begins with a piece. */
uint32_t cached_ranges_look(int fd, uint64_t start, uint64_t length);

/* Bytes of the pieces @hot of a stretch of @length bytes. */
uint64_t cached_ranges_bytes(uint32_t hot, uint64_t length);

/* Drop all pieces but @hot out of the cache. */
void cached_ranges_drop_others(int fd, uint64_t start, uint64_t length, uint32_t hot);

/*
 * Start reading what of the pieces @hot is not in the cache, between @first and @end, without waiting.
 * Returns how much that is; with @only_count that is all it does.
 */
uint64_t cached_ranges_fetch(int fd, uint64_t start, uint32_t hot, uint64_t first, uint64_t end,
			     bool only_count);
