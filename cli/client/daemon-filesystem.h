/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* DaemonHold - a hold of a filesystem, which keeps passes off it. */
typedef struct {
	uint32_t uid, pid; /* pid 0: not known */
	uint64_t since_usec;
	char *why; /* "" also for a caller who may not know it */
} DaemonHold;

/*
 * DaemonFilesystem - what the running dedupd says of one filesystem.  Times are microseconds since 1970, 0:
 * none.
 *
 * Thread: main.
 */
typedef struct {
	char *uuid, *kind, *mount_point, *state, *refusal, *waits_for, *wait_reason, *stage;
	char *last_outcome, *last_error, *state_directory;
	char **disks;     /* kernel names of its disks; none unless it is enabled */
	GPtrArray *holds; /* DaemonHold */
	bool is_paused, is_asked;
	uint64_t waits_until_usec, deadline_usec, pass_started_usec, stage_started_usec;
	uint64_t stage_files, stage_bytes, stage_total_bytes, pass_freed_bytes;
	uint64_t last_started_usec, last_ended_usec, last_freed_bytes, last_exit_status;
	uint64_t freed_bytes, passes;
} DaemonFilesystem;

/* Append a copy of @hold with @why to *@holds, which is created if it is NULL. */
void daemon_filesystem_add_hold(GPtrArray **holds, const DaemonHold *hold, const char *why);

void daemon_filesystem_free(DaemonFilesystem *filesystem);

/* @path as the service reports mount points: it escapes those that are not UTF-8.  To be freed. */
char *daemon_filesystem_mount_text(const char *path);

/*
 * Whether any of @names means this filesystem: its UUID, or a path of its mount point.  @names is NULL-terminated,
 * or NULL.  If @called is not NULL, called[i] becomes true if names[i] means it.
 */
bool daemon_filesystem_is_any(const DaemonFilesystem *filesystem, char *const *names, bool *called);

/*
 * The filesystem among @all (DaemonFilesystem) that @typed means; NULL: none.  An unmounted filesystem keeps
 * its mount point, so one that is mounted there now is preferred.
 */
const DaemonFilesystem *daemon_filesystem_find(const GPtrArray *all, const char *typed);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(DaemonFilesystem, daemon_filesystem_free)
