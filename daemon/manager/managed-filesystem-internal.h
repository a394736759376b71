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
 * The state of ManagedFilesystem for the files that implement it.
 *
 * Thread: main.
 */
struct ManagedFilesystem {
	/* Set at creation, never changed. */
	char *uuid;
	MainLoop *loop;
	DiskTable *disks;
	ManagedListener listener;

	/* The mount, at the last look. */
	bool is_mounted;
	FsIdentity identity;
	dev_t device;
	GPtrArray *lies_on; /* Disk; NULL while it is disabled */
	char **disk_names;  /* of these */
	char *mount_point;
	char **targets; /* mount points that together show all of it */
	char *refusal;

	Settings *settings; /* NULL: it is disabled */

	/* The state that the schedule uses. */
	ScheduleState schedule;
	ScheduleAnswer answer;
	PassConditions *conditions;
	char *waits_for; /* in words */
	WriteMark mark;  /* when the last pass began */
	bool has_mark;

	/* The preflight check before a pass, and its result; NULL: none is running. */
	DetachedTask *look;
	int64_t looked_usec; /* monotonic; 0: not since the last pass began */
	bool is_being_scrubbed;
	/* A task that did not end in time, or was abandoned; NULL: none. */
	DetachedTask *left;

	/* A caller requests a pass over paths, which are being looked up; all NULL: no request. */
	struct {
		FilesystemSearch *search;
		RunRequest *request;
		RequestedPassAnswer answer;
		void *data;
	} wanted;

	/* The holders; no pass runs while there are any. */
	GPtrArray *holds; /* of managed-hold */
	int hold_fd;      /* a FilesystemHold; below 0: nobody holds it */

	/* The pass that runs: first its paths are looked up. */
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

	/* The results of earlier passes. */
	bool has_last;
	PassResult last;
	int report_fd; /* a Memfd, which all who ask share; below 0: none */
	uint64_t n_passes, freed_bytes, read_bytes;
};

/* Whether passes can run over it, now or after a condition that will end. */
bool managed_can_be_worked_on(const ManagedFilesystem *managed, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Whether it is not paused; the error says how to end a pause. */
bool managed_is_not_paused(const ManagedFilesystem *managed, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Have the next look begin a pass, or the look after a pause. */
void managed_ask(ManagedFilesystem *managed);

void managed_say_changed(ManagedFilesystem *managed);

/* Cancel the pending request for a pass over paths; the requester is told @why. */
void requested_pass_drop(ManagedFilesystem *managed, const char *why);

/*
 * Fill in the facts of @state that need the filesystem opened.  Returns false while a detached task finds them.
 * The listener has the filesystem looked at again when the task ends, or is late.
 */
bool managed_preflight_closer(ManagedFilesystem *managed, ScheduleState *state);

/* Abandon the search for the paths of a pass.  No other pass begins while its thread hangs. */
void managed_leave_search(ManagedFilesystem *managed);

/* Whether a pass runs, or its paths are being looked up. */
bool managed_pass_runs(const ManagedFilesystem *managed);

/* Returns false if the pass cannot begin; the schedule knows of it then. */
bool managed_pass_begin(ManagedFilesystem *managed, const ScheduleState *state);

/* If a pass runs, ask it to end for @reason. */
void managed_pass_end(ManagedFilesystem *managed, EndReason reason);

/* Wait for a pass that was asked to end, if one runs. */
void managed_pass_finish(ManagedFilesystem *managed);

/*
 * Drop the request over paths, which is done or cannot be done.  A pass over all of the filesystem is another
 * matter.
 */
void managed_drop_request(ManagedFilesystem *managed);

/* At first there are no holders. */
void managed_holds_init(ManagedFilesystem *managed);

/* End all holds, as the service ends. */
void managed_holds_clear(ManagedFilesystem *managed);

/* The holders with their reasons, in words that may name files.  There must be a holder. */
char *managed_holds_text(const ManagedFilesystem *managed);
