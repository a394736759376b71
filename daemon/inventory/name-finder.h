/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/system/name-buffer.h"
#include "daemon/context/pass.h"
#include "hashstore/objects/names.h"
#include "kernel-ioctl/file/file-stat.h"
#include "kernel-ioctl/xfs/xfs-bulkstat.h"

/*
 * NameFinder - finds names on XFS.  It reads directories that changed since they were last read.  If inodes know
 * their names (ParentNames) and few are needed, it reads no directory and asks these inodes.
 *
 * XfsBulkstat lists the directories.  A directory is read again if it is new, or if its times differ from those in
 * the store.  The finder updates the directories in the store, and gives out the names of all other files in them
 * in inode order.
 *
 * Directories are opened by handle, new ones by name through their parent: to connect a directory opened by handle,
 * the kernel searches all of its parent.  Mounts hide nothing.
 *
 * If the store knows no directory, all are read.  A thread may do this while inodes are listed; it does not touch
 * the store.  A directory that changes meanwhile has another time when it is listed, or in the next pass.
 *
 * Memory: a quarter of the pass's limit.  Thread: the filesystem's worker.
 */
typedef struct NameFinder NameFinder;

typedef struct {
	uint64_t inode;
	uint64_t parent;
	uint64_t name_hash;
	uint64_t name_position; /* in the NameBuffer */
} FoundName;

/* All are borrowed.  The finder ignores @state_directory. */
NameFinder *name_finder_new(Pass *pass, NameBuffer *names, const FileStat *state_directory);
void name_finder_free(NameFinder *finder);

/*
 * Begin to read all directories in a thread, if that is faster; the store knows none.  The NameBuffer must not be
 * used until name_finder_read_changed().
 */
void name_finder_read_ahead(NameFinder *finder);

/* A directory exists; @known is the store's record of it, or NULL.  Call it before any is read. */
bool name_finder_meet(NameFinder *finder, const XfsInode *directory, const DirectoryName *known,
		      GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Announce that @n_names of @n_files files need names, before any directory is read. */
void name_finder_expect(NameFinder *finder, uint64_t n_names, uint64_t n_files);

/* Read the directories that changed. */
bool name_finder_read_changed(NameFinder *finder, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Read all directories, and forget the names found before. */
bool name_finder_read_all(NameFinder *finder, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Whether the names found may lack that of a file with this ctime: it may be newer than they are. */
bool name_finder_may_miss(const NameFinder *finder, int64_t ctime_nsec);

/* Whether to ask files for their names: then no name comes from directories. */
bool name_finder_asks_files(const NameFinder *finder);

/* Ask a file.  *ret_has: it has a name. */
bool name_finder_ask(NameFinder *finder, uint64_t inode, uint32_t generation, FoundName *ret,
		     bool *ret_has, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The next name; NULL at the end.  The names of one inode come in the same order in each pass. */
bool name_finder_next(NameFinder *finder, const FoundName **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
bool name_finder_rewind(NameFinder *finder, GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(NameFinder, name_finder_free)
