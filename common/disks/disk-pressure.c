/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/disks/disk-pressure.h"

#include <glib.h>

#define FLOOR ((double)DISK_PRESSURE_FLOOR_BYTES)

/* A disk that is busy for half of the time makes others wait. */
#define BUSY_SHARE 0.5

/* Nobody notices this rate per second: a few blocks of a journal. */
#define UNNOTICED_BYTES (160.0 * 1024)

/*
 * The limit of the balance.  Charged I/O may reach the disk later, go to another disk of the filesystem, or be
 * cached after all.  At most this much of later I/O then counts as ours.
 */
#define BALANCE_BYTES (UINT64_C(8) << 20)

/* One idle look may fall between two requests of others. */
#define IDLE_LOOKS 2

/* The longest time over which noticeable work of others shows. */
#define RESUME_USEC (5 * G_USEC_PER_SEC)

/* These first looks come fast: on an idle disk, the floor wastes time. */
#define FIRST_LOOKS 4

#define DECREASE      4
#define IDLE_INCREASE 64
#define INCREASE      (4.0 * (1 << 20)) /* per second, in a second */

void disk_pressure_begin(DiskPressure *pressure)
{
	*pressure = (DiskPressure){ .rate_bytes = FLOOR };
}

int64_t disk_pressure_next_look_usec(const DiskPressure *pressure)
{
	return pressure->n_looks < FIRST_LOOKS ? DISK_PRESSURE_FIRST_LOOK_USEC
					       : DISK_PRESSURE_LOOK_USEC;
}

/* The bytes of others: those of the disk, less ours. */
static uint64_t take_foreign(DiskPressure *pressure, const PressureSample *sample)
{
	uint64_t ours = pressure->balance_bytes + sample->own_bytes;
	uint64_t most = MAX(BALANCE_BYTES, sample->own_bytes);

	pressure->balance_bytes = 0;
	if (ours < sample->all_bytes)
		return sample->all_bytes - ours;

	pressure->balance_bytes = MIN(ours - sample->all_bytes, most);
	return 0;
}

static void back_off(DiskPressure *pressure, double own_rate)
{
	double rate = pressure->rate_bytes > 0 ? MIN(pressure->rate_bytes, MAX(own_rate, FLOOR))
					       : own_rate;

	pressure->n_idle = 0;
	pressure->rate_bytes = MAX(rate / DECREASE, FLOOR);
}

/* A limit that is not reached is removed. */
static void speed_up(DiskPressure *pressure, double own_rate)
{
	if (++pressure->n_idle < IDLE_LOOKS || pressure->rate_bytes == 0)
		return;

	if (own_rate < pressure->rate_bytes / 2 && pressure->rate_bytes > FLOOR)
		pressure->rate_bytes = 0;
	else
		pressure->rate_bytes *= IDLE_INCREASE;
}

uint64_t disk_pressure_resume(DiskPressure *pressure, const PressureSample *sample)
{
	double seconds = (double)sample->usec / G_USEC_PER_SEC;

	if (sample->usec > RESUME_USEC ||
	    (double)take_foreign(pressure, sample) / seconds >= UNNOTICED_BYTES)
		disk_pressure_begin(pressure);

	return (uint64_t)pressure->rate_bytes;
}

uint64_t disk_pressure_look(DiskPressure *pressure, const PressureSample *sample)
{
	double seconds = (double)sample->usec / G_USEC_PER_SEC;
	double own_rate = (double)sample->own_bytes / seconds;
	double foreign_rate = (double)take_foreign(pressure, sample) / seconds;

	pressure->n_looks = MIN(pressure->n_looks + 1, FIRST_LOOKS);
	if (foreign_rate < UNNOTICED_BYTES) {
		speed_up(pressure, own_rate);
	} else if ((double)sample->busy_usec > BUSY_SHARE * (double)sample->usec) {
		back_off(pressure, own_rate);
	} else {
		pressure->n_idle = 0;
		if (pressure->rate_bytes > 0)
			pressure->rate_bytes += INCREASE * seconds;
	}

	return (uint64_t)pressure->rate_bytes;
}
