/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * DiskStat - the I/O of a block device since it appeared, by all programs (Documentation/block/stat.rst).
 *
 * The times are sums over requests, from queueing to completion.  Counters may wrap, so use only differences.
 *
 * Thread: any.
 */
typedef struct {
	uint64_t reads; /* requests, after merging */
	uint64_t read_bytes;
	uint64_t read_msec;
	uint64_t writes;
	uint64_t write_bytes;
	uint64_t write_msec;
	uint64_t in_flight; /* now */
	uint64_t busy_msec; /* while any request was in flight */
} DiskStat;

/* False if the disk is gone or the text is malformed. */
bool disk_stat_read(const char *path, DiskStat *ret);

/* Parse the text of such a file. */
bool disk_stat_parse(const char *text, DiskStat *ret);
