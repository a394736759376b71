/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/disks/page-cache-budget.h"
#include "common/disks/throttle.h"

#include <glib.h>
#include <stdatomic.h>
#include <stdint.h>

/*
 * FileReader - reads one open file within the budget of the disks, and restores the page cache.
 *
 * It reads exactly the requested ranges (POSIX_FADV_RANDOM: no readahead), unless the rest of the file will
 * be read.  It divides the file into windows of 16 MiB.  The parts of a window that were not cached before are
 * dropped again, in pieces of 1 MiB, after at most four more windows.  Exceptions are held windows, and
 * uncached ones that PageCacheBudget takes.
 *
 * The owner may hold ranges, which other threads then read.  It may have them read directly, past the page cache:
 * this takes a tenth of the processor time, and displaces no pages.
 *
 * Thread: its owner; functions that say so: any.  Several owners may hold, fetch and read ranges of one reader at a time,
 * and ask whether it has other users.  None drops data that another one holds.
 */
#define FILE_READER_PIECE_BYTES  (UINT64_C(1) << 20)
#define FILE_READER_WINDOW_BYTES (UINT64_C(16) << 20)

typedef struct FileReader FileReader;

typedef enum {
	READ_DONE,
	READ_STOPPED,
	READ_SHORT,      /* the file ends before the range does */
	READ_UNREADABLE, /* EIO and the like */
} ReadOutcome;

/*
 * Buffers for direct reads have this alignment, and room for a length that is rounded up to it.  They were written to
 * before: for a page that is not in memory, btrfs uses the page cache.
 */
#define FILE_READER_ALIGNMENT UINT64_C(4096)

/* Takes over @fd and borrows the rest. */
FileReader *file_reader_new_take(int fd, uint64_t size_bytes, Throttle *throttle,
				 const atomic_bool *stop);

/* Closes the file and drops its windows.  Accepts NULL. */
void file_reader_free(FileReader *reader);

/*
 * From now on leave windows in the cache as far as @kept allows, recorded for @object.  The rest is dropped at
 * the end.
 */
void file_reader_keep(FileReader *reader, PageCacheBudget *kept, uint32_t object);

/* End that, and drop the windows of the file that were kept so far. */
void file_reader_keep_nothing(FileReader *reader);

/* From now on drop a window only after 64 more, while @kept allows one more. */
void file_reader_widen(FileReader *reader, PageCacheBudget *kept);

/*
 * From now on file_reader_choose_direct() is called for each range that is held, before it is read.  Files below 256 KiB
 * are read through the page cache all the same: a second descriptor costs more than it gains.
 */
void file_reader_prefer_direct(FileReader *reader);

/*
 * Hold a range: its windows, and those read ahead of it, are not dropped until it was released as often, or
 * the reader is freed.
 */
void file_reader_hold(FileReader *reader, uint64_t offset, uint64_t length);
void file_reader_release(FileReader *reader, uint64_t offset, uint64_t length);

int file_reader_fd(const FileReader *reader);

/*
 * True if another user has the file open (@writers_only: for writing), or it cannot be told.  The first call
 * asks the kernel, which may make an open(2) of another process with O_NONBLOCK fail (see
 * file-users.h).  Later calls return the same answer.
 */
bool file_reader_has_other_users(FileReader *reader, bool writers_only);

/*
 * Start reading a range without waiting; the later read is not charged again.  Does nothing for kept windows.
 */
ReadOutcome file_reader_fetch(FileReader *reader, uint64_t offset, uint64_t length);

/* True if the whole range is in the page cache, or being read into it. */
bool file_reader_is_cached(const FileReader *reader, uint64_t offset, uint64_t length);

/*
 * Tell whether the rest of the file will be read in order.  The kernel's readahead then makes larger requests
 * and folios.  It is not used under a limit.
 */
void file_reader_expect_all(FileReader *reader, bool all);

/* Read from a held range.  Thread: any. */
ReadOutcome file_reader_read_held(const FileReader *reader, uint64_t offset, uint64_t length,
				  void *buffer);

/*
 * Choose how the range, which is held, is read.  True: directly, as nobody has it in the page cache and its pages
 * could not be kept there.  Without @may_be_direct it is false.
 */
bool file_reader_choose_direct(FileReader *reader, uint64_t offset, uint64_t length,
			       bool may_be_direct);

/*
 * Read a held range directly (O_DIRECT), if it was chosen.  It begins with a block.  Falls back to the page cache if
 * the filesystem refuses direct reads.  Thread: any.
 */
ReadOutcome file_reader_read_directly(FileReader *reader, uint64_t offset, uint64_t length,
				      void *buffer);

/* Start reading a held range without waiting, unless a limit applies.  Thread: any. */
void file_reader_fetch_held(const FileReader *reader, uint64_t offset, uint64_t length);

/* Drop the range, which was read, now, except what others had cached. */
void file_reader_drop(const FileReader *reader, uint64_t offset, uint64_t length);

/* Read @length bytes at @offset. */
ReadOutcome file_reader_read(FileReader *reader, uint64_t offset, uint64_t length, void *buffer);

/* True if others had cached the whole range, which is held, before. */
bool file_reader_was_cached(const FileReader *reader, uint64_t offset, uint64_t length);

/* The bytes read so far that others had cached. */
uint64_t file_reader_hot_bytes(const FileReader *reader);

/*
 * Start reading the parts of a recently read range that others had cached and that are no longer there.  They
 * are charged.  Returns their bytes, without waiting.
 */
uint64_t file_reader_restore(FileReader *reader, uint64_t offset, uint64_t length);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(FileReader, file_reader_free)
