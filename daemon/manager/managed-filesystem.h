/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/config/settings.h"
#include "common/disks/disk-table.h"
#include "common/mounts/mount-table.h"
#include "common/text/managed-state.h"
#include "daemon/manager/managed-hold.h"
#include "daemon/manager/managed-pass.h"
#include "daemon/manager/pass-memory.h"
#include "daemon/manager/requested-pass.h"
#include "daemon/manager/schedule.h"
#include "kernel-ioctl/machine/disk-topology.h"

/*
 * ManagedFilesystem - one filesystem of the service: its settings, the reason to wait, the running pass, and the
 * result of the last one.
 *
 * While no pass runs, it has no descriptor on the filesystem, which can be unmounted.
 *
 * Owned by the Manager.  Thread: main.
 */
typedef struct ManagedFilesystem ManagedFilesystem;

typedef struct {
	/* A property that the bus shows changed, and a look is due. */
	void (*changed)(ManagedFilesystem *managed, void *data);
	/* A look is due. */
	void (*due)(void *data);
	void *data;
} ManagedListener;

/* @disks and @memory are borrowed; they serve all filesystems.  @memory may be NULL: then it limits nothing. */
ManagedFilesystem *managed_filesystem_new(const char *uuid, MainLoop *loop, DiskTable *disks,
					  PassMemory *memory, const ManagedListener *listener);

/* Ends the pass and waits for it: see managed_filesystem_end(). */
void managed_filesystem_free(ManagedFilesystem *managed);

/* Set the present mount, which is copied.  NULL: it is unmounted, and a running pass is asked to end. */
void managed_filesystem_set_mounted(ManagedFilesystem *managed, const MountedFilesystem *mounted);

/*
 * Set the settings from the next pass on, and look for its disks in @topology; a reference to @settings is kept.  NULL:
 * the filesystem is disabled.
 */
void managed_filesystem_set_settings(ManagedFilesystem *managed, Settings *settings,
				     const DiskTopology *topology);

/* Whether it has settings. */
bool managed_filesystem_is_enabled(const ManagedFilesystem *managed);

/* The directory of its store; NULL: it is not enabled. */
const char *managed_filesystem_state_directory(const ManagedFilesystem *managed);

/*
 * Look whether a pass has to begin, and begin it.  Returns when to look again at the latest, on the clock of
 * g_get_monotonic_time().  SCHEDULE_NEVER: time alone changes nothing.  @topology shows the state of its devices.
 */
int64_t managed_filesystem_look(ManagedFilesystem *managed, const DiskTopology *topology);

/* Request a pass as soon as possible.  Errors: not mounted, refused, disabled, paused. */
bool managed_filesystem_start(ManagedFilesystem *managed, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Request a pass over @paths alone, with @wishes (see RunRequest).  The rest of the filesystem is still due
 * afterwards.  Only a detached task touches @paths, so @answer is called once, now or later.
 */
void managed_filesystem_run(ManagedFilesystem *managed, char *const *paths, char *const *wishes,
			    RequestedPassAnswer answer, void *data);

/*
 * If a pass runs, ask it to end.  It ends within two seconds and keeps all that it learned.  A pass over paths
 * continues after END_FOR_PAUSE and END_FOR_HOLD; after other reasons it has to be requested again.
 */
void managed_filesystem_end(ManagedFilesystem *managed, EndReason reason);

/* Begin no pass for @usec, or until it is resumed (0).  A running pass is ended. */
void managed_filesystem_pause(ManagedFilesystem *managed, uint64_t usec);
void managed_filesystem_resume(ManagedFilesystem *managed);

/* Its holders. */
ManagedHolds *managed_filesystem_holds(const ManagedFilesystem *managed);

/* Delete its store.  An error while a pass runs. */
bool managed_filesystem_forget(ManagedFilesystem *managed, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* The visible state; strings are valid until the main loop goes on. */
typedef struct {
	const char *uuid;
	const char *kind;
	const char *mount_point;
	const char *refusal; /* "" if there is none */
	ManagedState state;
	bool is_paused;
	bool is_asked;            /* a pass was requested, and has not ended yet */
	const char *waits_for;    /* in MANAGED_WAITING, in words; else "" */
	WaitReason waits;         /* the same */
	int64_t waits_usec;       /* until when, on the monotonic clock; SCHEDULE_NEVER */
	char *const *disk_names;  /* NULL-terminated; NULL: it is disabled */
	int64_t begun_usec;       /* when the pass that runs began, since 1970; 0 */
	const Progress *progress; /* of the pass that runs; NULL */
	int64_t deadline_usec;    /* of it; SCHEDULE_NEVER */
	bool has_last;            /* a pass ended since the service began */
	const PassResult *last;
	uint64_t n_passes, freed_bytes, read_bytes; /* since the service began */
} ManagedView;

ManagedView managed_filesystem_view(const ManagedFilesystem *managed);

/* A time of the view on the clock since 1970; 0: SCHEDULE_NEVER, or 0. */
uint64_t managed_wall_usec(int64_t monotonic_usec);

/* A Memfd with the report of the last pass as JSON, which is borrowed; below 0: there is none. */
int managed_filesystem_report_fd(const ManagedFilesystem *managed);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ManagedFilesystem, managed_filesystem_free)
