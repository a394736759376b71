/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdint.h>

/*
 * DiskSettings - what one disk may be asked for, as the configuration has it.
 *
 * Thread: any.
 */
typedef enum {
	PRESSURE_AUTO, /* the service does, since nobody waits for it */
	PRESSURE_ON,   /* back off when others wait for the disk */
	PRESSURE_OFF,
} PressurePolicy;

typedef enum {
	ROTATING_AUTO, /* as the kernel says */
	ROTATING_YES,
	ROTATING_NO,
} RotatingPolicy;

typedef struct {
	uint64_t read_rate_bytes; /* per second; 0: no limit */
	uint32_t read_iops;       /* 0: no limit */
	PressurePolicy pressure;
	RotatingPolicy rotating;
} DiskSettings;
