/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/mounts/filesystem-lock.h"
#include "common/system/memfd.h"
#include "daemon/manager/managed-filesystem-internal.h"
#include "daemon/report/journal.h"
#include "daemon/report/report.h"
#include "kernel-ioctl/call/fd.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define SYSFS "/sys"

bool managed_pass_runs(const ManagedFilesystem *managed)
{
	return managed->search || managed->worker;
}

#ifdef __GLIBC__

/* The heap would keep the pass's memory while nothing happens. */
static void trim_heap(void)
{
	malloc_trim(0);
}

#else

static void trim_heap(void)
{
}

#endif

static LastPass last_pass_of_end(EndReason reason)
{
	return reason == END_FOR_STOP || reason == END_FOR_TIME ? LAST_PASS_OUT_OF_TIME
								: LAST_PASS_CUT_SHORT;
}

/* The outcome of the last pass, for the schedule. */
static LastPass last_pass_of(const ManagedFilesystem *managed)
{
	if (managed->result.is_on_hold)
		return LAST_PASS_CUT_SHORT;
	if (managed->result.outcome == PASS_FAILED || managed->result.is_disk_failing)
		return LAST_PASS_FAILED;
	if (managed->result.outcome == PASS_COMPLETE)
		return LAST_PASS_COMPLETE;

	/* The pass may have ended by itself, for lack of space. */
	return atomic_load(&managed->stop) ? last_pass_of_end(managed->end_reason)
					   : LAST_PASS_OUT_OF_TIME;
}

static void keep_report(ManagedFilesystem *managed)
{
	ReportedPass pass = { managed->filesystem, &managed->result };
	char *json = report_json(managed->pass_settings, &pass, 1);

	fd_close(&managed->report_fd);
	managed->report_fd = memfd_new(json);
	free(json);
}

/* Release what a running pass holds. */
static void let_go(ManagedFilesystem *managed)
{
	managed_leave_search(managed);
	managed->progress.stage_began = NULL;
	g_clear_pointer(&managed->stage_began, receiver_close);
	g_clear_pointer(&managed->finished, receiver_close);
	g_clear_pointer(&managed->filesystem, filesystem_free);
	g_clear_pointer(&managed->turn, disk_slot_free);
	g_clear_pointer(&managed->pass_settings, settings_unref);
}

void managed_drop_request(ManagedFilesystem *managed)
{
	managed->schedule.is_asked = managed->asked_again;
	managed->asked_again = false;
	g_clear_pointer(&managed->request, run_request_free);
}

/* Whether @reason alone ended the pass. */
static bool was_ended_for(const ManagedFilesystem *managed, EndReason reason)
{
	return atomic_load(&managed->stop) && managed->end_reason == reason &&
	       managed->result.outcome == PASS_INTERRUPTED && !managed->result.stopped_reason;
}

/* Whether a requested pass continues after a pause or a hold: nobody has withdrawn it since. */
static bool is_to_go_on(const ManagedFilesystem *managed)
{
	if (!managed->schedule.is_asked)
		return false;

	return managed->result.is_on_hold ||
	       (managed->request && was_ended_for(managed, END_FOR_PAUSE));
}

/* Tell the schedule of the pass that ended, if it covered all of the filesystem. */
static void tell_schedule(ManagedFilesystem *managed)
{
	bool is_limited = managed->request;

	if (!is_to_go_on(managed))
		managed_drop_request(managed);
	if (is_limited)
		return;

	managed->schedule.last_pass = last_pass_of(managed);
	managed->schedule.last_ended_usec = g_get_monotonic_time();
	managed->schedule.n_failures =
		last_pass_of(managed) == LAST_PASS_FAILED ? managed->schedule.n_failures + 1 : 0;
	/*
	 * The pass's own writes look like those of others.  So after a pass that shared, the next one begins, and
	 * ends at once if it finds no change.
	 */
	managed->mark = managed->begun_mark;
	managed->has_mark = managed->has_begun_mark;
}

/* Take the result of the pass that ended. */
static void take_result(ManagedFilesystem *managed)
{
	PassResult *result = &managed->result;

	/* The pass may have ended before it looked for holds itself. */
	if (was_ended_for(managed, END_FOR_HOLD)) {
		result->is_on_hold = true;
		result->stopped_reason = g_strdup("somebody has put it on hold");
	}
	keep_report(managed);
	journal_pass(managed->uuid, managed->mount_point, result);
	tell_schedule(managed);
	managed->n_passes++;
	managed->freed_bytes += result->is_dry_run ? 0 : result->freed.bytes;
	managed->read_bytes += result->disk_bytes;

	pass_result_clear(&managed->last);
	managed->last = managed->result;
	managed->result = (PassResult){ 0 };
	managed->has_last = true;
}

void managed_pass_finish(ManagedFilesystem *managed)
{
	if (!managed->worker)
		return;

	worker_join(g_steal_pointer(&managed->worker));
	/* Another process was quicker: the pass begins when that is done, as if it had not been tried. */
	if (g_error_matches(managed->result.error, FILESYSTEM_LOCK_ERROR,
			    FILESYSTEM_LOCK_ERROR_IN_USE)) {
		pass_result_clear(&managed->result);
		/* Unless it was stopped meanwhile. */
		if (!managed->schedule.is_asked)
			managed_drop_request(managed);
	} else {
		take_result(managed);
	}

	let_go(managed);
	trim_heap();
	managed_say_changed(managed);
}

static void on_finished(void *content, void *data)
{
	managed_pass_finish(data);
}

static void on_stage_began(void *content, void *data)
{
	managed_say_changed(data);
}

static bool start_worker(ManagedFilesystem *managed, GError **error)
{
	MessageQueue *messages = managed->loop->messages;

	managed->stage_began = receiver_new(messages, on_stage_began, NULL, managed);
	managed->finished = receiver_new(messages, on_finished, NULL, managed);
	managed->progress.stage_began = managed->stage_began;
	managed->worker = worker_start(managed->pass_settings, managed->filesystem, managed->disks,
				       &managed->stop, &managed->progress, &managed->result,
				       managed->finished, error);
	return managed->worker;
}

static bool take_filesystem(ManagedFilesystem *managed, GPtrArray *found, GError **error)
{
	Filesystem *filesystem = found->len == 1 ? found->pdata[0] : NULL;

	if (!filesystem || strcmp(filesystem->uuid, managed->uuid) != 0 ||
	    !filesystem_may_be_on(filesystem, managed->device)) {
		g_set_error(error, FILESYSTEM_ERROR, FILESYSTEM_ERROR_PATH,
			    "%s shows another filesystem now", managed->mount_point);
		return false;
	}

	managed->filesystem = g_ptr_array_steal_index(found, 0);
	return true;
}

static void say_not_begun(ManagedFilesystem *managed, const GError *error)
{
	journal_pass_not_begun(managed->uuid, managed->mount_point, error);
	let_go(managed);
	/* A failure without a mount does not delay the pass after the next mount. */
	if (!managed->request && managed->is_mounted) {
		managed->schedule.last_pass = LAST_PASS_FAILED;
		managed->schedule.last_ended_usec = g_get_monotonic_time();
		managed->schedule.n_failures++;
	}
	managed_drop_request(managed);
	managed_say_changed(managed);
}

static void on_found(GPtrArray *found, const GError *failure, void *data)
{
	ManagedFilesystem *managed = data;
	g_autoptr(GError) error = NULL;

	managed_leave_search(managed);
	if (!found)
		say_not_begun(managed, failure);
	else if (!take_filesystem(managed, found, &error) || !start_worker(managed, &error))
		say_not_begun(managed, error);
	else
		managed_say_changed(managed);
}

static bool start_search(ManagedFilesystem *managed, GError **error)
{
	char *const *paths = managed->request ? managed->request->paths : managed->targets;
	SearchPurpose purpose = managed->request ? SEARCH_FOR_CALLER : SEARCH_FOR_PASS;

	managed->search =
		filesystem_search_new(managed->loop, purpose, paths, on_found, managed, error);
	return managed->search;
}

/* Take the settings of this moment, whenever the pass was requested. */
static bool take_settings(ManagedFilesystem *managed, GError **error)
{
	managed->pass_settings =
		managed->request ? run_request_settings(managed->request, managed->settings, error)
				 : settings_ref(managed->settings);
	return managed->pass_settings;
}

bool managed_pass_begin(ManagedFilesystem *managed, const ScheduleState *state)
{
	g_autoptr(GError) error = NULL;

	managed->has_begun_mark =
		write_mark_read(SYSFS, &managed->identity, managed->device, &managed->begun_mark);
	managed->was_asked = state->is_asked;
	managed->begun_usec = g_get_real_time();
	managed->progress = (Progress){ 0 };
	managed->result = (PassResult){ 0 };
	atomic_store(&managed->stop, false);
	if (!take_settings(managed, &error) || !start_search(managed, &error)) {
		say_not_begun(managed, error);
		return false;
	}

	managed->deadline_usec = schedule_deadline(state, managed->pass_settings->run_for_usec);
	managed_say_changed(managed);
	return true;
}

/* The pass ends before its paths were found. */
static void abandon_search(ManagedFilesystem *managed, EndReason reason)
{
	bool is_limited = managed->request;

	let_go(managed);
	if (!is_limited) {
		managed->schedule.last_pass = last_pass_of_end(reason);
		managed->schedule.last_ended_usec = g_get_monotonic_time();
	}
	if (reason != END_FOR_HOLD && (!is_limited || reason != END_FOR_PAUSE))
		managed_drop_request(managed);
	managed_say_changed(managed);
}

void managed_pass_end(ManagedFilesystem *managed, EndReason reason)
{
	if (managed->search) {
		abandon_search(managed, reason);
		return;
	}
	if (!managed->worker || atomic_load(&managed->stop))
		return;

	managed->end_reason = reason;
	atomic_store(&managed->stop, true);
	managed_say_changed(managed);
}
