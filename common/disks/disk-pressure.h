/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * DiskPressure - how much a pass may ask of a disk that others use too: more and more while it is
 * idle but for the pass, or has time left for both, a quarter at once when others have to wait
 * (AIMD: additive increase, multiplicative decrease).
 *
 * Others wait when the disk was asked for more than the pass asked, and had something to do most of
 * the time.  The stall times of /proc/pressure/io say nothing here: they count the pass's own waiting for its
 * reads.
 *
 * Pure.  Thread: whoever owns it.
 */
typedef struct {
	double rate_bytes;      /* per second; 0: no limit */
	uint64_t balance_bytes; /* charged to the pass and not seen on the disk yet */
	unsigned n_idle;        /* looks in a row at which nobody else used the disk */
	unsigned n_looks;       /* since it began, as far as they count */
} DiskPressure;

/* What happened since the last look. */
typedef struct {
	int64_t usec;       /* above 0 */
	uint64_t own_bytes; /* charged to passes, at the latest when they were asked for */
	uint64_t all_bytes; /* that the disk read and wrote */
	int64_t busy_usec;  /* in which the disk had something to do */
} PressureSample;

#define DISK_PRESSURE_LOOK_USEC       100000
#define DISK_PRESSURE_FIRST_LOOK_USEC 25000 /* of a pass that has just begun */
#define DISK_PRESSURE_FLOOR_BYTES     (UINT64_C(1) << 20)

/* A pass begins at the floor, since who knows what goes on. */
void disk_pressure_begin(DiskPressure *pressure);

/* How long after a look the next one is due. */
int64_t disk_pressure_next_look_usec(const DiskPressure *pressure);

/* The rate from now on, in bytes per second; 0: no limit. */
uint64_t disk_pressure_look(DiskPressure *pressure, const PressureSample *sample);

/*
 * The same after a while in which nobody looked, as the pass was computing.  If others did nothing in
 * all that time, which must not be so long that their beginning would not show, the pass goes on as it
 * was; else it begins anew.
 */
uint64_t disk_pressure_resume(DiskPressure *pressure, const PressureSample *sample);
