/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/files/stamp.h"
#include "kernel-ioctl/call/file-id.h"

#include <glib.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * SameSizes - separates files that may be identical to others from those that cannot be: no other file has their
 * size, or none of that size has their head.
 *
 * A head is a digest over the first blocks of a file.  A file with an unknown head may be identical to any of its
 * size.
 *
 * Memory: the given limit.  Thread: one at a time.
 */
typedef struct SameSizes SameSizes;

typedef enum {
	SIZED_KNOWN, /* read to its end before: others may be identical to it */
	SIZED_SEEN,  /* the store has a row of it, and it was not read to its end */
	SIZED_NEW,
} SizedState;

/* The name is that of the row in the store. */
#define SIZED_NAME_STORED UINT64_MAX

typedef struct {
	FileId id; /* generation 0: not known */
	Stamp stamp;
	uint64_t parent;
	uint64_t name_position; /* in the NameBuffer of who adds it, or SIZED_NAME_STORED */
	uint64_t head;          /* 0: not known */
	uint64_t physical;      /* where it begins on the disk; 0: not known */
	uint32_t changes;       /* as in ReadItem */
	uint32_t object;        /* id in the store; 0: it has none yet */
	unsigned rights;        /* ObjectFlags */
	SizedState state;
	bool is_plain; /* no flag of the inode concerns its data */
	bool is_alone; /* no file can be identical to it; set when it is given out */
} SizedFile;

/* Files differ by their sizes, or @by_head, too.  @directory is copied, @stop borrowed. */
SameSizes *same_sizes_new(bool by_head, size_t memory_bytes, const char *directory,
			  const atomic_bool *stop);
void same_sizes_free(SameSizes *sizes);

/* Add a file.  For SIZED_KNOWN, size and head are enough. */
bool same_sizes_add(SameSizes *sizes, const SizedFile *file, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Call once, when all were added. */
bool same_sizes_sort(SameSizes *sizes, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The next file in the order of sizes, and heads; NULL at the end.  Valid until the next call. */
bool same_sizes_next(SameSizes *sizes, const SizedFile **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SameSizes, same_sizes_free)
