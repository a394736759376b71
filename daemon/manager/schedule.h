/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/text/managed-state.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Schedule - whether the next pass of a filesystem begins now; if not, why and until when.
 *
 * The service asks it after each change, and at the time that it named.  It knows no clock and no file: all times
 * are microseconds of one clock that the caller chose.  SCHEDULE_NEVER is later than all of them.
 *
 * Pure.  Thread: any.
 */
#define SCHEDULE_NEVER INT64_MAX

/* The delay after a failed pass; it doubles with each further failure. */
#define SCHEDULE_RETRY_USEC      (INT64_C(600) * 1000000)
#define SCHEDULE_RETRY_MOST_USEC (INT64_C(86400) * 1000000)

typedef struct {
	uint64_t wake_bytes;        /* so much new data makes a pass due at once */
	int64_t wake_interval_usec; /* any change makes one due, so long after the last pass */
	bool only_if_asked;         /* only on request, mostly of a timer */
	bool respects_sleep;        /* do not wake an idle disk, except in a window */
	bool runs_on_battery;
	bool runs_degraded;
} SchedulePolicy;

typedef enum {
	LAST_PASS_NONE,
	LAST_PASS_COMPLETE,
	LAST_PASS_CUT_SHORT,   /* asked to stop: the rest is still due */
	LAST_PASS_OUT_OF_TIME, /* its time was over, or it was stopped: nothing is due for now */
	LAST_PASS_FAILED,
} LastPass;

typedef struct {
	int64_t now_usec;

	LastPass last_pass;
	int64_t last_ended_usec;
	uint32_t n_failures; /* in a row */

	bool has_changed;       /* anything on the filesystem, since the last pass began */
	uint64_t changed_bytes; /* bytes written since then, as far as can be told */

	bool has_windows;
	bool is_window_open;         /* also without windows */
	int64_t window_opened_usec;  /* the present one, as far as was seen */
	int64_t window_changes_usec; /* when it closes, or opens next */

	bool is_asked; /* a pass was requested */
	bool is_paused;
	int64_t paused_until_usec; /* 0: until somebody ends the pause */
	bool is_refused;           /* nothing can be deduplicated: read-only, gone */
	bool is_silent;            /* unresponsive: a task hangs in it */
	bool is_in_work;           /* resync, scrub, balance or a change of devices */
	bool is_on_hold;           /* there is a holder */
	bool is_held;              /* another process works on it */
	bool is_memory_taken;      /* other passes have it (PassMemory) */
	bool is_disk_taken;        /* another pass has a rotating disk */
	bool is_disk_asleep;       /* idle for so long that it may have stopped turning */
	bool is_on_battery;
	bool is_degraded;
} ScheduleState;

/* For people, after "waits: ": "outside its window". */
const char *wait_reason_text(WaitReason reason);

typedef struct {
	WaitReason reason;
	int64_t until_usec; /* ask again then, if nothing changes before; 0 with WAIT_NOT */
} ScheduleAnswer;

ScheduleAnswer schedule_next(const SchedulePolicy *policy, const ScheduleState *state);

/* The deadline of a pass that begins now and may run for @run_for_usec (0: for ever). */
int64_t schedule_deadline(const ScheduleState *state, int64_t run_for_usec);
