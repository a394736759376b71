/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/disks/disk-pressure.h"

#include <glib.h>

#define MIB   (UINT64_C(1) << 20)
#define LOOK  DISK_PRESSURE_LOOK_USEC
#define FLOOR DISK_PRESSURE_FLOOR_BYTES

/* The load of a disk: bytes per second of a pass and of others. */
typedef struct {
	uint64_t own_bytes; /* wanted by the pass, per look */
	uint64_t foreign_bytes;
	unsigned busy_percent;
	unsigned n_looks;
} Phase;

/* The rate after @phase, in which the pass reads as much as it wants and may. */
static uint64_t go_through(DiskPressure *pressure, const Phase *phase)
{
	uint64_t rate = (uint64_t)pressure->rate_bytes;

	for (unsigned i = 0; i < phase->n_looks; i++) {
		uint64_t allowed = rate > 0 ? rate * LOOK / G_USEC_PER_SEC : UINT64_MAX;
		uint64_t own_bytes = MIN(phase->own_bytes, allowed);
		const PressureSample sample = {
			.usec = LOOK,
			.own_bytes = own_bytes,
			.all_bytes = own_bytes + phase->foreign_bytes,
			.busy_usec = (int64_t)LOOK * phase->busy_percent / 100,
		};

		rate = disk_pressure_look(pressure, &sample);
	}

	return rate;
}

static void test_a_pass_begins_slowly(void)
{
	DiskPressure pressure;

	disk_pressure_begin(&pressure);
	g_assert_cmpuint((uint64_t)pressure.rate_bytes, ==, FLOOR);
	g_assert_cmpuint(go_through(&pressure, &(Phase){ 50 * MIB, 0, 90, 1 }), ==, FLOOR);
}

/* A few looks show that the disk is idle, so they come soon. */
static void test_the_first_looks_come_soon(void)
{
	DiskPressure pressure;
	int64_t usec = 0;

	disk_pressure_begin(&pressure);
	for (int i = 0; i < 3; i++) {
		usec += disk_pressure_next_look_usec(&pressure);
		go_through(&pressure, &(Phase){ 50 * MIB, 0, 90, 1 });
	}
	g_assert_cmpuint((uint64_t)pressure.rate_bytes, >, 500 * MIB);
	g_assert_cmpint(usec, <=, 100000);
	go_through(&pressure, &(Phase){ 50 * MIB, 0, 90, 1 });
	g_assert_cmpint(disk_pressure_next_look_usec(&pressure), ==, LOOK);
}

static void test_what_is_left_after_each_phase(void)
{
	static const struct {
		const char *what;
		Phase phases[3];
		uint64_t at_least; /* UINT64_MAX: no limit */
		uint64_t at_most;
	} cases[] = {
		{ "an idle disk is the pass's within half a second",
		  { { 50 * MIB, 0, 90, 3 } },
		  500 * MIB,
		  UINT64_MAX },
		{ "a few blocks of others are not noticed",
		  { { 50 * MIB, 12 * 1024, 90, 10 } },
		  500 * MIB,
		  UINT64_MAX },
		{ "a pass that wants little is not held up",
		  { { 100 * 1024, 0, 5, 20 } },
		  UINT64_MAX,
		  UINT64_MAX },
		{ "others who wait get the disk at once",
		  { { 50 * MIB, 0, 90, 10 }, { 50 * MIB, MIB, 95, 5 } },
		  FLOOR,
		  FLOOR },
		{ "they keep it while they wait",
		  { { 50 * MIB, 0, 90, 10 }, { 50 * MIB, 64 * 1024, 95, 1000 } },
		  FLOOR,
		  FLOOR },
		{ "a gap between their requests gives nothing away",
		  { { 50 * MIB, MIB, 90, 10 }, { 50 * MIB, 0, 30, 1 } },
		  FLOOR,
		  FLOOR },
		{ "when they are gone the pass is quick within half a second",
		  { { 50 * MIB, 0, 90, 10 }, { 50 * MIB, MIB, 95, 50 }, { 50 * MIB, 0, 90, 3 } },
		  500 * MIB,
		  UINT64_MAX },
		{ "a disk with time for both is asked for more bit by bit",
		  { { 50 * MIB, MIB, 95, 10 }, { 50 * MIB, MIB, 30, 50 } },
		  FLOOR + 19 * MIB,
		  FLOOR + 21 * MIB },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		DiskPressure pressure;
		uint64_t rate = 0;

		g_test_message("%s", cases[i].what);
		disk_pressure_begin(&pressure);
		for (size_t j = 0; j < 3 && cases[i].phases[j].n_looks > 0; j++)
			rate = go_through(&pressure, &cases[i].phases[j]);
		rate = rate ? rate : UINT64_MAX;
		g_assert_cmpuint(rate, >=, cases[i].at_least);
		g_assert_cmpuint(rate, <=, cases[i].at_most);
	}
}

static void test_the_increase_is_additive_and_the_decrease_is_not(void)
{
	const Phase waiting = { 50 * MIB, MIB, 95, 1 };
	const Phase sharing = { 50 * MIB, MIB, 30, 100 };
	DiskPressure pressure;
	uint64_t before, after;

	disk_pressure_begin(&pressure);
	before = go_through(&pressure, &sharing);
	g_assert_cmpuint(before, >, 40 * MIB);
	after = go_through(&pressure, &waiting);
	g_assert_cmpuint(after, >=, before / 4 - MIB);
	g_assert_cmpuint(after, <=, before / 4 + MIB);
}

static void test_what_comes_to_the_disk_late_is_still_ours(void)
{
	PressureSample charged = { LOOK, 6 * MIB, 0, 0 };
	PressureSample read_now = { LOOK, 0, 6 * MIB, LOOK };
	DiskPressure pressure;

	disk_pressure_begin(&pressure);
	go_through(&pressure, &(Phase){ 50 * MIB, 0, 90, 10 });
	for (int i = 0; i < 20; i++) {
		disk_pressure_look(&pressure, &charged);
		g_assert_cmpuint(disk_pressure_look(&pressure, &read_now), !=, FLOOR);
	}
}

static void test_what_was_never_read_hides_others_for_a_moment_only(void)
{
	PressureSample never_read = { LOOK, 6 * MIB, 0, 0 };
	DiskPressure pressure;

	disk_pressure_begin(&pressure);
	for (int i = 0; i < 100; i++)
		disk_pressure_look(&pressure, &never_read);
	g_assert_cmpuint(go_through(&pressure, &(Phase){ 50 * MIB, 4 * MIB, 95, 20 }), ==, FLOOR);
}

static void test_after_a_pause_it_goes_on_if_nobody_else_came(void)
{
	static const struct {
		const char *what;
		int64_t seconds;
		uint64_t own_bytes, foreign_bytes;
		bool goes_on;
	} rows[] = {
		{ "nobody", 3, 0, 0, true },
		{ "the pass alone", 3, 9 * MIB, 0, true },
		{ "a journal's few blocks", 3, 0, 3 * 100 * 1024, true },
		{ "who came for a moment", 3, 0, 2 * MIB, false },
		{ "nobody, but it was long ago", 6, 0, 0, false },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		const PressureSample pause = { rows[i].seconds * G_USEC_PER_SEC, rows[i].own_bytes,
					       rows[i].own_bytes + rows[i].foreign_bytes, 0 };
		DiskPressure pressure;
		uint64_t before;

		g_test_message("%s", rows[i].what);
		disk_pressure_begin(&pressure);
		before = go_through(&pressure, &(Phase){ 50 * MIB, 0, 90, 10 });
		g_assert_cmpuint(disk_pressure_resume(&pressure, &pause), ==,
				 rows[i].goes_on ? before : FLOOR);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/disk-pressure/a-pass-begins-slowly", test_a_pass_begins_slowly);
	g_test_add_func("/disk-pressure/the-first-looks-come-soon", test_the_first_looks_come_soon);
	g_test_add_func("/disk-pressure/what-is-left-after-each-phase",
			test_what_is_left_after_each_phase);
	g_test_add_func("/disk-pressure/the-increase-is-additive-and-the-decrease-is-not",
			test_the_increase_is_additive_and_the_decrease_is_not);
	g_test_add_func("/disk-pressure/what-comes-to-the-disk-late-is-still-ours",
			test_what_comes_to_the_disk_late_is_still_ours);
	g_test_add_func("/disk-pressure/what-was-never-read-hides-others-for-a-moment-only",
			test_what_was_never_read_hides_others_for_a_moment_only);

	g_test_add_func("/disk-pressure/after-a-pause-it-goes-on-if-nobody-else-came",
			test_after_a_pause_it_goes_on_if_nobody_else_came);

	return g_test_run();
}
