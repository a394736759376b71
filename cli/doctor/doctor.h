/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/doctor/findings.h"
#include "common/config/config.h"
#include "common/mounts/mount-table.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Doctor - looks whether dedupd can work here, and what would keep it from working well.
 *
 * It changes nothing: what it tries, it tries on unnamed files of its own.
 *
 * Thread: main.
 */

/* What it looks at; tests have their own. */
typedef struct {
	const char *proc;     /* "/proc" */
	const char *sysfs;    /* "/sys" */
	const char *units;    /* "/etc/systemd/system": what is enabled there */
	const char *dev;      /* "/dev" */
	int64_t now_usec;     /* since 1970 */
	const Config *config; /* NULL: it cannot be read */
} DoctorView;

/* Rights, clock, pressure, other deduplicators, units. */
void doctor_look_at_machine(const DoctorView *view, bool service_runs, Findings *findings);

/*
 * What the kernel and the filesystem of @directory_fd, of @kind, can do.  @uuid is what its lock is
 * named by.
 */
void doctor_try_kernel(int directory_fd, FsKind kind, const char *uuid, bool is_read_only,
		       Findings *findings);

/* What is known of the kernel @release on filesystems of @kind. */
void doctor_look_at_kernel(const char *release, FsKind kind, Findings *findings);

/* @options are the filesystem's own ones, as mountinfo has them; may be NULL. */
void doctor_look_at_options(const char *options, FsKind kind, Findings *findings);

/* Quota groups of a btrfs, and what goes on that a pass waits for. */
void doctor_look_at_btrfs_sysfs(const DoctorView *view, const char *uuid, Findings *findings);

/* Subvolumes, snapshots and room for metadata of a btrfs. */
void doctor_look_at_btrfs(int directory_fd, Findings *findings);

/* Room for data, and whose the files are; @across_owners is what is configured (NULL: that cannot be read). */
void doctor_look_at_files(int directory_fd, const DoctorView *view,
			  const OwnersPolicy *across_owners, Findings *findings);

/* The disks below it: scheduler, what the kernel says of platters. */
void doctor_look_at_disks(const DoctorView *view, int directory_fd, Findings *findings);

/* What is remembered of it, in @state_directory. */
void doctor_look_at_store(const DoctorView *view, const char *state_directory, const char *uuid,
			  Findings *findings);

/*
 * Those of @patterns, as Settings has them (NULL: none), that say where they begin, and match nothing at the
 * @mount_point by which passes work.
 */
void doctor_look_at_patterns(const char *mount_point, char *const *patterns, Findings *findings);
