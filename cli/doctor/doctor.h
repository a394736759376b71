/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/doctor/findings.h"
#include "common/config/config.h"
#include "common/mounts/device-contents.h"
#include "common/mounts/mount-table.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/utsname.h>

/*
 * Doctor - checks whether dedupd can work here, and what would keep it from working well.
 *
 * It changes nothing: experiments use unnamed files of its own.
 *
 * Thread: main.
 */

/* The paths and settings that it examines.  Tests pass their own. */
typedef struct {
	const char *proc;     /* "/proc" */
	const char *sysfs;    /* "/sys" */
	const char *units;    /* "/etc/systemd/system"; NULL: built without systemd */
	const char *dev;      /* "/dev" */
	int64_t now_usec;     /* since 1970 */
	const Config *config; /* NULL: it cannot be read */
} DoctorView;

/* Check rights, clock, pressure, other deduplicators and units. */
void doctor_look_at_machine(const DoctorView *view, bool service_runs, Findings *findings);

/* Try what the kernel and the filesystem of @directory_fd, of @kind, can do.  Its lock is named after @uuid. */
void doctor_try_kernel(int directory_fd, FsKind kind, const char *uuid, bool is_read_only,
		       Findings *findings);

/* Report known bugs of the kernel @system with filesystems of @kind. */
void doctor_look_at_kernel(const struct utsname *system, FsKind kind, Findings *findings);

/* @options are the filesystem's own options from mountinfo; may be NULL. */
void doctor_look_at_options(const char *options, FsKind kind, Findings *findings);

/* Check quota groups of the btrfs filesystem @fsid, and running operations that a pass waits for. */
void doctor_look_at_btrfs_sysfs(const DoctorView *view, const char *fsid, Findings *findings);

/* Check subvolumes, snapshots and free space for metadata of a btrfs filesystem. */
void doctor_look_at_btrfs(int directory_fd, Findings *findings);

/*
 * Check free space for data, and the owners of files.  @across_owners is the configured policy (NULL: it cannot
 * be read).
 */
void doctor_look_at_files(int directory_fd, const DoctorView *view,
			  const OwnersPolicy *across_owners, Findings *findings);

/* Check the disks below the filesystem: scheduler, and whether the kernel takes them for rotational. */
void doctor_look_at_disks(const DoctorView *view, int directory_fd, Findings *findings);

/* Check the filesystem's store in @state_directory. */
void doctor_look_at_store(const DoctorView *view, const char *state_directory, const char *uuid,
			  Findings *findings);

/*
 * Report @patterns (as in Settings; NULL: none) that are anchored to a directory and match nothing at the
 * @mount_point that passes use.
 */
void doctor_look_at_patterns(const char *mount_point, char *const *patterns, Findings *findings);

/*
 * Describe the unmounted device or image @path, which holds @contents, and say whether dedupd could work on it.
 * @with_uuid are the paths of all unmounted devices with its UUID, and @mounted is where a filesystem with it is
 * mounted; NULL: nowhere.
 */
void doctor_look_at_device(const char *path, const DeviceContents *contents, char *const *with_uuid,
			   const char *mounted, Findings *findings);
