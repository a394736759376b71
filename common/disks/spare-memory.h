/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/machine/memory-state.h"

/*
 * SpareMemory - whether a pass may leave more of its pages in the page cache.
 *
 * Free memory is close to zero on a machine that has run for a day: the page cache fills it with files that were read
 * once.  The kernel gives these inactive pages up first, the oldest before the pass's own.  So they are spare, but
 * without those that
 *
 * - the pass keeps already,
 * - are dirty,
 * - keep the kernel from taking active pages, which it begins when the inactive list is much shorter than the active one.
 *
 * With the multi-generational LRU, the kernel does not tell which pages were read once (MemoryState).  So only free
 * memory is spare there, without 128 MiB for the pass itself.
 *
 * A pass does not use an eighth of the memory.  The same holds for each limit of a control group
 * around the process.
 *
 * Thread: any.
 */

/* Whether more may be kept in addition to @kept_bytes, which are in the page cache. */
bool spare_memory_allows(const MemoryState *state, uint64_t kept_bytes);

/* The same, of this machine now.  False also while processes wait for memory. */
bool spare_memory_is_there(uint64_t kept_bytes);
