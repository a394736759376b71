/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "tests/fs/programs/shadow.h"

/*
 * RacedFile - a file with one writer, which knows what it holds and when it was changed.
 *
 * Every operation begins by looking whether the size and the times are those that the last one left: nobody
 * else may change them.  @tree is an open directory in which the file lies.
 *
 * Operations return false where the kernel refuses them, or where the file is not what it must be.
 *
 * Thread: one, with all files that share blocks with it.
 */
typedef struct {
	char *name;
	Shadow *shadow;
	bool is_no_cow;
	struct timespec mtime;
	struct timespec ctime;
} RacedFile;

RacedFile *raced_file_create(int tree, const char *name, bool is_no_cow, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* The same file in a snapshot that was just made of its subvolume. */
RacedFile *raced_file_copy(const RacedFile *file);
void raced_file_free(RacedFile *file);

/* With @is_direct past the page cache: @data, @offset and @length are multiples of a block then. */
bool raced_file_write(RacedFile *file, int tree, uint64_t offset, const void *data, uint64_t length,
		      bool is_direct, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Write to a shared mapping, @n_stores times at random places, now and then waiting in between. */
bool raced_file_store(RacedFile *file, int tree, GRand *chance, unsigned n_stores, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

bool raced_file_truncate(RacedFile *file, int tree, uint64_t size_bytes, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

bool raced_file_punch(RacedFile *file, int tree, uint64_t offset, uint64_t length, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Preallocate; what is beyond the end becomes zeros. */
bool raced_file_reserve(RacedFile *file, int tree, uint64_t offset, uint64_t length, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* FICLONERANGE: @length is of blocks, or goes to the end of @from and not before that of @file. */
bool raced_file_clone(RacedFile *file, int tree, uint64_t offset, const RacedFile *from,
		      int from_tree, uint64_t from_offset, uint64_t length, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Whatever had the new name is gone. */
bool raced_file_rename(RacedFile *file, int tree, const char *name, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

bool raced_file_flush(RacedFile *file, int tree, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Compare a range of the file with its shadow; with @from_disk what is cached of it is dropped first. */
bool raced_file_check(const RacedFile *file, int tree, uint64_t offset, uint64_t length,
		      bool from_disk, GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(RacedFile, raced_file_free)
