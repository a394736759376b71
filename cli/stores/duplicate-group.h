/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/arguments/named-file.h"

/*
 * DuplicateGroup - files that are equal as a whole, as far as is known without reading them, and which of them
 * already share their data.
 *
 * Thread: main.
 */
typedef struct {
	char *path; /* as raw bytes */
	uint64_t inode;
	uint64_t subvolume;
	uint32_t uid;
	int64_t mtime_nsec;
	/* Its data that no earlier file has, and that an earlier file has, too; 0 for the first file. */
	uint64_t own_bytes;
	uint64_t shared_bytes;
	bool is_shared; /* an earlier file shares all of its data */
} DuplicateFile;

/* The maximum number of files kept open, to compare others with them. */
#define DUPLICATE_KINDS 4

typedef struct {
	uint64_t size_bytes;
	uint64_t reclaimable_bytes; /* that sharing all files would free at most */
	GPtrArray *files;           /* DuplicateFile */
	/* The first files that share nothing with each other. */
	NamedFile *kinds[DUPLICATE_KINDS];
	size_t n_kinds;
} DuplicateGroup;

DuplicateGroup *duplicate_group_new(void);
void duplicate_group_free(DuplicateGroup *group);

/* Consumes @file. */
bool duplicate_group_add_take(DuplicateGroup *group, NamedFile *file, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Close the open files.  No more files can be added. */
void duplicate_group_end(DuplicateGroup *group);

/* Whether a file of the group lies below the directory. */
bool duplicate_group_has_below(const DuplicateGroup *group, const char *directory);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(DuplicateGroup, duplicate_group_free)
