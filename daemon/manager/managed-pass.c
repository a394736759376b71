/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/manager/managed-pass.h"

#include "common/config/time-window.h"
#include "common/mounts/filesystem-lock.h"
#include "common/system/memfd.h"
#include "daemon/pass/disk-slot.h"
#include "daemon/pass/worker.h"
#include "daemon/report/report.h"
#include "kernel-ioctl/machine/disk-topology.h"
#include "kernel-ioctl/machine/power-supply.h"

#include <malloc.h>
#include <stdlib.h>

struct ManagedPass {
	/* Set at creation, never changed. */
	MainLoop *loop;
	DiskTable *disks;
	PassMemory *memory;
	ManagedPassListener listener;

	/* First its paths are looked up. */
	FilesystemSearch *search;
	bool is_over_paths;
	Filesystem *filesystem;
	Worker *worker;
	DiskSlot *slot;
	uint64_t memory_bytes; /* taken */
	Receiver *stage_began; /* messages of the worker */
	Receiver *finished;
	Settings *settings;
	int64_t begun_usec; /* since 1970 */
	Progress progress;
	PassResult result;
	atomic_bool stop;
	EndReason reason;
};

ManagedPass *managed_pass_new(MainLoop *loop, DiskTable *disks, PassMemory *memory,
			      const ManagedPassListener *listener)
{
	ManagedPass *pass = g_new0(ManagedPass, 1);

	pass->loop = loop;
	pass->disks = disks;
	pass->memory = memory;
	pass->listener = *listener;
	return pass;
}

void managed_pass_free(ManagedPass *pass)
{
	g_free(pass);
}

bool managed_pass_runs(const ManagedPass *pass)
{
	return pass->search || pass->worker;
}

bool managed_pass_is_ending(const ManagedPass *pass)
{
	return atomic_load(&pass->stop);
}

const Settings *managed_pass_settings(const ManagedPass *pass)
{
	return pass->settings;
}

const Progress *managed_pass_progress(const ManagedPass *pass)
{
	return &pass->progress;
}

int64_t managed_pass_begun_usec(const ManagedPass *pass)
{
	return pass->begun_usec;
}

bool managed_pass_is_outside_window(const ManagedPass *pass)
{
	return !time_windows_are_open(pass->settings->windows, time(NULL));
}

bool managed_pass_has_to_spare_battery(const ManagedPass *pass)
{
	return pass->settings->on_battery == HARDSHIP_PAUSE &&
	       power_supply_is_battery(disk_topology_system()->sysfs);
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

static void say_changed(ManagedPass *pass)
{
	pass->listener.changed(pass->listener.data);
}

/* The search of a caller's paths may hang on another filesystem. */
static void leave_search(ManagedPass *pass)
{
	if (pass->is_over_paths)
		g_clear_pointer(&pass->search, filesystem_search_free);
	else if (pass->search)
		pass->listener.leave(g_steal_pointer(&pass->search), pass->listener.data);
}

/* Release what a running pass holds. */
static void let_go(ManagedPass *pass)
{
	leave_search(pass);
	pass->progress.stage_began = NULL;
	g_clear_pointer(&pass->stage_began, receiver_close);
	g_clear_pointer(&pass->finished, receiver_close);
	g_clear_pointer(&pass->filesystem, filesystem_free);
	g_clear_pointer(&pass->slot, disk_slot_free);
	pass_memory_give_back(pass->memory, pass->memory_bytes);
	pass->memory_bytes = 0;
	g_clear_pointer(&pass->settings, settings_unref);
}

bool ended_pass_was_for(const EndedPass *ended, EndReason reason)
{
	return ended->was_ended && ended->reason == reason &&
	       ended->result.outcome == PASS_INTERRUPTED && !ended->result.stopped_reason;
}

static int report_of(const ManagedPass *pass, const PassResult *result)
{
	ReportedPass reported = { pass->filesystem, result };
	char *json = report_json(pass->settings, &reported, 1);
	int fd = memfd_new(json);

	free(json);
	return fd;
}

/* Take the result of the pass that ended. */
static EndedPass take_result(ManagedPass *pass)
{
	EndedPass ended = {
		.result = pass->result,
		.was_locked = g_error_matches(pass->result.error, FILESYSTEM_LOCK_ERROR,
					      FILESYSTEM_LOCK_ERROR_IN_USE),
		.was_ended = atomic_load(&pass->stop),
		.reason = pass->reason,
		.report_fd = -1,
	};

	pass->result = (PassResult){ 0 };
	/* The pass may have ended before it looked for holds itself. */
	if (ended_pass_was_for(&ended, END_FOR_HOLD)) {
		ended.result.is_on_hold = true;
		ended.result.stopped_reason = g_strdup("somebody has put it on hold");
	}
	if (!ended.was_locked)
		ended.report_fd = report_of(pass, &ended.result);
	return ended;
}

void managed_pass_finish(ManagedPass *pass)
{
	EndedPass ended;

	if (!pass->worker)
		return;

	worker_join(g_steal_pointer(&pass->worker));
	ended = take_result(pass);
	pass->listener.ended(&ended, pass->listener.data);
	let_go(pass);
	trim_heap();
	say_changed(pass);
}

static void on_finished(void *content, void *data)
{
	managed_pass_finish(data);
}

static void on_stage_began(void *content, void *data)
{
	say_changed(data);
}

static bool start_worker(ManagedPass *pass, GError **error)
{
	MessageQueue *messages = pass->loop->messages;

	pass->stage_began = receiver_new(messages, on_stage_began, NULL, pass);
	pass->finished = receiver_new(messages, on_finished, NULL, pass);
	pass->progress.stage_began = pass->stage_began;
	pass->worker = worker_start(pass->settings, pass->filesystem, pass->disks, &pass->stop,
				    &pass->progress, &pass->result, pass->finished, error);
	return pass->worker;
}

static void on_found(GPtrArray *found, const GError *failure, void *data)
{
	ManagedPass *pass = data;
	g_autoptr(GError) error = NULL;

	if (found)
		pass->filesystem = pass->listener.take(found, pass->listener.data, &error);
	else
		error = g_error_copy(failure);
	leave_search(pass);
	if (!error && start_worker(pass, &error)) {
		say_changed(pass);
		return;
	}

	let_go(pass);
	pass->listener.not_begun(error, pass->listener.data);
}

bool managed_pass_take_slot(ManagedPass *pass, const GPtrArray *disks)
{
	pass->slot = disk_slot_take(pass->disks, disks);
	return pass->slot;
}

/* The settings are those of this moment, whenever the pass was requested. */
static bool take_settings(ManagedPass *pass, const RunRequest *request, Settings *settings,
			  GError **error)
{
	pass->settings =
		request ? run_request_settings(request, settings, error) : settings_ref(settings);
	return pass->settings;
}

bool managed_pass_begin(ManagedPass *pass, char *const *paths, const RunRequest *request,
			Settings *settings, GError **error)
{
	pass->begun_usec = g_get_real_time();
	pass->progress = (Progress){ 0 };
	atomic_store(&pass->stop, false);
	pass->is_over_paths = request;
	pass->memory_bytes = pass_memory_take(pass->memory, settings);
	if (take_settings(pass, request, settings, error))
		pass->search = filesystem_search_new(
			pass->loop, request ? SEARCH_FOR_CALLER : SEARCH_FOR_PASS,
			request ? request->paths : paths, on_found, pass, error);
	if (!pass->search)
		let_go(pass);
	return pass->search;
}

bool managed_pass_end(ManagedPass *pass, EndReason reason)
{
	if (pass->search) {
		let_go(pass);
		return true;
	}
	if (!pass->worker || atomic_load(&pass->stop))
		return false;

	pass->reason = reason;
	atomic_store(&pass->stop, true);
	say_changed(pass);
	return false;
}
