/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/files/skip.h"
#include "daemon/context/filesystem.h"
#include "hashstore/hash-store.h"
#include "hashstore/objects/objects.h"
#include "kernel-ioctl/file/open-file.h"

/*
 * FileOpener - opens files that the store names: by handle where that is permitted and the
 * generation is known, else by climbing from the directory names that the store keeps.
 *
 * Directories passed on the way stay open, at most 64 of them.
 *
 * Thread: as Pass.
 */
typedef struct FileOpener FileOpener;

typedef struct {
	FileId id; /* generation 0: not known yet */
	uint64_t parent;
	const char *name; /* NUL-terminated */
} NamedFile;

/* Both are borrowed. */
FileOpener *file_opener_new(const Filesystem *filesystem, HashStore *store);
void file_opener_free(FileOpener *opener);

/* Whether it opens the file by names, which it asks the store for.  If not, file_opener_open() may be called by any thread. */
bool file_opener_needs_names(const FileOpener *opener, uint64_t generation);

/*
 * If names were used, the opened file may be another one: the caller compares inode and stamp.  *ret_errno as for
 * open_file_at().
 */
OpenOutcome file_opener_open(FileOpener *opener, const NamedFile *file, int *ret_fd,
			     int *ret_errno);

/* The same for @object.  Opening by name asks the store, which may overwrite the row. */
OpenOutcome file_opener_open_object(FileOpener *opener, const Object *object, int *ret_fd,
				    int *ret_errno);

/* The file of @object, if it opens and still has its stamp, ctime included; else -1. */
int file_opener_open_unchanged(FileOpener *opener, const Object *object);

/*
 * A directory of the store's names, open as O_PATH.  The opener owns it until the next call.
 * Returns -1 if the names do not lead to it, or lead to another directory by now.
 */
int file_opener_directory(FileOpener *opener, uint64_t subvolume, uint64_t inode);

/* The absolute path by the names in the store; "?/name" if they do not reach a root. */
char *file_opener_path(FileOpener *opener, uint64_t subvolume, uint64_t parent, const char *name);

/* Why a file that did not open is skipped. */
SkipReason file_opener_skip_reason(OpenOutcome outcome);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(FileOpener, file_opener_free)
