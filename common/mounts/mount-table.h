/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/file/fs-identity.h"
#include "kernel-ioctl/machine/device-links.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * MountTable - the mounted btrfs and XFS filesystems, each once, however many mounts it has.
 *
 * Mounts of one superblock have one device number in mountinfo; on btrfs this is true for all subvolumes.  A
 * filesystem is identified through one of its reachable mounts, and no descriptor stays open.  The table
 * includes a mount that another one hides, but nothing can be opened through it.
 *
 * A snapshot, never changed once it was read or concluded.  Thread: any.
 */
typedef struct {
	char *target; /* as raw bytes */
	char *root;   /* the part of the filesystem that it shows, from its top */
	uint64_t id;
	bool is_read_only;
	bool is_reachable; /* no other mount hides it, and the kernel allows to look at it */
	int failure;       /* errno of the look; 0: none, so an unreachable mount is hidden */
} MountPoint;

typedef struct {
	FsIdentity identity;
	char uuid[FS_UUID_TEXT_BYTES]; /* empty if it is not known */
	char *type;                    /* "btrfs", "xfs" */
	char *source;                  /* as mounted: "/dev/sda1" */
	char *options;                 /* its own ones, which hold for all of its mounts */
	uint32_t major, minor;         /* of the superblock; on btrfs of no disk */
	GPtrArray *mount_points;       /* MountPoint, in the order in which they were made */
	char **tags;   /* as in fstab(5), that udev need not tell (DeviceNames); NULL: none */
	bool is_only;  /* no other one has its UUID in the superblock */
	char *refusal; /* why nothing can be deduplicated there; NULL: it can */
} MountedFilesystem;

typedef struct MountTable MountTable;

/* How to ask the kernel; tests replace it. */
typedef struct {
	/*
	 * True if @mount_point can be reached through its target, since no other mount hides
	 * it.  *@ret_failure is the errno of a look that failed.
	 */
	bool (*is_reachable)(const MountPoint *mount_point, int *ret_failure);
	/* Identify @filesystem through a reachable mount point. */
	bool (*identify)(const MountedFilesystem *filesystem, const MountPoint *mount_point,
			 FsIdentity *ret, GError **error);
	/* Its tags: device_tags_read(); NULL: none. */
	char **(*read_tags)(const MountedFilesystem *filesystem, const char *target);
} MountLook;

/*
 * @mountinfo NULL: /proc/self/mountinfo.  @look NULL: the kernel.  A filesystem that is still mounted is copied
 * from @earlier (NULL: none): opening it could disturb an unmount.
 */
MountTable *mount_table_read(const char *mountinfo, const MountLook *look,
			     const MountTable *earlier, GError **error);
void mount_table_free(MountTable *table);

/*
 * The same in steps, for a caller that must not wait for a filesystem that hangs.  First list what mountinfo
 * and @earlier tell: this touches nothing else.
 */
MountTable *mount_table_list(const char *mountinfo, const MountTable *earlier, GError **error);

/* Then look at each, which may hang.  Use a copy, if another thread reads it meanwhile. */
void mounted_filesystem_examine(MountedFilesystem *filesystem, const MountLook *look);
MountedFilesystem *mounted_filesystem_copy(const MountedFilesystem *filesystem);
void mounted_filesystem_free(MountedFilesystem *filesystem);

/* Or refuse it as unresponsive. */
void mounted_filesystem_set_silent(MountedFilesystem *filesystem);

/* Replace the filesystem at @index by @filesystem, which is consumed. */
void mount_table_replace(MountTable *table, size_t index, MountedFilesystem *filesystem);

/* At the end, set the reasons why nothing can be deduplicated there. */
void mount_table_conclude(MountTable *table);

/* All filesystems (MountedFilesystem) in the order of their first mounts; owned by the table. */
const GPtrArray *mount_table_filesystems(const MountTable *table);

/* The filesystem with the UUID, or the first of several: the others are refused.  NULL: not mounted. */
const MountedFilesystem *mount_table_find_uuid(const MountTable *table, const char *uuid);

/* Another one that has the same UUID in its superblock: one of both is a copy.  NULL: there is none. */
const MountedFilesystem *mount_table_find_twin(const MountTable *table,
					       const MountedFilesystem *filesystem);

/* The filesystem with a visible mount at @target; NULL: none. */
const MountedFilesystem *mount_table_find_target(const MountTable *table, const char *target);

/* The filesystem with the name @name, one of mounted_filesystem_names(); NULL: none. */
const MountedFilesystem *mount_table_find_name(const MountTable *table, const char *name);

/*
 * The one that lies on the device that @name is or leads to, or that the tag @name ("LABEL=…") tells.  NULL: none
 * does.
 */
const MountedFilesystem *mount_table_find_device(const MountTable *table, const char *name);

/* True if the filesystem was mounted when the table was read, and was refused or not as it is now. */
bool mount_table_has(const MountTable *table, const MountedFilesystem *filesystem);

/*
 * Whether the UUID and the label in the superblock name it: a copy (CopyUuid) only while the original is not mounted.
 */
bool mounted_filesystem_goes_by_superblock(const MountedFilesystem *filesystem);

/*
 * By which names the configuration may know it: its UUID, all its targets, and those of its devices (DeviceNames);
 * NULL-terminated, to be freed.  @links are those of /dev.  NULL: they are read for this filesystem.
 */
char **mounted_filesystem_names(const MountedFilesystem *filesystem, DeviceLinks *links);

/*
 * Targets that together show all reachable parts of the filesystem, NULL-terminated, to be freed.  They are
 * writable mounts, unless none is writable.  Empty, if none can be reached.
 */
char **mounted_filesystem_ways(const MountedFilesystem *filesystem);

/*
 * The type of the filesystem that contains the resolved @path, such as "ext4", to be freed; NULL: not known.
 */
char *mounted_kind_of(const char *path);

/*
 * Open a directory of the filesystem with this UUID, through a reachable mount, for reading; -1: not mounted,
 * or it cannot be opened.
 */
int mount_table_open_uuid(const MountTable *table, const char *uuid);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(MountTable, mount_table_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(MountedFilesystem, mounted_filesystem_free)
