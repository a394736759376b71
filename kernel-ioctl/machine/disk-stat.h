/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * DiskStat - what a block device has done since it was there, for everybody
 * (Documentation/block/stat.rst).
 *
 * The times are sums over requests, from when each was queued to when it was done.  Counters may
 * wrap: only differences count.
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
	uint64_t busy_msec; /* in which any was in flight */
} DiskStat;

/* False if the disk is gone, or the text is none that this knows. */
bool disk_stat_read(const char *path, DiskStat *ret);

/* The same from the text of such a file. */
bool disk_stat_parse(const char *text, DiskStat *ret);
