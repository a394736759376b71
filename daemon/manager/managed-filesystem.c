/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/manager/managed-filesystem.h"

#include "daemon/manager/managed-mount.h"
#include "daemon/manager/pass-conditions.h"
#include "daemon/manager/preflight.h"
#include "daemon/manager/schedule-inputs.h"
#include "daemon/report/journal.h"
#include "hashstore/hash-store.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/machine/disk-topology.h"

/* How often to look at the battery while a pass runs. */
#define BATTERY_LOOK_USEC (10 * G_USEC_PER_SEC)

struct ManagedFilesystem {
	/* Set at creation, never changed. */
	char *uuid;
	DiskTable *disks;
	PassMemory *memory;
	ManagedListener listener;
	PassConditions *conditions;
	Preflight *preflight;
	ManagedHolds *holds; /* no pass runs while there are any */
	ManagedPass *pass;
	RequestedPass *requested;

	ManagedMount mount;
	Settings *settings; /* NULL: it is disabled */

	/* The state that the schedule uses. */
	ScheduleState schedule;
	ScheduleAnswer answer;
	char *waits_for; /* in words */
	LastMark mark;   /* when the last pass began */

	/* The pass that runs. */
	bool was_asked;
	LastMark begun_mark;
	int64_t deadline_usec;

	/* The results of earlier passes. */
	bool has_last;
	PassResult last;
	int report_fd; /* a Memfd, which all who ask share; below 0: none */
	uint64_t n_passes, freed_bytes, read_bytes;
};

static ManagedState state_of(const ManagedFilesystem *managed)
{
	if (managed_pass_runs(managed->pass))
		return managed_pass_is_ending(managed->pass) ? MANAGED_STOPPING : MANAGED_RUNNING;
	if (!managed->mount.is_mounted)
		return MANAGED_UNMOUNTED;
	if (!managed->settings)
		return MANAGED_DISABLED;

	return managed->mount.refusal ? MANAGED_REFUSED : MANAGED_WAITING;
}

static void say_changed(ManagedFilesystem *managed)
{
	if (managed->listener.changed)
		managed->listener.changed(managed, managed->listener.data);
}

static void on_changed(void *data)
{
	say_changed(data);
}

/*
 * Whether a requested pass continues after a pause or a hold: nobody has withdrawn it since.  One that was requested
 * while a scheduled pass ran needs no window, and no other power than the battery.
 */
static bool is_to_go_on(const ManagedFilesystem *managed, const EndedPass *ended)
{
	bool was_bound = !managed->was_asked && (ended_pass_was_for(ended, END_FOR_TIME) ||
						 ended_pass_was_for(ended, END_FOR_BATTERY));

	if (!requested_pass_is_asked(managed->requested))
		return false;

	return ended->result.is_on_hold || was_bound ||
	       (requested_pass_paths(managed->requested) &&
		ended_pass_was_for(ended, END_FOR_PAUSE));
}

/* Tell the schedule of the pass that ended, if it covered all of the filesystem. */
static void tell_schedule(ManagedFilesystem *managed, const EndedPass *ended)
{
	bool is_limited = requested_pass_paths(managed->requested);

	if (!is_to_go_on(managed, ended))
		requested_pass_done(managed->requested);
	if (is_limited)
		return;

	schedule_inputs_tell_end(ended, &managed->schedule);
	/*
	 * The pass's own writes look like those of others.  So after a pass that shared, the next one begins, and
	 * ends at once if it finds no change.
	 */
	managed->mark = managed->begun_mark;
}

static void on_ended(EndedPass *ended, void *data)
{
	ManagedFilesystem *managed = data;

	/* Another process was quicker: the pass begins when that is done, as if it had not been tried. */
	if (ended->was_locked) {
		pass_result_clear(&ended->result);
		/* A request that was withdrawn meanwhile still has its paths. */
		if (!requested_pass_is_asked(managed->requested))
			requested_pass_done(managed->requested);
		return;
	}

	journal_pass(managed->uuid, managed->mount.mount_point, &ended->result);
	tell_schedule(managed, ended);
	managed->n_passes++;
	managed->freed_bytes += ended->result.is_dry_run ? 0 : ended->result.freed.bytes;
	managed->read_bytes += ended->result.disk_bytes;

	pass_result_clear(&managed->last);
	managed->last = ended->result;
	managed->has_last = true;
	fd_close(&managed->report_fd);
	managed->report_fd = ended->report_fd;
}

static void on_not_begun(const GError *error, void *data)
{
	ManagedFilesystem *managed = data;

	journal_pass_not_begun(managed->uuid, managed->mount.mount_point, error);
	/* A failure without a mount does not delay the pass after the next mount. */
	if (!requested_pass_paths(managed->requested) && managed->mount.is_mounted)
		schedule_inputs_tell_failure(&managed->schedule);

	requested_pass_done(managed->requested);
	say_changed(managed);
}

static Filesystem *on_found(GPtrArray *found, void *data, GError **error)
{
	const ManagedFilesystem *managed = data;

	return managed_mount_take(&managed->mount, managed->uuid, found, error);
}

static void on_left(FilesystemSearch *search, void *data)
{
	preflight_leave(((ManagedFilesystem *)data)->preflight, search);
}

/* Returns false if the pass cannot begin; the schedule knows of it then. */
static bool begin_pass(ManagedFilesystem *managed, const ScheduleState *state)
{
	g_autoptr(GError) error = NULL;

	schedule_inputs_mark(&managed->mount.identity, managed->mount.device, &managed->begun_mark);
	managed->was_asked = state->is_asked;
	if (!managed_pass_begin(managed->pass, managed->mount.targets,
				requested_pass_paths(managed->requested), managed->settings,
				&error)) {
		on_not_begun(error, managed);
		return false;
	}

	managed->deadline_usec =
		schedule_deadline(state, managed_pass_settings(managed->pass)->run_for_usec);
	say_changed(managed);
	return true;
}

static void end_pass(ManagedFilesystem *managed, EndReason reason)
{
	bool is_limited = requested_pass_paths(managed->requested);

	if (!managed_pass_end(managed->pass, reason))
		return;

	/* Its paths were not found yet. */
	if (!is_limited)
		schedule_inputs_tell_abandoned(reason, &managed->schedule);
	if (reason != END_FOR_HOLD && (!is_limited || reason != END_FOR_PAUSE))
		requested_pass_done(managed->requested);
	say_changed(managed);
}

void managed_filesystem_set_mounted(ManagedFilesystem *managed, const MountedFilesystem *mounted)
{
	bool was_mounted = managed->mount.is_mounted;

	managed_mount_set(&managed->mount, mounted);
	if (!mounted || !was_mounted) {
		/* Another system may have changed it while it was unmounted. */
		managed->schedule.last_pass = LAST_PASS_NONE;
		managed->mark.is_known = false;
	}
	/* The kernel completes a lazy unmount when the last file is closed. */
	if (!mounted)
		end_pass(managed, END_FOR_UNMOUNT);
}

void managed_filesystem_set_settings(ManagedFilesystem *managed, Settings *settings,
				     const DiskTopology *topology)
{
	g_clear_pointer(&managed->settings, settings_unref);
	if (!settings)
		return;

	managed->settings = settings_ref(settings);
	managed_mount_find_disks(&managed->mount, topology, managed->disks);
}

bool managed_filesystem_is_enabled(const ManagedFilesystem *managed)
{
	return managed->settings;
}

const char *managed_filesystem_state_directory(const ManagedFilesystem *managed)
{
	return managed->settings ? managed->settings->state_directory : NULL;
}

static ScheduleState state_now(ManagedFilesystem *managed, const DiskTopology *topology)
{
	const FsLocation location = managed_mount_location(&managed->mount);
	ScheduleState state = managed->schedule;

	state.now_usec = g_get_monotonic_time();
	state.is_asked = requested_pass_is_asked(managed->requested);
	state.is_refused = managed->mount.refusal;
	state.is_silent = preflight_is_silent(managed->preflight);
	state.is_on_hold = managed_holds_count(managed->holds) > 0;
	schedule_inputs_tell_windows(managed->settings, &managed->schedule, &state);
	schedule_inputs_tell_changes(&managed->mount.identity, managed->mount.device,
				     &managed->mark, &state);
	pass_conditions_look(managed->conditions, topology, &location, managed->mount.lies_on,
			     &state);
	return state;
}

static int64_t look_at_pass(ManagedFilesystem *managed)
{
	int64_t now_usec = g_get_monotonic_time();
	/* A requested pass goes on. */
	bool is_bound = !managed->was_asked;

	if (now_usec >= managed->deadline_usec ||
	    (is_bound && managed_pass_is_outside_window(managed->pass))) {
		managed_filesystem_end(managed, END_FOR_TIME);
		return SCHEDULE_NEVER;
	}
	if (is_bound && managed_pass_has_to_spare_battery(managed->pass)) {
		managed_filesystem_end(managed, END_FOR_BATTERY);
		return SCHEDULE_NEVER;
	}

	return MIN(managed->deadline_usec, now_usec + BATTERY_LOOK_USEC);
}

/* Fill in the facts that need the filesystem opened.  Returns false while a detached task finds them. */
static bool look_closer(ManagedFilesystem *managed, ScheduleState *state)
{
	bool is_being_scrubbed;

	if (!preflight_look(managed->preflight, managed->mount.mount_point, &is_being_scrubbed))
		return false;

	pass_conditions_look_closer(managed->conditions, managed->uuid, is_being_scrubbed, state);
	return true;
}

/*
 * Ask the schedule.  If a pass is to begin, it gets the slots of its disks.  Returns false while the preflight
 * check runs.
 */
static bool ask_schedule(ManagedFilesystem *managed, const SchedulePolicy *policy,
			 ScheduleState *state)
{
	ScheduleAnswer answer = schedule_next(policy, state);

	/* Before the filesystem is opened: many may wait for that. */
	if (answer.reason == WAIT_NOT) {
		state->is_memory_taken = !pass_memory_has_room(managed->memory, managed->settings);
		answer = schedule_next(policy, state);
	}
	if (answer.reason == WAIT_NOT) {
		if (!look_closer(managed, state))
			return false;
		answer = schedule_next(policy, state);
	}
	if (answer.reason == WAIT_NOT) {
		state->is_disk_taken =
			!managed_pass_take_slot(managed->pass, managed->mount.lies_on);
		answer = schedule_next(policy, state);
	}

	/* The pass may take long, so the check is void after it. */
	if (answer.reason == WAIT_NOT)
		preflight_forget(managed->preflight);
	managed->answer = answer;
	return true;
}

static void say_what_it_waits_for(ManagedFilesystem *managed)
{
	WaitReason reason = managed->answer.reason;
	const char *seen = pass_conditions_text(managed->conditions, reason);
	const char *failure = pass_result_trouble(&managed->last);

	g_free(managed->waits_for);
	if (reason == WAIT_ON_HOLD && managed_holds_count(managed->holds) > 0)
		managed->waits_for = managed_holds_text(managed->holds);
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

int64_t managed_filesystem_look(ManagedFilesystem *managed, const DiskTopology *topology)
{
	g_autofree char *before = g_strdup(managed->waits_for);
	int64_t pause_ends_usec = look_at_pause(managed);
	SchedulePolicy policy;
	ScheduleState state;

	if (managed_pass_runs(managed->pass))
		return look_at_pass(managed);
	if (!managed->mount.is_mounted || !managed->settings)
		return pause_ends_usec;

	policy = schedule_inputs_policy(managed->settings);
	state = state_now(managed, topology);
	if (!ask_schedule(managed, &policy, &state))
		return SCHEDULE_NEVER;
	if (managed->answer.reason == WAIT_NOT)
		return begin_pass(managed, &state) ? look_at_pass(managed)
						   : managed_filesystem_look(managed, topology);

	say_what_it_waits_for(managed);
	if (g_strcmp0(managed->waits_for, before) != 0)
		say_changed(managed);
	return MIN(managed->answer.until_usec,
		   state.now_usec + schedule_inputs_look_usec(&policy, managed->answer.reason));
}

/* Whether passes can run over it, now or after a condition that will end. */
static bool can_be_worked_on(const ManagedFilesystem *managed, GError **error)
{
	ManagedState state = state_of(managed);

	if (state == MANAGED_UNMOUNTED)
		g_set_error(error, FILESYSTEM_ERROR, FILESYSTEM_ERROR_UNSUITABLE,
			    "%s is not mounted", managed->uuid);
	else if (state == MANAGED_DISABLED)
		g_set_error(error, FILESYSTEM_ERROR, FILESYSTEM_ERROR_UNSUITABLE,
			    "%s is not enabled: no [Filesystem] section names it",
			    managed->mount.mount_point);
	else if (state == MANAGED_REFUSED)
		g_set_error(error, FILESYSTEM_ERROR, FILESYSTEM_ERROR_UNSUITABLE, "%s",
			    managed->mount.refusal);
	else
		return true;

	return false;
}

/* Whether it is not paused; the error says how to end a pause. */
static bool is_not_paused(const ManagedFilesystem *managed, GError **error)
{
	if (!managed->schedule.is_paused)
		return true;

	g_set_error(error, FILESYSTEM_ERROR, FILESYSTEM_ERROR_UNSUITABLE,
		    "%s is paused: 'dedupctl resume' ends the pause, and --resume does so first",
		    managed->mount.mount_point);
	return false;
}

bool managed_filesystem_start(ManagedFilesystem *managed, GError **error)
{
	if (!can_be_worked_on(managed, error) || !is_not_paused(managed, error))
		return false;

	requested_pass_ask(managed->requested, state_of(managed) == MANAGED_STOPPING);
	return true;
}

/* Whether a pass over paths may begin. */
static bool is_free(void *data, GError **error)
{
	const ManagedFilesystem *managed = data;
	bool runs = managed_pass_runs(managed->pass);

	if (!can_be_worked_on(managed, error))
		return false;
	if (!runs && !requested_pass_is_asked(managed->requested))
		return true;

	g_set_error(error, FILESYSTEM_ERROR, FILESYSTEM_ERROR_IN_USE,
		    "a pass over %s %s: 'dedupctl stop' ends it", managed->mount.mount_point,
		    runs ? "runs already" : "is about to begin");
	return false;
}

void managed_filesystem_run(ManagedFilesystem *managed, char *const *paths, char *const *wishes,
			    RequestedPassAnswer answer, void *data)
{
	g_autoptr(GError) error = NULL;

	if (is_free(managed, &error) && is_not_paused(managed, &error))
		requested_pass_look_up(managed->requested, managed->mount.mount_point, paths,
				       wishes, answer, data);
	else
		answer(error, data);
}

void managed_filesystem_end(ManagedFilesystem *managed, EndReason reason)
{
	if (reason == END_FOR_STOP || reason == END_FOR_SERVICE)
		requested_pass_cancel(managed->requested, managed->mount.mount_point,
				      reason == END_FOR_STOP ? "it was stopped meanwhile"
							     : "the service ends");
	if (reason == END_FOR_STOP) {
		requested_pass_withdraw(managed->requested, managed_pass_runs(managed->pass));
		/* A stopped pass does not continue after the hold that ended it. */
		if (managed_holds_count(managed->holds) > 0 &&
		    managed->schedule.last_pass == LAST_PASS_CUT_SHORT)
			managed->schedule.last_pass = LAST_PASS_OUT_OF_TIME;
	}
	end_pass(managed, reason);
}

void managed_filesystem_pause(ManagedFilesystem *managed, uint64_t usec)
{
	int64_t now_usec = g_get_monotonic_time();

	managed->schedule.is_paused = true;
	managed->schedule.paused_until_usec = 0;
	if (usec > 0 && usec < (uint64_t)(SCHEDULE_NEVER - now_usec))
		managed->schedule.paused_until_usec = now_usec + (int64_t)usec;
	managed_filesystem_end(managed, END_FOR_PAUSE);
	say_changed(managed);
}

void managed_filesystem_resume(ManagedFilesystem *managed)
{
	managed->schedule.is_paused = false;
	say_changed(managed);
}

bool managed_filesystem_forget(ManagedFilesystem *managed, GError **error)
{
	if (managed_pass_runs(managed->pass)) {
		g_set_error(error, FILESYSTEM_ERROR, FILESYSTEM_ERROR_UNSUITABLE,
			    "a pass runs over %s: stop it first", managed->mount.mount_point);
		return false;
	}
	if (!managed->settings) {
		g_set_error(error, FILESYSTEM_ERROR, FILESYSTEM_ERROR_UNSUITABLE,
			    "%s is not enabled", managed->uuid);
		return false;
	}

	managed->mark.is_known = false;
	managed->schedule.last_pass = LAST_PASS_NONE;
	return hash_store_delete(managed->settings->state_directory, managed->uuid, error);
}

ManagedView managed_filesystem_view(const ManagedFilesystem *managed)
{
	bool waits = state_of(managed) == MANAGED_WAITING;
	bool runs = managed_pass_runs(managed->pass);

	return (ManagedView){
		.uuid = managed->uuid,
		.kind = fs_kind_name(managed->mount.identity.kind),
		.mount_point = managed->mount.mount_point ? managed->mount.mount_point : "",
		.refusal = managed->mount.refusal ? managed->mount.refusal : "",
		.state = state_of(managed),
		.is_paused = managed->schedule.is_paused,
		.is_asked = requested_pass_is_asked(managed->requested),
		.waits_for = waits && managed->waits_for ? managed->waits_for : "",
		.waits = managed->answer.reason,
		.waits_usec = managed->answer.until_usec,
		.disk_names = managed->settings ? managed->mount.disk_names : NULL,
		.begun_usec = runs ? managed_pass_begun_usec(managed->pass) : 0,
		.progress = runs ? managed_pass_progress(managed->pass) : NULL,
		.deadline_usec = runs ? managed->deadline_usec : SCHEDULE_NEVER,
		.has_last = managed->has_last,
		.last = &managed->last,
		.n_passes = managed->n_passes,
		.freed_bytes = managed->freed_bytes,
		.read_bytes = managed->read_bytes,
	};
}

uint64_t managed_wall_usec(int64_t monotonic_usec)
{
	if (monotonic_usec <= 0 || monotonic_usec == SCHEDULE_NEVER)
		return 0;

	return (uint64_t)(g_get_real_time() + monotonic_usec - g_get_monotonic_time());
}

int managed_filesystem_report_fd(const ManagedFilesystem *managed)
{
	return managed->report_fd;
}

static void on_preflight(void *data)
{
	const ManagedFilesystem *managed = data;

	managed->listener.due(managed->listener.data);
}

static bool on_hold_look(void *data)
{
	return managed_pass_runs(((const ManagedFilesystem *)data)->pass);
}

static void on_hold_begun(void *data)
{
	managed_filesystem_end(data, END_FOR_HOLD);
}

ManagedFilesystem *managed_filesystem_new(const char *uuid, MainLoop *loop, DiskTable *disks,
					  PassMemory *memory, const ManagedListener *listener)
{
	ManagedFilesystem *managed = g_new0(ManagedFilesystem, 1);
	const PreflightListener on_look = { on_preflight, on_changed, managed };
	const ManagedHoldsListener on_hold = { on_hold_look, on_hold_begun, on_changed, managed };
	const RequestedPassListener on_request = { is_free, on_changed, managed };
	const ManagedPassListener on_pass = { on_changed,   on_found, on_left,
					      on_not_begun, on_ended, managed };

	managed->uuid = g_strdup(uuid);
	managed->disks = disks;
	managed->memory = memory;
	managed->listener = *listener;
	managed->conditions = pass_conditions_new(disks);
	managed->preflight = preflight_new(loop, &on_look);
	managed->holds = managed_holds_new(managed->uuid, loop, &on_hold);
	managed->requested = requested_pass_new(loop, managed->uuid, &on_request);
	managed->pass = managed_pass_new(loop, disks, memory, &on_pass);
	managed->report_fd = -1;
	managed->schedule.last_pass = LAST_PASS_NONE;
	return managed;
}

void managed_filesystem_free(ManagedFilesystem *managed)
{
	if (!managed)
		return;

	managed->listener.changed = NULL;
	managed_filesystem_end(managed, END_FOR_SERVICE);
	managed_pass_finish(managed->pass);
	managed_pass_free(managed->pass);
	managed_holds_free(managed->holds);
	requested_pass_free(managed->requested);
	preflight_free(managed->preflight);
	pass_conditions_free(managed->conditions);
	g_clear_pointer(&managed->settings, settings_unref);
	pass_result_clear(&managed->last);
	fd_close(&managed->report_fd);
	managed_mount_clear(&managed->mount);
	g_free(managed->waits_for);
	g_free(managed->uuid);
	g_free(managed);
}

ManagedHolds *managed_filesystem_holds(const ManagedFilesystem *managed)
{
	return managed->holds;
}
