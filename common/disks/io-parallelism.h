/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/disks/disk-table.h"

/*
 * IoParallelism - how many threads of a pass use the disks at a time.
 *
 * A rotating disk loses most of its time to seeks as soon as two threads read from it.  A solid-state disk wants
 * several requests at a time.  So does comparing, if there are several processors.
 *
 * A thread that deduplicates compares up to 16 MiB of two files from the page cache.  In little memory, several threads
 * displace each other's pages.  So there is at most one for each 128 MiB.
 *
 * Thread: the filesystem's worker.
 */
typedef struct {
	bool is_rotating;   /* one of the disks is */
	unsigned n_readers; /* threads that read data through the page cache, at least 1 */
	unsigned n_sharers; /* threads that deduplicate, at least 1 */
} IoParallelism;

/*
 * @threads: as many, whatever the rest is; SETTINGS_THREADS_AUTO: as many as suit the disks, the processors, and the
 * memory that the process may use.
 */
IoParallelism io_parallelism_choose(uint32_t threads, bool is_rotating, unsigned n_processors,
				    uint64_t memory_bytes);

/* The same, for the filesystem on which @fd is, on this machine. */
IoParallelism io_parallelism_of(DiskTable *table, int fd, uint32_t threads);
