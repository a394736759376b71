/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/manager/filesystem-search.h"
#include "daemon/manager/managed-filesystem.h"
#include "daemon/manager/pass-conditions.h"
#include "daemon/pass/disk-slot.h"
#include "daemon/pass/worker.h"
#include "daemon/settings/run-request.h"
#include "kernel-ioctl/file/write-mark.h"

/*
 * The state that the files that implement ManagedFilesystem share.
 *
 * Thread: main.
 */
struct ManagedFilesystem {
	/* Set at creation, never changed. */
	char *uuid;
	MainLoop *loop;
	DiskTable *disks;
	ManagedListener listener;

	/* The mount, when that was last looked at. */
	bool is_mounted;
	FsIdentity identity;
	dev_t device;
	GPtrArray *lies_on; /* Disk; NULL while it is not to be worked on */
	char **disk_names;  /* of these */
	char *mount_point;
	char **targets; /* of all mounts to work through */
	char *refusal;

	Settings *settings; /* NULL: it is not to be worked on */

	/* The state that the schedule uses. */
	ScheduleState schedule;
	ScheduleAnswer answer;
	PassConditions *hardships;
	char *waits_for; /* in words */
	WriteMark mark;  /* when the last pass began */
	bool has_mark;

	/* The look before a pass, and its result; NULL: none is going on. */
	DetachedTask *look;
	int64_t looked_usec; /* monotonic; 0: not since the last pass began */
	bool is_being_scrubbed;
	/* The task that did not end in time, or was not waited for; NULL: none is left. */
	DetachedTask *left;

	/* Somebody wants a pass over paths, which are looked up; all NULL: nobody does. */
	struct {
		FilesystemSearch *search;
		RunRequest *request;
		RequestedPassAnswer answer;
		void *data;
	} wanted;

	/* Those who hold it, so that no pass is made over it. */
	GPtrArray *holds; /* of managed-hold */
	int hold_fd;      /* a FilesystemHold; below 0: nobody holds it */

	/* The pass that runs: it is looked for first, then worked on. */
	FilesystemSearch *search;
	Filesystem *filesystem;
	Worker *worker;
	DiskSlot *turn;
	Receiver *stage_began; /* messages of the worker */
	Receiver *finished;
	Settings *pass_settings;
	int64_t begun_usec; /* since 1970 */
	Progress progress;
	PassResult result;
	WriteMark begun_mark;
	bool has_begun_mark;
	atomic_bool stop;
	EndReason end_reason;
	bool was_asked;
	RunRequest *request; /* NULL: over all of it; else also before it begins */
	bool asked_again;    /* for a pass over all of it, after that */
	int64_t deadline_usec;

	/* The result of the passes before. */
	bool has_last;
	PassResult last;
	int report_fd; /* a Memfd, which all who ask share; below 0: none */
	uint64_t n_passes, freed_bytes, read_bytes;
};

/* Whether passes can be made over it, now or when something ends that is in the way. */
bool managed_can_be_worked_on(const ManagedFilesystem *managed, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Whether nobody paused it; the error says how to end a pause. */
bool managed_is_not_paused(const ManagedFilesystem *managed, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Have the next look begin a pass, or the end of a pause that came meanwhile. */
void managed_ask(ManagedFilesystem *managed);

void managed_say_changed(ManagedFilesystem *managed);

/* Nobody wants a pass over paths any more that are still looked up: who did is told @why. */
void requested_pass_drop(ManagedFilesystem *managed, const char *why);

/*
 * Tell @state the facts that need the filesystem opened, which a thread does.  Returns false while that goes on:
 * when it has ended, or does not end in time, the listener has the filesystem looked at again.
 */
bool managed_preflight_closer(ManagedFilesystem *managed, ScheduleState *state);

/* Give up what a pass is over, and begin no other while the thread that looks for it hangs. */
void managed_leave_search(ManagedFilesystem *managed);

/* Whether a pass runs, or what it is over is being looked for. */
bool managed_pass_runs(const ManagedFilesystem *managed);

/* Returns false if that could not be, which then is known to the schedule. */
bool managed_pass_begin(ManagedFilesystem *managed, const ScheduleState *state);

/* Have the pass end, if one runs, for @reason. */
void managed_pass_end(ManagedFilesystem *managed, EndReason reason);

/* Wait for the end of the pass that was told to end, if one runs. */
void managed_pass_finish(ManagedFilesystem *managed);

/* The request is done, or cannot be; a pass over all is another matter. */
void managed_drop_request(ManagedFilesystem *managed);

/* Nobody holds it at first. */
void managed_holds_init(ManagedFilesystem *managed);

/* End all holds, as the service ends. */
void managed_holds_clear(ManagedFilesystem *managed);

/* The holders, and their reasons, in words that may name files.  There must be a holder. */
char *managed_holds_text(const ManagedFilesystem *managed);
