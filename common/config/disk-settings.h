/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdint.h>

/*
 * DiskSettings - the configured limits of one disk.
 *
 * Thread: any.
 */
typedef enum {
	PRESSURE_AUTO, /* on in the service, off in other passes: nobody waits for the service */
	PRESSURE_ON,   /* slow down while others wait for the disk */
	PRESSURE_OFF,
} PressurePolicy;

typedef enum {
	ROTATING_AUTO, /* as the kernel reports */
	ROTATING_YES,
	ROTATING_NO,
} RotatingPolicy;

typedef struct {
	uint64_t read_rate_bytes; /* per second; 0: no limit */
	uint32_t read_iops;       /* 0: no limit */
	PressurePolicy pressure;
	RotatingPolicy rotating;
} DiskSettings;
