/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/files/stamp.h"
#include "daemon/context/file-opener.h"
#include "daemon/context/pass.h"

/*
 * ReadList - the files that a pass has to read, in their order on the disk.
 *
 * Memory: a quarter of the pass's limit.  Thread: the filesystem's worker.
 */
typedef struct ReadList ReadList;

typedef struct {
	FileId id; /* generation 0: could not be found out */
	Stamp stamp;
	uint64_t parent;
	uint64_t physical;    /* where it begins on the disk; 0: to be found out */
	uint32_t half_object; /* a half-read version to go on with; 0: none */
	bool is_foreign;      /* this process may not share onto it */
	bool has_checksums;   /* its blocks are known by these: see BlockSums */
	bool is_plain;        /* nothing of it is compressed, or is to be shared away */
	bool is_by_extents;   /* its sums are kept with its extents: see ExtentReads */
	bool is_whole;        /* only its digest as a whole is wanted */
	uint32_t changes;     /* how many in a row were met, this one included */
	uint64_t head;        /* digest of its first blocks; 0: not known */
	const char *name;     /* of an item that was given out valid until the next one */
} ReadItem;

ReadList *read_list_new(Pass *pass, FileOpener *opener);
void read_list_free(ReadList *list);

/* Add a file.  Its place and generation are looked up if they are not known.  Dirty data has no place yet. */
bool read_list_add(ReadList *list, const ReadItem *item, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Call once, when all were added. */
bool read_list_sort(ReadList *list, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The next file; NULL at the end. */
bool read_list_next(ReadList *list, const ReadItem **ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* All files that were added, and their bytes. */
uint64_t read_list_files(const ReadList *list);
uint64_t read_list_bytes(const ReadList *list);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ReadList, read_list_free)
