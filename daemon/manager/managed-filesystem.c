/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/manager/managed-filesystem.h"

#include "daemon/manager/managed-filesystem-internal.h"
#include "daemon/manager/schedule-inputs.h"
#include "hashstore/hash-store.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/write-mark.h"
#include "kernel-ioctl/machine/disk-topology.h"

#include <string.h>
#include <sys/sysmacros.h>

#define SYSFS "/sys"

/* How often to look at sysfs: this takes microseconds and no I/O. */
#define LOOK_USEC (60 * G_USEC_PER_SEC)

/* How often to look at the battery while a pass runs. */
#define BATTERY_LOOK_USEC (10 * G_USEC_PER_SEC)

/* How often to look at the locks of disks, which are files in memory. */
#define TURN_LOOK_USEC (2 * G_USEC_PER_SEC)

const char *managed_state_name(ManagedState state)
{
	static const char *const names[] = {
		[MANAGED_DISABLED] = "disabled", [MANAGED_UNMOUNTED] = "unmounted",
		[MANAGED_REFUSED] = "refused",   [MANAGED_WAITING] = "waiting",
		[MANAGED_RUNNING] = "running",   [MANAGED_STOPPING] = "stopping",
	};

	return names[state];
}

static ManagedState state_of(const ManagedFilesystem *managed)
{
	if (managed_pass_runs(managed))
		return atomic_load(&managed->stop) ? MANAGED_STOPPING : MANAGED_RUNNING;
	if (!managed->is_mounted)
		return MANAGED_UNMOUNTED;
	if (!managed->settings)
		return MANAGED_DISABLED;

	return managed->refusal ? MANAGED_REFUSED : MANAGED_WAITING;
}

void managed_say_changed(ManagedFilesystem *managed)
{
	if (managed->listener.changed)
		managed->listener.changed(managed, managed->listener.data);
}

ManagedFilesystem *managed_filesystem_new(const char *uuid, MainLoop *loop, DiskTable *disks,
					  const ManagedListener *listener)
{
	ManagedFilesystem *managed = g_new0(ManagedFilesystem, 1);

	managed->uuid = g_strdup(uuid);
	managed->loop = loop;
	managed->disks = disks;
	managed->conditions = pass_conditions_new(disk_topology_system(), disks);
	managed->listener = *listener;
	managed->report_fd = -1;
	managed_holds_init(managed);
	managed->schedule.last_pass = LAST_PASS_NONE;
	return managed;
}

void managed_filesystem_set_mounted(ManagedFilesystem *managed, const MountedFilesystem *mounted)
{
	const MountPoint *first;
	bool was_mounted = managed->is_mounted;

	managed->is_mounted = mounted;
	g_clear_pointer(&managed->refusal, g_free);
	if (!mounted || !was_mounted) {
		/* Another system may have changed it while it was unmounted. */
		managed->schedule.last_pass = LAST_PASS_NONE;
		managed->has_mark = false;
	}
	if (!mounted) {
		/* The kernel completes a lazy unmount when the last file is closed. */
		managed_pass_end(managed, END_FOR_UNMOUNT);
		return;
	}

	managed->identity = mounted->identity;
	managed->device = makedev(mounted->major, mounted->minor);
	managed->refusal = g_strdup(mounted->refusal);
	g_strfreev(managed->targets);
	managed->targets = mounted_filesystem_ways(mounted);
	first = mounted->mount_points->pdata[0];
	g_free(managed->mount_point);
	managed->mount_point = g_strdup(managed->targets[0] ? managed->targets[0] : first->target);
}

static FsLocation location_of(const ManagedFilesystem *managed)
{
	FsLocation location = {
		.is_btrfs = managed->identity.kind == FS_KIND_BTRFS,
		.major = major(managed->device),
		.minor = minor(managed->device),
	};

	memcpy(location.fsid, managed->identity.fsid, FS_UUID_BYTES);
	return location;
}

/* The disks of a btrfs filesystem may change; finding them needs no I/O. */
static void find_disks(ManagedFilesystem *managed)
{
	const FsLocation location = location_of(managed);

	g_clear_pointer(&managed->lies_on, g_ptr_array_unref);
	managed->lies_on = disk_topology_find(disk_topology_system(), &location);
	disk_table_add(managed->disks, managed->lies_on);
	g_strfreev(managed->disk_names);
	managed->disk_names = disks_names(managed->lies_on);
}

void managed_filesystem_set_settings(ManagedFilesystem *managed, Settings *settings)
{
	g_clear_pointer(&managed->settings, settings_unref);
	if (!settings)
		return;

	managed->settings = settings_ref(settings);
	find_disks(managed);
}

bool managed_filesystem_is_enabled(const ManagedFilesystem *managed)
{
	return managed->settings;
}

const char *managed_filesystem_state_directory(const ManagedFilesystem *managed)
{
	return managed->settings ? managed->settings->state_directory : NULL;
}

void managed_filesystem_free(ManagedFilesystem *managed)
{
	if (!managed)
		return;

	managed->listener.changed = NULL;
	managed_filesystem_end(managed, END_FOR_SERVICE);
	managed_pass_finish(managed);
	managed_holds_clear(managed);
	g_clear_pointer(&managed->settings, settings_unref);
	g_clear_pointer(&managed->request, run_request_free);
	pass_result_clear(&managed->last);
	fd_close(&managed->report_fd);
	g_clear_pointer(&managed->lies_on, g_ptr_array_unref);
	g_strfreev(managed->disk_names);
	pass_conditions_free(managed->conditions);
	detached_task_free(managed->look);
	detached_task_free(managed->left);
	g_free(managed->waits_for);
	g_free(managed->refusal);
	g_free(managed->mount_point);
	g_strfreev(managed->targets);
	g_free(managed->uuid);
	g_free(managed);
}

/* Find out how much changed since the last pass began, as far as sysfs tells. */
static void look_for_changes(ManagedFilesystem *managed, ScheduleState *state)
{
	WriteMark now;

	state->has_changed = true;
	state->changed_bytes = 0;
	if (!managed->has_mark ||
	    !write_mark_read(SYSFS, &managed->identity, managed->device, &now))
		return;

	state->has_changed = now.generation != managed->mark.generation ||
			     now.written_bytes != managed->mark.written_bytes;
	/* A device that was replaced counts from zero. */
	if (now.written_bytes >= managed->mark.written_bytes)
		state->changed_bytes = now.written_bytes - managed->mark.written_bytes;
}

static ScheduleState state_now(ManagedFilesystem *managed)
{
	const FsLocation location = location_of(managed);
	ScheduleState state = managed->schedule;

	state.now_usec = g_get_monotonic_time();
	state.is_refused = managed->refusal;
	state.is_silent = managed->left;
	state.is_on_hold = managed->holds->len > 0;
	schedule_inputs_tell_windows(managed->settings, &managed->schedule, &state);
	look_for_changes(managed, &state);
	pass_conditions_look(managed->conditions, &location, managed->lies_on, &state);
	return state;
}

/* Whether the pass has to end because of the battery.  A requested pass goes on. */
static bool has_to_spare_battery(const ManagedFilesystem *managed)
{
	return managed->pass_settings->on_battery == HARDSHIP_PAUSE && !managed->was_asked &&
	       pass_conditions_is_on_battery(managed->conditions);
}

static int64_t look_at_pass(ManagedFilesystem *managed)
{
	int64_t now_usec = g_get_monotonic_time();

	if (now_usec >= managed->deadline_usec) {
		managed_filesystem_end(managed, END_FOR_TIME);
		return SCHEDULE_NEVER;
	}
	if (has_to_spare_battery(managed)) {
		managed_filesystem_end(managed, END_FOR_BATTERY);
		return SCHEDULE_NEVER;
	}

	return MIN(managed->deadline_usec, now_usec + BATTERY_LOOK_USEC);
}

/*
 * Ask the schedule.  If a pass is to begin, it gets the slots of its disks.  Returns false while the preflight
 * check runs.
 */
static bool ask_schedule(ManagedFilesystem *managed, const SchedulePolicy *policy,
			 ScheduleState *state)
{
	ScheduleAnswer answer = schedule_next(policy, state);

	if (answer.reason == WAIT_NOT) {
		if (!managed_preflight_closer(managed, state))
			return false;
		answer = schedule_next(policy, state);
	}
	if (answer.reason == WAIT_NOT) {
		managed->turn = disk_slot_take(managed->disks, managed->lies_on);
		state->is_disk_taken = !managed->turn;
		answer = schedule_next(policy, state);
	}

	/* The pass may take long, so the check is void after it. */
	if (answer.reason == WAIT_NOT)
		managed->looked_usec = 0;
	managed->answer = answer;
	return true;
}

/* When to look again even if no event happens. */
static int64_t look_usec(const ManagedFilesystem *managed, const SchedulePolicy *policy)
{
	/* Other processes send no events. */
	if (managed->answer.reason == WAIT_DISK_BUSY || managed->answer.reason == WAIT_LOCKED ||
	    managed->answer.reason == WAIT_ON_HOLD)
		return TURN_LOOK_USEC;

	return MIN(LOOK_USEC, MAX(policy->wake_interval_usec, G_USEC_PER_SEC));
}

static void say_what_it_waits_for(ManagedFilesystem *managed)
{
	WaitReason reason = managed->answer.reason;
	const char *seen = pass_conditions_text(managed->conditions, reason);
	const char *failure = pass_result_trouble(&managed->last);

	g_free(managed->waits_for);
	if (reason == WAIT_ON_HOLD && managed->holds->len > 0)
		managed->waits_for = managed_holds_text(managed);
	else if (reason == WAIT_RETRY && failure)
		managed->waits_for = g_strdup_printf("%s: %s", wait_reason_text(reason), failure);
	else
		managed->waits_for = g_strdup(seen ? seen : wait_reason_text(reason));
}

/* End a pause whose time is over.  Returns when the pause will end. */
static int64_t look_at_pause(ManagedFilesystem *managed)
{
	if (!managed->schedule.is_paused || managed->schedule.paused_until_usec == 0)
		return SCHEDULE_NEVER;
	if (g_get_monotonic_time() >= managed->schedule.paused_until_usec) {
		managed_filesystem_resume(managed);
		return SCHEDULE_NEVER;
	}

	return managed->schedule.paused_until_usec;
}

int64_t managed_filesystem_look(ManagedFilesystem *managed)
{
	g_autofree char *before = g_strdup(managed->waits_for);
	int64_t pause_ends_usec = look_at_pause(managed);
	SchedulePolicy policy;
	ScheduleState state;

	if (managed_pass_runs(managed))
		return look_at_pass(managed);
	if (!managed->is_mounted || !managed->settings)
		return pause_ends_usec;

	policy = schedule_inputs_policy(managed->settings);
	state = state_now(managed);
	if (!ask_schedule(managed, &policy, &state))
		return SCHEDULE_NEVER;
	if (managed->answer.reason == WAIT_NOT)
		return managed_pass_begin(managed, &state) ? look_at_pass(managed)
							   : managed_filesystem_look(managed);

	say_what_it_waits_for(managed);
	if (g_strcmp0(managed->waits_for, before) != 0)
		managed_say_changed(managed);
	return MIN(managed->answer.until_usec, state.now_usec + look_usec(managed, &policy));
}

bool managed_can_be_worked_on(const ManagedFilesystem *managed, GError **error)
{
	switch (state_of(managed)) {
	case MANAGED_UNMOUNTED:
		g_set_error(error, FILESYSTEM_ERROR, FILESYSTEM_ERROR_UNSUITABLE,
			    "%s is not mounted", managed->uuid);
		return false;
	case MANAGED_DISABLED:
		g_set_error(error, FILESYSTEM_ERROR, FILESYSTEM_ERROR_UNSUITABLE,
			    "%s is not enabled: no [Filesystem] section names it",
			    managed->mount_point);
		return false;
	case MANAGED_REFUSED:
		g_set_error(error, FILESYSTEM_ERROR, FILESYSTEM_ERROR_UNSUITABLE, "%s",
			    managed->refusal);
		return false;
	case MANAGED_WAITING:
	case MANAGED_RUNNING:
	case MANAGED_STOPPING:
		break;
	}

	return true;
}

bool managed_is_not_paused(const ManagedFilesystem *managed, GError **error)
{
	if (!managed->schedule.is_paused)
		return true;

	g_set_error(error, FILESYSTEM_ERROR, FILESYSTEM_ERROR_UNSUITABLE,
		    "%s is paused: 'dedupctl resume' ends the pause, and --resume does so first",
		    managed->mount_point);
	return false;
}

void managed_ask(ManagedFilesystem *managed)
{
	managed->schedule.is_asked = true;
	managed_say_changed(managed);
}

bool managed_filesystem_start(ManagedFilesystem *managed, GError **error)
{
	if (!managed_can_be_worked_on(managed, error) || !managed_is_not_paused(managed, error))
		return false;

	managed->asked_again = managed->request;
	managed_ask(managed);
	return true;
}

void managed_filesystem_end(ManagedFilesystem *managed, EndReason reason)
{
	if (reason == END_FOR_STOP || reason == END_FOR_SERVICE)
		requested_pass_drop(managed, reason == END_FOR_STOP ? "it was stopped meanwhile"
								    : "the service ends");
	if (reason == END_FOR_STOP) {
		managed->schedule.is_asked = false;
		managed->asked_again = false;
		/* A stopped pass does not continue after the hold that ended it. */
		if (managed->holds->len > 0 && managed->schedule.last_pass == LAST_PASS_CUT_SHORT)
			managed->schedule.last_pass = LAST_PASS_OUT_OF_TIME;
		/* The result of a running pass still needs the request. */
		if (!managed_pass_runs(managed)) {
			g_clear_pointer(&managed->request, run_request_free);
			managed_say_changed(managed);
		}
	}
	managed_pass_end(managed, reason);
}

void managed_filesystem_pause(ManagedFilesystem *managed, uint64_t usec)
{
	int64_t now_usec = g_get_monotonic_time();

	managed->schedule.is_paused = true;
	managed->schedule.paused_until_usec = 0;
	if (usec > 0 && usec < (uint64_t)(SCHEDULE_NEVER - now_usec))
		managed->schedule.paused_until_usec = now_usec + (int64_t)usec;
	managed_filesystem_end(managed, END_FOR_PAUSE);
	managed_say_changed(managed);
}

void managed_filesystem_resume(ManagedFilesystem *managed)
{
	managed->schedule.is_paused = false;
	managed_say_changed(managed);
}

bool managed_filesystem_forget(ManagedFilesystem *managed, GError **error)
{
	if (managed_pass_runs(managed)) {
		g_set_error(error, FILESYSTEM_ERROR, FILESYSTEM_ERROR_UNSUITABLE,
			    "a pass runs over %s: stop it first", managed->mount_point);
		return false;
	}
	if (!managed->settings) {
		g_set_error(error, FILESYSTEM_ERROR, FILESYSTEM_ERROR_UNSUITABLE,
			    "%s is not enabled", managed->uuid);
		return false;
	}

	managed->has_mark = false;
	managed->schedule.last_pass = LAST_PASS_NONE;
	return hash_store_delete(managed->settings->state_directory, managed->uuid, error);
}

ManagedView managed_filesystem_view(const ManagedFilesystem *managed)
{
	bool waits = state_of(managed) == MANAGED_WAITING;
	bool runs = managed_pass_runs(managed);

	return (ManagedView){
		.uuid = managed->uuid,
		.kind = fs_kind_name(managed->identity.kind),
		.mount_point = managed->mount_point ? managed->mount_point : "",
		.refusal = managed->refusal ? managed->refusal : "",
		.state = state_of(managed),
		.is_paused = managed->schedule.is_paused,
		.is_asked = managed->schedule.is_asked,
		.waits_for = waits && managed->waits_for ? managed->waits_for : "",
		.waits = managed->answer.reason,
		.waits_usec = managed->answer.until_usec,
		.disk_names = managed->settings ? managed->disk_names : NULL,
		.begun_usec = runs ? managed->begun_usec : 0,
		.progress = runs ? &managed->progress : NULL,
		.deadline_usec = runs ? managed->deadline_usec : SCHEDULE_NEVER,
		.has_last = managed->has_last,
		.last = &managed->last,
		.n_passes = managed->n_passes,
		.freed_bytes = managed->freed_bytes,
		.read_bytes = managed->read_bytes,
	};
}

int managed_filesystem_report_fd(const ManagedFilesystem *managed)
{
	return managed->report_fd;
}
