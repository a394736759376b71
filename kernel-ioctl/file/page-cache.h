/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * The page cache of one open file: what is there, fetch it, drop it.
 *
 * Thread: any.
 */

/*
 * Bytes of [@offset, @offset + @length) that are in the page cache: cachestat(2) (kernel 6.5), else
 * mincore(2) over a mapping.  Where neither can say, 0.
 */
uint64_t page_cache_resident_bytes(int fd, uint64_t offset, uint64_t length);

/* Ask cachestat(2) of @fd: 0, or an errno; ENOSYS where the kernel lacks it. */
int page_cache_try_cachestat(int fd);

/*
 * Start reading the range into the page cache without waiting (POSIX_FADV_WILLNEED), in pieces of
 * 1 MiB: a larger one is cut off by the kernel's readahead limit.
 */
void page_cache_fetch(int fd, uint64_t offset, uint64_t length);

/*
 * Drop the clean pages of the range (POSIX_FADV_DONTNEED).  On XFS a large folio that reaches past
 * an end of the range stays, so dropping exactly the piece just read leaves up to 78 % of it: drop
 * from the start of the file, or windows of 16 MiB, or the whole file.
 */
void page_cache_drop(int fd, uint64_t offset, uint64_t length);
