/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/system/name-buffer.h"
#include "daemon/inventory/read-list.h"
#include "daemon/inventory/same-sizes.h"
#include "hashstore/objects/objects.h"

/*
 * FileMerge - compares each file that the pass met with the store's record of it, and acts on the difference.
 *
 * The caller finds the files, by walking or by listing inodes, and calls these functions once for each.
 *
 * Thread: the filesystem's worker.
 */
typedef struct FileMerge FileMerge;

/* Flags that say whether an object may be a target. */
#define OBJECT_RIGHTS ((unsigned)(OBJECT_FOREIGN | OBJECT_IMMUTABLE))

/* A regular file as the pass met it. */
typedef struct {
	uint64_t subvolume;
	uint64_t inode;
	uint64_t parent;
	uint64_t name_hash;
	uint64_t name_position; /* in the NameBuffer */
	uint64_t physical;      /* its first byte on the disk; 0: not known */
	Stamp stamp;
	uint32_t generation; /* 0: not known */
	unsigned rights;     /* OBJECT_RIGHTS that it has */
	uint32_t changes;    /* in a row, this one included, if it is to be read */
	bool is_plain;       /* no flag of the inode concerns its data */
} FileRecord;

typedef enum {
	FILE_KEPT, /* nothing is to be done */
	FILE_TO_READ,
	FILE_TO_READ_ON, /* the store has a half of it */
	FILE_DOUBTED,    /* its row gets the new ctime, and the day */
	FILE_LEFT,       /* it always changes, so it is not read yet */
	FILE_NOTED,      /* its row gets its new name or rights */
} FileAction;

/* All are borrowed; @sizes is NULL if all files are read, whatever their sizes. */
FileMerge *file_merge_new(Pass *pass, NameBuffer *names, ReadList *to_read, SameSizes *sizes);
void file_merge_free(FileMerge *merge);

/*
 * Call first.  If no pass has read the files again that relied on dropped stand-ins, all stand-ins count as lost.
 */
bool file_merge_begin(FileMerge *merge, GError **error) G_GNUC_WARN_UNUSED_RESULT;

uint64_t file_merge_name_hash(const void *name, size_t bytes);

/* Whether an earlier pass fingerprinted the object, and none has matched it with the whole store. */
bool file_merge_is_unsettled(const FileMerge *merge, const Object *known);

/*
 * Count a file that the store knows, and return what to do.  Names do not matter.  The caller counts a skipped
 * file: FILE_LEFT, and FILE_KEPT with OBJECT_SKIPPED.
 */
FileAction file_merge_judge(FileMerge *merge, FileRecord *seen, const Object *known);

/* Do it; @seen has its name by now.  @known may be NULL for FILE_TO_READ. */
bool file_merge_act(FileMerge *merge, FileAction action, const FileRecord *seen,
		    const Object *known, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Count a file that is gone, and drop it from the store. */
bool file_merge_forget(FileMerge *merge, const Object *known, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Record that a file that always changes is skipped for a time. */
bool file_merge_leave(FileMerge *merge, const Object *known, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* With --read=same-size: compare others with the file, although it need not be read itself. */
bool file_merge_add_known(FileMerge *merge, FileAction action, const FileRecord *seen,
			  const Object *known, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Write out dirty data, once: when all files to read are listed. */
bool file_merge_flush(FileMerge *merge, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Forget what was counted: the files are found once more in another way. */
void file_merge_restart(FileMerge *merge);

/*
 * All files were met.  List the files that relied on others that are gone or changed.  If the pass did not see all
 * files (@sees_all), a later pass that does will list them.
 */
bool file_merge_list_relying(FileMerge *merge, bool sees_all, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Have objects matched again that could only be sources until now.  Also after a failure: their rows are changed. */
bool file_merge_renew_regained(FileMerge *merge, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* All listed files were read: those that relied on others, too. */
bool file_merge_finish_reading(FileMerge *merge, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The number of unsettled objects that were met. */
uint64_t file_merge_unsettled(const FileMerge *merge);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(FileMerge, file_merge_free)
