/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/disks/page-cache-budget.h"
#include "common/disks/throttle.h"

#include <glib.h>
#include <stdatomic.h>
#include <stdint.h>

/*
 * FileReader - reads one open file within the budget and leaves the page cache as it was.
 *
 * Exactly what is asked for is read from the disk (POSIX_FADV_RANDOM: no readahead of the kernel's
 * own), unless all that follows will be.  The file is looked at in windows of 16 MiB: what was not
 * cached of one before is dropped again, MiB by MiB, at the latest when four more were read, unless
 * the window is held, or none of it was cached and PageCacheBudget takes it.
 *
 * Its owner may hold ranges and have others read them.
 *
 * Thread: its owner; what says so, any.
 */
#define FILE_READER_PIECE_BYTES  (UINT64_C(1) << 20)
#define FILE_READER_WINDOW_BYTES (UINT64_C(16) << 20)

typedef struct FileReader FileReader;

typedef enum {
	READ_DONE,
	READ_STOPPED,
	READ_SHORT,      /* the file ends before */
	READ_UNREADABLE, /* EIO and its like */
} ReadOutcome;

/* Takes over @fd; the rest is borrowed. */
FileReader *file_reader_new_take(int fd, uint64_t size_bytes, Throttle *throttle,
				 const atomic_bool *stop);

/* Closes the file, after dropping what is to be dropped.  Accepts NULL. */
void file_reader_free(FileReader *reader);

/*
 * From here on leave what the reader brings into the cache there, noted in @kept as of @object, and
 * drop at the end what is noted and may not stay.
 */
void file_reader_keep(FileReader *reader, PageCacheBudget *kept, uint32_t object);

/* Take that back: also what was kept of the file so far is dropped. */
void file_reader_keep_nothing(FileReader *reader);

/* From here on drop nothing before 64 more windows were read, while @kept says that one more may stay. */
void file_reader_widen(FileReader *reader, PageCacheBudget *kept);

/*
 * What is in a range, and is read to it, is not dropped before the range was released as often, or the
 * reader is freed.
 */
void file_reader_hold(FileReader *reader, uint64_t offset, uint64_t length);
void file_reader_release(FileReader *reader, uint64_t offset, uint64_t length);

int file_reader_fd(const FileReader *reader);
uint64_t file_reader_size_bytes(const FileReader *reader);

/*
 * Whether somebody else has the file open; with @writers_only, open for writing.  The first call asks the
 * kernel, which may make one open(2) of somebody else with O_NONBLOCK fail (see file-users.h); later ones
 * give the same answer.  True if that cannot be told.
 */
bool file_reader_has_other_users(FileReader *reader, bool writers_only);

/*
 * Start reading a range, without waiting for it; the later read is not charged again.  Nothing to do
 * for what was kept.
 */
ReadOutcome file_reader_fetch(FileReader *reader, uint64_t offset, uint64_t length);

/* Whether all of the range is in the page cache, or on its way there. */
bool file_reader_is_cached(const FileReader *reader, uint64_t offset, uint64_t length);

/*
 * Whether what follows is going to be read, in order and whole: then the kernel's own readahead
 * makes larger requests, and larger folios, than what is asked for piece by piece.  Not where a
 * rate limits it.
 */
void file_reader_expect_all(FileReader *reader, bool all);

/* Read a range that is held.  Thread: any. */
ReadOutcome file_reader_read_held(const FileReader *reader, uint64_t offset, uint64_t length,
				  void *buffer);

/* Start reading a range that is held, without waiting; not where a rate limits it.  Thread: any. */
void file_reader_fetch_held(const FileReader *reader, uint64_t offset, uint64_t length);

/* Read @length bytes at @offset. */
ReadOutcome file_reader_read(FileReader *reader, uint64_t offset, uint64_t length, void *buffer);

/* Whether all of a range that is held was in the cache before. */
bool file_reader_was_cached(const FileReader *reader, uint64_t offset, uint64_t length);

/* How much of what was read so far was in the cache before, and not because of the pass. */
uint64_t file_reader_hot_bytes(const FileReader *reader);

/*
 * Start reading what of the range, which was read lately, was in the cache before and is not any more,
 * charged, and without waiting for it.  Returns how many bytes these are.
 */
uint64_t file_reader_restore(FileReader *reader, uint64_t offset, uint64_t length);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(FileReader, file_reader_free)
