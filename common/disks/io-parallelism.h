/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/disks/disk-table.h"

/*
 * IoParallelism - how many threads of a pass use the disks at a time.
 *
 * A rotating disk loses most of its time to seeks as soon as two threads read from it.  A solid-state disk wants
 * several requests at a time.  So does comparing, if there are several processors.
 *
 * Thread: the filesystem's worker.
 */
typedef struct {
	bool is_rotating;   /* one of the disks is */
	unsigned n_readers; /* threads that read data through the page cache, at least 1 */
	unsigned n_sharers; /* threads that deduplicate, at least 1 */
} IoParallelism;

/*
 * For the filesystem on which @fd is.  @threads: as many, whatever its disks are; SETTINGS_THREADS_AUTO: as many as
 * suit them.
 */
IoParallelism io_parallelism_of(DiskTable *table, int fd, uint32_t threads);
