/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * DiskPressure - the rate that a pass may have on a disk that others use, too.  It grows while the disk is
 * idle apart from the pass, or has time for both.  It falls to a quarter when others have to wait (AIMD:
 * additive increase, multiplicative decrease).
 *
 * Others wait if the disk had more I/O than that of the pass, and was busy for most of the time.
 * /proc/pressure/io is of no use, as it counts the pass's own waiting for its reads.
 *
 * Pure.  Thread: the owner's.
 */
typedef struct {
	double rate_bytes;      /* per second; 0: no limit */
	uint64_t balance_bytes; /* charged to the pass and not seen on the disk yet */
	unsigned n_idle;        /* consecutive looks at which nobody else used the disk */
	unsigned n_looks;       /* since the start, up to the number of fast ones */
} DiskPressure;

/* The changes since the last look. */
typedef struct {
	int64_t usec;       /* above 0 */
	uint64_t own_bytes; /* charged to passes, before they read it */
	uint64_t all_bytes; /* read and written by the disk */
	int64_t busy_usec;  /* time in which the disk was busy */
} PressureSample;

#define DISK_PRESSURE_LOOK_USEC       100000
#define DISK_PRESSURE_FIRST_LOOK_USEC 25000 /* of a pass that has just begun */
#define DISK_PRESSURE_FLOOR_BYTES     (UINT64_C(1) << 20)

/* Begin at the floor: the load of the disk is not known. */
void disk_pressure_begin(DiskPressure *pressure);

/* The time from a look to the next one. */
int64_t disk_pressure_next_look_usec(const DiskPressure *pressure);

/* The new rate in bytes per second; 0: no limit. */
uint64_t disk_pressure_look(DiskPressure *pressure, const PressureSample *sample);

/*
 * Like disk_pressure_look(), after a time without looks, in which the pass computed.  If others did nothing in
 * that time, and it was short enough to tell, the pass continues at its rate; else it begins again.
 */
uint64_t disk_pressure_resume(DiskPressure *pressure, const PressureSample *sample);
