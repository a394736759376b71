/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/arguments/named-file.h"

/*
 * DuplicateGroup - files that are equal as a whole, as far as can be told without reading them, and
 * which of them share their data already.
 *
 * Thread: main.
 */
typedef struct {
	char *path; /* as raw bytes */
	uint64_t inode;
	uint64_t subvolume;
	uint32_t uid;
	int64_t mtime_nsec;
	/* Of its data, that of none before it, and of one before it, too; of the first one 0. */
	uint64_t own_bytes;
	uint64_t shared_bytes;
	bool is_shared; /* all of its data is that of one before it, too */
} DuplicateFile;

/* So many files are kept open, to hold others against. */
#define DUPLICATE_KINDS 4

typedef struct {
	uint64_t size_bytes;
	uint64_t reclaimable_bytes; /* that sharing all of them would free at most */
	GPtrArray *files;           /* DuplicateFile */
	/* Of files that share nothing with each other the first ones. */
	NamedFile *kinds[DUPLICATE_KINDS];
	size_t n_kinds;
} DuplicateGroup;

DuplicateGroup *duplicate_group_new(void);
void duplicate_group_free(DuplicateGroup *group);

/* Consumes @file. */
bool duplicate_group_add_take(DuplicateGroup *group, NamedFile *file, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* No more files are added: closes those that are open. */
void duplicate_group_end(DuplicateGroup *group);

/* Whether a file of it lies below the directory. */
bool duplicate_group_has_below(const DuplicateGroup *group, const char *directory);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(DuplicateGroup, duplicate_group_free)
