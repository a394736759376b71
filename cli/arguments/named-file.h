/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/call/file-id.h"
#include "kernel-ioctl/file/file-stat.h"
#include "kernel-ioctl/file/fs-identity.h"

#include <glib.h>
#include <stdbool.h>

/*
 * NamedFile - a regular file named on the command line, open for reading.
 *
 * Links are followed, as usual for typed names.  Only regular files are opened.  Paths may be longer than
 * PATH_MAX.
 *
 * Thread: main.
 */
typedef struct {
	char *path; /* absolute, without links unless it is longer than PATH_MAX */
	char *name; /* as typed, escaped */
	char *text; /* @name, for messages */
	int fd;
	FileStat stat;
	FsIdentity identity; /* btrfs or XFS */
	uint64_t subvolume;  /* 0 on XFS */
} NamedFile;

/* The filesystem and the subvolume of the last one of many files; all zeros: none yet. */
typedef struct {
	FsIdentity identity;
	uint64_t subvolume;
	uint32_t device_major, device_minor;
} LastFilesystem;

/*
 * The error names the file as typed, and says why it could not be opened.  With @last, the filesystem of a file on
 * the same device as the last one is not asked again; NULL: always.
 */
NamedFile *named_file_open(const char *typed, LastFilesystem *last, GError **error);

/*
 * Open a file by its number, on the filesystem @identity that @fd lies on.  NULL: the file does not exist, or
 * may not be read.  Consumes @path, which is a path of the file and is not checked.
 */
NamedFile *named_file_open_by_id_take(int fd, const FsIdentity *identity, const FileId *id,
				      char *path);
void named_file_close(NamedFile *file);

/* Whether both files lie on one mounted filesystem, so that they could share blocks. */
bool named_files_are_neighbours(const NamedFile *one, const NamedFile *other);

/* Whether both are the same file, possibly under different names. */
bool named_files_are_same(const NamedFile *one, const NamedFile *other);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(NamedFile, named_file_close)
