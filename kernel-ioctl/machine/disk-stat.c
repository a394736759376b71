/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/machine/disk-stat.h"

#include <glib.h>

/* The unit of the counters, whatever the disk's sector size. */
#define SECTOR_BYTES 512

enum {
	READS,
	READS_MERGED,
	READ_SECTORS,
	READ_MSEC,
	WRITES,
	WRITES_MERGED,
	WRITE_SECTORS,
	WRITE_MSEC,
	IN_FLIGHT,
	BUSY_MSEC,
	N_FIELDS, /* in all kernels */
};

bool disk_stat_parse(const char *text, DiskStat *ret)
{
	uint64_t fields[N_FIELDS];

	for (unsigned i = 0; i < N_FIELDS; i++) {
		char *end;

		fields[i] = g_ascii_strtoull(text, &end, 10);
		if (end == text)
			return false;
		text = end;
	}

	*ret = (DiskStat){
		.reads = fields[READS],
		.read_bytes = fields[READ_SECTORS] * SECTOR_BYTES,
		.read_msec = fields[READ_MSEC],
		.writes = fields[WRITES],
		.write_bytes = fields[WRITE_SECTORS] * SECTOR_BYTES,
		.write_msec = fields[WRITE_MSEC],
		.in_flight = fields[IN_FLIGHT],
		.busy_msec = fields[BUSY_MSEC],
	};
	return true;
}

bool disk_stat_read(const char *path, DiskStat *ret)
{
	g_autofree char *text = NULL;

	return g_file_get_contents(path, &text, NULL, NULL) && disk_stat_parse(text, ret);
}
