/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * PageCache - the cached pages of one open file: count, fetch, drop.
 *
 * Thread: any.
 */

/*
 * Bytes of [@offset, @offset + @length) in the page cache, by cachestat(2) (kernel 6.5), else by mincore(2)
 * over a mapping.  0 if neither can tell.
 */
uint64_t page_cache_resident_bytes(int fd, uint64_t offset, uint64_t length);

/* Call cachestat(2) on @fd: 0, or an errno value; ENOSYS if the kernel lacks it. */
int page_cache_try_cachestat(int fd);

/*
 * Start reading the range into the page cache without waiting (POSIX_FADV_WILLNEED).  The calls are for 1 MiB
 * each: the kernel's readahead limit shortens longer ones.
 */
void page_cache_fetch(int fd, uint64_t offset, uint64_t length);

/*
 * Drop the clean pages of the range (POSIX_FADV_DONTNEED).  On XFS a large folio that reaches over an end of
 * the range stays: dropping each piece after reading it leaves up to 78 %.  So drop from the start of the
 * file, windows of 16 MiB, or the whole file.
 */
void page_cache_drop(int fd, uint64_t offset, uint64_t length);
