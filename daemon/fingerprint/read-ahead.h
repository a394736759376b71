/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/content/block-sums.h"
#include "common/content/sum-cache.h"
#include "daemon/fingerprint/file-job.h"
#include "daemon/fingerprint/reader-pool.h"

/*
 * ReadAhead - the files of a list, one after another, each as parts in the order of the file, while readers read
 * ahead.
 *
 * It opens and maps up to 32 MiB, 4096 parts or 128 files ahead.  In this window a ReaderPool reads in the order of
 * addresses, across files.  The results are given out in the order of the list.
 *
 * Data that several files show is read for the first of them only.  Compressed data is the exception: its blocks
 * have no address of their own.  Holes and unwritten extents are not read.
 *
 * Memory: a piece per reader, the sums of the window, and that of SumCache.  Thread: the filesystem's worker.
 */
typedef struct ReadAhead ReadAhead;

typedef enum {
	PART_DATA,
	PART_HOLE,
	PART_UNWRITTEN,
	PART_INLINE,     /* data in metadata, which cannot be shared */
	PART_UNREADABLE, /* the file cannot be mapped from here on */
} FilePartKind;

/* The origin of the sums of a part. */
typedef enum {
	SUMS_KNOWN,
	SUMS_READ,
	SUMS_CACHED, /* of a part before it, by the time this one is given out */
} SumsOrigin;

typedef struct {
	Piece piece; /* first, as the pool knows no more of it */

	/* Set when it was mapped. */
	FilePartKind kind;
	FileJob *job;
	uint64_t offset;
	uint64_t end; /* may lie behind the end of file, unless the piece is data */
	size_t n_blocks;
	SumsOrigin origin;
	bool is_addressed; /* its blocks lie one after another from piece.physical on */
	bool is_shared;    /* other files show this data, too */
	bool is_clone;     /* the same, at an address of its own, and read */
	bool is_cached;    /* its sums go by its address, which is its own */

	/* Owned by the reader until the part is read. */
	ReadOutcome outcome;
	bool is_special; /* the file must be skipped, for the reason beside */
	SkipReason special;
	uint64_t *sums; /* of its blocks, the last of which is padded with zeros */
} FilePart;

/* All is borrowed; @n_readers threads read through the page cache at a time. */
ReadAhead *read_ahead_new(Pass *pass, ReadList *list, FileOpener *opener, BlockSums *sums,
			  unsigned n_readers, GError **error);
void read_ahead_free(ReadAhead *ahead);

/* The next file; the one before is closed.  NULL at the end of the list. */
bool read_ahead_next(ReadAhead *ahead, FileJob **ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * The next part of that file; the one before is gone.  NULL at the end of the file, and when the
 * pass is stopped.
 */
bool read_ahead_next_part(ReadAhead *ahead, FilePart **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* The sums and stand-ins of blocks by their address; owned by @ahead. */
SumCache *read_ahead_cache(ReadAhead *ahead);

/* End the readers.  Returns the bytes that they made disks read. */
uint64_t read_ahead_end(ReadAhead *ahead);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ReadAhead, read_ahead_free)
