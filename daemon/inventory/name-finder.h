/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/system/name-buffer.h"
#include "daemon/context/pass.h"
#include "hashstore/objects/names.h"
#include "kernel-ioctl/file/file-stat.h"
#include "kernel-ioctl/xfs/xfs-bulkstat.h"

/*
 * NameFinder - learns the names on an XFS: those in directories that changed since they were last read,
 * or, where inodes know their own names (ParentNames) and few are asked for, of the directories that
 * changed and of these files, and reads no directory.
 *
 * Which directories there are tells XfsBulkstat; one is read again if it is new or its times differ from
 * those that the store remembers.  It brings the directories in the store up to date, and gives out the
 * names of all else that lies in what it read, in the order of inodes.
 *
 * Directories are opened by handle, new ones through the directory that they lie in: the kernel looks
 * through the whole of that to connect one that it opened by handle.  Mounts hide nothing from it.
 *
 * Of a store that knows no directory all are read, which may begin before inodes are listed: by a thread
 * of its own, that the store is not told of.  What changes meanwhile has another time when it is listed,
 * or the next time.
 *
 * Memory: a quarter of the pass's limit.
 * Thread: the filesystem's worker.
 */
typedef struct NameFinder NameFinder;

typedef struct {
	uint64_t inode;
	uint64_t parent;
	uint64_t name_hash;
	uint64_t name_position; /* in the NameBuffer */
} FoundName;

/* All are borrowed.  What lies in @state_directory is not looked at. */
NameFinder *name_finder_new(Pass *pass, NameBuffer *names, const FileStat *state_directory);
void name_finder_free(NameFinder *finder);

/*
 * Begin to read all directories, of which the store knows none, where that is faster.  The NameBuffer is not
 * to be used until name_finder_read_changed().
 */
void name_finder_read_ahead(NameFinder *finder);

/* There is such a directory; @known is what the store has of it, or NULL.  Before any is read. */
bool name_finder_meet(NameFinder *finder, const XfsInode *directory, const DirectoryName *known,
		      GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* So many of all files will want names; to be told before any is read. */
void name_finder_expect(NameFinder *finder, uint64_t n_names, uint64_t n_files);

/* Read those that changed. */
bool name_finder_read_changed(NameFinder *finder, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Read all there are, instead of what was read before. */
bool name_finder_read_all(NameFinder *finder, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Whether the names that were found may lack that of a file with this time: it may be newer than they are. */
bool name_finder_may_miss(const NameFinder *finder, int64_t ctime_nsec);

/* Whether files are to be asked for their names: then no name comes from directories. */
bool name_finder_asks_files(const NameFinder *finder);

/* Ask one.  *ret_has: it has a name. */
bool name_finder_ask(NameFinder *finder, uint64_t inode, uint32_t generation, FoundName *ret,
		     bool *ret_has, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The next name; NULL at the end.  The names of one inode come in an order that they keep. */
bool name_finder_next(NameFinder *finder, const FoundName **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
bool name_finder_rewind(NameFinder *finder, GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(NameFinder, name_finder_free)
