/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/file/fs-identity.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * MountTable - which btrfs and XFS are mounted: each filesystem once, however many mounts show it.
 *
 * Mounts of one superblock have one device number in mountinfo, of a btrfs too, whatever subvolume
 * they show. What a filesystem is, is asked of itself, through one of its mounts that can be
 * reached; no descriptor is held afterwards.  A mount that another one hides is known, but nothing
 * can be opened through it.
 *
 * A snapshot, never changed once it was read or concluded.  Thread: any.
 */
typedef struct {
	char *target; /* as raw bytes */
	char *root;   /* what of the filesystem it shows, from its top */
	uint64_t id;
	bool is_read_only;
	bool is_reachable; /* no other mount hides it, and the kernel lets it be looked at */
	int failure; /* errno of who looked at it; 0: none, so if it is not reachable it is hidden */
} MountPoint;

typedef struct {
	FsIdentity identity;
	char uuid[FS_UUID_TEXT_BYTES]; /* empty if it could not be asked */
	char *type;                    /* "btrfs", "xfs" */
	char *source;                  /* as mounted: "/dev/sda1" */
	char *options;                 /* its own ones, which hold for all of its mounts */
	uint32_t major, minor;         /* of the superblock; on btrfs of no disk */
	GPtrArray *mount_points;       /* MountPoint, in the order in which they were made */
	char **tags;   /* as in fstab(5), that udev need not tell (DeviceNames); NULL: none */
	bool is_only;  /* no other one has its UUID in the superblock */
	char *refusal; /* why nothing can be shared there; NULL: it can */
} MountedFilesystem;

typedef struct MountTable MountTable;

/* How the kernel is asked; tests have their own. */
typedef struct {
	/*
	 * Whether what @mount_point shows can be reached through its target, as no other mount hides it;
	 * *@ret_failure is set to the errno of a look that failed.
	 */
	bool (*is_reachable)(const MountPoint *mount_point, int *ret_failure);
	/* What the filesystem is, through a mount point that can be reached. */
	bool (*identify)(const MountPoint *mount_point, FsIdentity *ret, GError **error);
	/* Its tags: device_tags_read(); NULL: none. */
	char **(*read_tags)(const MountedFilesystem *filesystem, const char *target);
} MountLook;

/*
 * @mountinfo NULL: /proc/self/mountinfo.  @look NULL: the kernel is asked.  What @earlier knew of
 * a filesystem that is still mounted is taken over, so that it need not be opened, which could be
 * in the way of who unmounts it; NULL: there is none.
 */
MountTable *mount_table_read(const char *mountinfo, const MountLook *look,
			     const MountTable *earlier, GError **error);
void mount_table_free(MountTable *table);

/*
 * The same in steps, for who must not wait for a filesystem that hangs.  First what mountinfo says alone, and
 * what @earlier knew: nothing else is touched.
 */
MountTable *mount_table_list(const char *mountinfo, const MountTable *earlier, GError **error);

/* Then each is looked at, which may hang; on a copy, if somebody else is to read it meanwhile. */
void mounted_filesystem_examine(MountedFilesystem *filesystem, const MountLook *look);
MountedFilesystem *mounted_filesystem_copy(const MountedFilesystem *filesystem);
void mounted_filesystem_free(MountedFilesystem *filesystem);

/* Or it is refused, since it does not answer who looks at it. */
void mounted_filesystem_set_silent(MountedFilesystem *filesystem);

/* Have @filesystem, which is consumed, take the place of the one at @index of all. */
void mount_table_replace(MountTable *table, size_t index, MountedFilesystem *filesystem);

/* At last, with all that is known, it is said of each why nothing can be shared there. */
void mount_table_conclude(MountTable *table);

/* All of them, in the order in which they were mounted first (MountedFilesystem); the table's. */
const GPtrArray *mount_table_filesystems(const MountTable *table);

/*
 * The one with the UUID; with several the first, as the others are refused.  NULL: it is not
 * mounted.
 */
const MountedFilesystem *mount_table_find_uuid(const MountTable *table, const char *uuid);

/* Another one that has the same UUID in its superblock: one of both is a copy.  NULL: there is none. */
const MountedFilesystem *mount_table_find_twin(const MountTable *table,
					       const MountedFilesystem *filesystem);

/* The one of which a mount that is not hidden has the target.  NULL: none has. */
const MountedFilesystem *mount_table_find_target(const MountTable *table, const char *target);

/* The one that goes by @name, one of mounted_filesystem_names().  NULL: none does. */
const MountedFilesystem *mount_table_find_name(const MountTable *table, const char *name);

/*
 * The one that lies on the device that @name is or leads to, or that the tag @name ("LABEL=…") tells.  NULL: none
 * does.
 */
const MountedFilesystem *mount_table_find_device(const MountTable *table, const char *name);

/* Whether it was mounted when the table was read, and was refused or not as now. */
bool mount_table_has(const MountTable *table, const MountedFilesystem *filesystem);

/*
 * Whether the UUID and the label in the superblock name it: a copy (CopyUuid) only while the original is not mounted.
 */
bool mounted_filesystem_goes_by_superblock(const MountedFilesystem *filesystem);

/*
 * By which names the configuration may know it: its UUID, all its targets, and those of its devices (DeviceNames);
 * NULL-terminated, to be freed.
 */
char **mounted_filesystem_names(const MountedFilesystem *filesystem);

/*
 * The targets which together show all of it that can be reached, NULL-terminated, to be freed: of
 * mounts that are writable, or, if none is, of any.  None, if none can be reached.
 */
char **mounted_filesystem_ways(const MountedFilesystem *filesystem);

/* The kind of the filesystem that the resolved @path lies on, as "ext4", to be freed; NULL: not known. */
char *mounted_kind_of(const char *path);

/*
 * Open a directory of the filesystem with this UUID by a mount that can be reached, for reading; -1: it is
 * not mounted, or cannot be opened.
 */
int mount_table_open_uuid(const MountTable *table, const char *uuid);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(MountTable, mount_table_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(MountedFilesystem, mounted_filesystem_free)
