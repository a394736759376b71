/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/manager/schedule.h"

#include <glib.h>

#define HOUR (INT64_C(3600) * 1000000)
#define MIB  (UINT64_C(1) << 20)

static const SchedulePolicy policy = { .wake_bytes = 64 * MIB,
				       .wake_interval_usec = HOUR,
				       .respects_sleep = true };

/* At ten o'clock, a complete pass at nine and a half, nothing changed, no windows. */
static ScheduleState quiet(void)
{
	return (ScheduleState){
		.now_usec = 10 * HOUR,
		.last_pass = LAST_PASS_COMPLETE,
		.last_ended_usec = 10 * HOUR - HOUR / 2,
		.is_window_open = true,
		.window_changes_usec = SCHEDULE_NEVER,
	};
}

static void assert_waits(const ScheduleState *state, WaitReason reason, int64_t until_usec)
{
	ScheduleAnswer answer = schedule_next(&policy, state);

	g_assert_cmpstr(wait_reason_text(answer.reason), ==, wait_reason_text(reason));
	g_assert_cmpint(answer.until_usec, ==, until_usec);
}

static void assert_begins(const ScheduleState *state)
{
	assert_waits(state, WAIT_NOT, 0);
}

static void test_a_first_pass_begins_at_once(void)
{
	ScheduleState state = quiet();

	state.last_pass = LAST_PASS_NONE;
	assert_begins(&state);
}

static void test_without_a_change_nothing_ever_happens(void)
{
	ScheduleState state = quiet();

	assert_waits(&state, WAIT_UNCHANGED, SCHEDULE_NEVER);
	state.now_usec += 1000 * HOUR;
	assert_waits(&state, WAIT_UNCHANGED, SCHEDULE_NEVER);
}

static void test_a_small_change_waits_for_the_interval(void)
{
	ScheduleState state = quiet();

	state.has_changed = true;
	state.changed_bytes = 64 * MIB - 1;
	assert_waits(&state, WAIT_LITTLE_CHANGED, state.last_ended_usec + HOUR);
	state.now_usec = state.last_ended_usec + HOUR;
	assert_begins(&state);
}

static void test_a_large_change_does_not_wait(void)
{
	ScheduleState state = quiet();

	state.has_changed = true;
	state.changed_bytes = 64 * MIB;
	assert_begins(&state);
}

static void test_what_is_held_begins_no_pass_even_if_one_is_asked_for(void)
{
	ScheduleState state = quiet();

	state.last_pass = LAST_PASS_CUT_SHORT;
	state.is_asked = true;
	state.is_on_hold = true;
	assert_waits(&state, WAIT_ON_HOLD, SCHEDULE_NEVER);
	/* A pause by a user is the strongest reason. */
	state.is_paused = true;
	assert_waits(&state, WAIT_PAUSED, SCHEDULE_NEVER);
	state.paused_until_usec = state.now_usec + HOUR;
	assert_waits(&state, WAIT_PAUSED, state.now_usec + HOUR);
	state.is_paused = state.is_on_hold = false;
	assert_begins(&state);
}

static void test_a_closed_window_is_waited_for(void)
{
	ScheduleState state = quiet();

	state.last_pass = LAST_PASS_NONE;
	state.has_windows = true;
	state.is_window_open = false;
	state.window_changes_usec = 22 * HOUR;
	assert_waits(&state, WAIT_WINDOW, 22 * HOUR);
	state.is_window_open = true;
	assert_begins(&state);
}

static void test_what_ran_out_of_time_goes_on_in_the_next_window_or_after_the_interval(void)
{
	ScheduleState state = quiet();

	state.last_pass = LAST_PASS_OUT_OF_TIME;
	assert_waits(&state, WAIT_LITTLE_CHANGED, state.last_ended_usec + HOUR);
	state.has_windows = true;
	state.window_opened_usec = state.last_ended_usec - HOUR;
	state.window_changes_usec = 12 * HOUR;
	assert_waits(&state, WAIT_WINDOW, 12 * HOUR);
	state.window_opened_usec = state.last_ended_usec + 1;
	assert_begins(&state);
}

static void test_failures_are_tried_again_ever_more_rarely(void)
{
	static const struct {
		uint32_t n_failures;
		int64_t after_usec;
	} rows[] = {
		{ 1, HOUR / 6 },  { 2, HOUR / 3 },           { 4, HOUR / 6 * 8 },
		{ 9, 24 * HOUR }, { UINT32_MAX, 24 * HOUR },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		ScheduleState state = quiet();

		state.last_pass = LAST_PASS_FAILED;
		state.n_failures = rows[i].n_failures;
		state.now_usec = state.last_ended_usec + rows[i].after_usec - 1;
		assert_waits(&state, WAIT_RETRY, state.last_ended_usec + rows[i].after_usec);
		state.now_usec++;
		assert_begins(&state);
	}
}

static void test_each_hindrance_has_its_reason(void)
{
	static const struct {
		size_t offset;
		WaitReason reason;
		bool keeps_what_is_asked_for;
	} rows[] = {
		{ offsetof(ScheduleState, is_refused), WAIT_REFUSED, true },
		{ offsetof(ScheduleState, is_paused), WAIT_PAUSED, true },
		{ offsetof(ScheduleState, is_degraded), WAIT_DEGRADED, true },
		{ offsetof(ScheduleState, is_silent), WAIT_UNRESPONSIVE, true },
		{ offsetof(ScheduleState, is_in_work), WAIT_MAINTENANCE, true },
		{ offsetof(ScheduleState, is_held), WAIT_LOCKED, true },
		{ offsetof(ScheduleState, is_memory_taken), WAIT_MEMORY, true },
		{ offsetof(ScheduleState, is_disk_taken), WAIT_DISK_BUSY, true },
		{ offsetof(ScheduleState, is_on_battery), WAIT_BATTERY, false },
		{ offsetof(ScheduleState, is_disk_asleep), WAIT_DISK_ASLEEP, false },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		ScheduleState state = quiet();

		state.last_pass = LAST_PASS_NONE;
		*(bool *)((char *)&state + rows[i].offset) = true;
		assert_waits(&state, rows[i].reason, SCHEDULE_NEVER);
		state.is_asked = true;
		if (rows[i].keeps_what_is_asked_for)
			assert_waits(&state, rows[i].reason, SCHEDULE_NEVER);
		else
			assert_begins(&state);
	}
}

static void test_a_window_wakes_the_disk(void)
{
	ScheduleState state = quiet();

	state.last_pass = LAST_PASS_NONE;
	state.is_disk_asleep = true;
	state.has_windows = true;
	assert_begins(&state);
}

static void test_a_sleeping_disk_is_not_even_asked_about_when_nothing_changed(void)
{
	ScheduleState state = quiet();

	state.is_disk_asleep = true;
	assert_waits(&state, WAIT_UNCHANGED, SCHEDULE_NEVER);
}

static void test_who_asks_gets_a_pass_outside_the_window(void)
{
	ScheduleState state = quiet();

	state.has_windows = true;
	state.is_window_open = false;
	state.window_changes_usec = 22 * HOUR;
	state.is_asked = true;
	assert_begins(&state);
	g_assert_cmpint(schedule_deadline(&state, 0), ==, SCHEDULE_NEVER);
}

static void test_a_timer_may_be_left_to_have_passes_begin(void)
{
	SchedulePolicy on_demand = policy;
	ScheduleState state = quiet();

	on_demand.only_if_asked = true;
	state.last_pass = LAST_PASS_NONE;
	g_assert_cmpint(schedule_next(&on_demand, &state).reason, ==, WAIT_ON_DEMAND);
	state.is_asked = true;
	g_assert_cmpint(schedule_next(&on_demand, &state).reason, ==, WAIT_NOT);
}

static void test_the_deadline_is_the_earlier_of_two(void)
{
	ScheduleState state = quiet();

	g_assert_cmpint(schedule_deadline(&state, 0), ==, SCHEDULE_NEVER);
	g_assert_cmpint(schedule_deadline(&state, 4 * HOUR), ==, 14 * HOUR);
	state.has_windows = true;
	state.window_changes_usec = 12 * HOUR;
	g_assert_cmpint(schedule_deadline(&state, 4 * HOUR), ==, 12 * HOUR);
	g_assert_cmpint(schedule_deadline(&state, HOUR), ==, 11 * HOUR);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/schedule/first", test_a_first_pass_begins_at_once);
	g_test_add_func("/schedule/unchanged", test_without_a_change_nothing_ever_happens);
	g_test_add_func("/schedule/little", test_a_small_change_waits_for_the_interval);
	g_test_add_func("/schedule/much", test_a_large_change_does_not_wait);
	g_test_add_func("/schedule/hold",
			test_what_is_held_begins_no_pass_even_if_one_is_asked_for);
	g_test_add_func("/schedule/window", test_a_closed_window_is_waited_for);
	g_test_add_func("/schedule/out-of-time",
			test_what_ran_out_of_time_goes_on_in_the_next_window_or_after_the_interval);
	g_test_add_func("/schedule/failures", test_failures_are_tried_again_ever_more_rarely);
	g_test_add_func("/schedule/hindrances", test_each_hindrance_has_its_reason);
	g_test_add_func("/schedule/window-wakes", test_a_window_wakes_the_disk);
	g_test_add_func("/schedule/sleep",
			test_a_sleeping_disk_is_not_even_asked_about_when_nothing_changed);
	g_test_add_func("/schedule/asked", test_who_asks_gets_a_pass_outside_the_window);
	g_test_add_func("/schedule/on-demand", test_a_timer_may_be_left_to_have_passes_begin);
	g_test_add_func("/schedule/deadline", test_the_deadline_is_the_earlier_of_two);
	return g_test_run();
}
