/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/disks/disk-table.h"
#include "daemon/context/pass-result.h"
#include "daemon/context/progress.h"
#include "daemon/manager/filesystem-search.h"
#include "daemon/manager/pass-memory.h"
#include "daemon/settings/run-request.h"

/*
 * ManagedPass - the pass of the service over one filesystem, from the search for its paths to its result.
 *
 * It is reused: at any time, one pass runs or none.  It knows nothing of the schedule.
 *
 * Thread: main.
 */
typedef struct ManagedPass ManagedPass;

/* Why a pass is asked to end. */
typedef enum {
	END_FOR_STOP,    /* on request, until it changes again */
	END_FOR_PAUSE,   /* until it is resumed */
	END_FOR_HOLD,    /* while somebody holds it */
	END_FOR_TIME,    /* the window closes, or its time is over */
	END_FOR_BATTERY, /* until the machine has power again */
	END_FOR_UNMOUNT, /* it was unmounted lazily: until it is mounted again */
	END_FOR_SERVICE, /* the service ends */
} EndReason;

/* A pass that ended. */
typedef struct {
	PassResult result;
	bool was_locked; /* another process was quicker, so it did not begin */
	bool was_ended;  /* for @reason, if it did not end by itself */
	EndReason reason;
	int report_fd; /* a Memfd with the report as JSON */
} EndedPass;

/* Whether @reason alone ended the pass. */
bool ended_pass_was_for(const EndedPass *ended, EndReason reason);

typedef struct {
	/* The stage, or whether a pass runs. */
	void (*changed)(void *data);
	/* Take the filesystem from the search (an element may be stolen).  NULL: it is another one. */
	Filesystem *(*take)(GPtrArray *found, void *data, GError **error);
	/* A search for its paths is given up; it is consumed. */
	void (*leave)(FilesystemSearch *search, void *data);
	void (*not_begun)(const GError *error, void *data);
	/* The result and the report are consumed. */
	void (*ended)(EndedPass *ended, void *data);
	void *data;
} ManagedPassListener;

/* @disks and @memory are borrowed.  @memory may be NULL: then it limits nothing. */
ManagedPass *managed_pass_new(MainLoop *loop, DiskTable *disks, PassMemory *memory,
			      const ManagedPassListener *listener);

/* No pass may run. */
void managed_pass_free(ManagedPass *pass);

/* Take the slots of @disks for the pass that begins next.  Returns false if another pass has one of them. */
bool managed_pass_take_slot(ManagedPass *pass, const GPtrArray *disks);

/*
 * Begin a pass over @paths, or over those of @request (NULL: none), with @settings.  Of these, the pass keeps a
 * reference to the settings alone.  It takes memory of PassMemory.  If it cannot begin, this and the slots are given back.
 */
bool managed_pass_begin(ManagedPass *pass, char *const *paths, const RunRequest *request,
			Settings *settings, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Whether a pass runs, or its paths are being looked up. */
bool managed_pass_runs(const ManagedPass *pass);

/* Of a pass that runs: whether it was asked to end, its settings, its progress, and when it began (since 1970). */
bool managed_pass_is_ending(const ManagedPass *pass);
const Settings *managed_pass_settings(const ManagedPass *pass);
const Progress *managed_pass_progress(const ManagedPass *pass);
int64_t managed_pass_begun_usec(const ManagedPass *pass);

/* The same: whether its windows are closed by now, also if the clock was set or the machine slept. */
bool managed_pass_is_outside_window(const ManagedPass *pass);

/* The same: whether the machine runs on battery, and its settings forbid it to go on then. */
bool managed_pass_has_to_spare_battery(const ManagedPass *pass);

/*
 * If a pass runs, ask it to end for @reason; ended() follows.  Returns true if it was given up at once, because its
 * paths were not found yet: ended() does not follow.
 */
bool managed_pass_end(ManagedPass *pass, EndReason reason);

/* Wait for a pass that was asked to end, if one runs. */
void managed_pass_finish(ManagedPass *pass);
