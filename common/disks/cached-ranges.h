/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * CachedRanges - which MiB of a range of at most 32 MiB are in the page cache.  The result has one bit per
 * piece of 1 MiB, the lowest for the first.
 *
 * A piece counts as cached if half of it is.
 *
 * Thread: any.
 */
#define HOT_PIECE_BYTES (UINT64_C(1) << 20)

/* The cached pieces of [@start, @start + @length), which begins with a piece. */
uint32_t cached_ranges_look(int fd, uint64_t start, uint64_t length);

/* The bytes of the pieces @hot in a range of @length bytes. */
uint64_t cached_ranges_bytes(uint32_t hot, uint64_t length);

/* Drop all pieces except @hot from the cache. */
void cached_ranges_drop_others(int fd, uint64_t start, uint64_t length, uint32_t hot);

/*
 * Start reading the uncached data of the pieces @hot between @first and @end, without waiting.  Returns its
 * size.  With @only_count it reads nothing.
 */
uint64_t cached_ranges_fetch(int fd, uint64_t start, uint32_t hot, uint64_t first, uint64_t end,
			     bool only_count);
