/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/content/extent-sums.h"
#include "hashstore/objects/objects.h"
#include "kernel-ioctl/btrfs/btrfs-file-extent.h"

/*
 * Stretch - small data extents that follow each other in one file.
 *
 * Equal data may be cut into extents at other places, and an extent shorter than two windows of anchors need not
 * have one in common with another.  The checksums of a stretch, joined in the order of the file, do have common
 * anchors: a stretch is an object of the store that is only matched.  Its matches are translated to its extents
 * before anything is planned (stretch-runs.h).
 *
 * A file is cut into cells, so that a change affects little.  A stretch begins in one cell, and goes on into the
 * next one so far that no run is lost between them.
 *
 * Thread: the filesystem's worker.
 */

/* Longer extents have enough anchors of their own. */
#define STRETCH_EXTENT_BLOCKS 32

#define STRETCH_CELL_BYTES (UINT64_C(16) << 20)

/* For Stretch.rank_bytes: longer than any extent. */
#define STRETCH_RANK_KNOWN (UINT32_C(1) << 30)

/* A file's reference to one data extent; all numbers are bytes. */
typedef struct {
	uint64_t offset; /* in the file */
	uint64_t length;
	uint64_t bytenr;     /* of the extent */
	uint64_t disk_bytes; /* its length */
	uint64_t position;   /* where in the extent */
} StretchPart;

typedef struct {
	uint32_t key; /* its inode number as an object: the id that it had first */
	uint64_t root;
	uint64_t inode;
	uint32_t rank_bytes; /* the length of its extents, for ranking: the longer stays */
	bool is_shared;      /* new extents of it are, see ExtentRefcount */
	const StretchPart *parts;
	size_t n_parts;
} Stretch;

/*
 * The place where the object @stretch was found.  Only reading the file tells whether it still exists and looks
 * the same.
 */
typedef struct {
	uint64_t root;
	uint64_t inode;
	uint64_t offset;
	uint64_t length;
} StretchPlace;

/* The row of a stretch, without its digest. */
Object stretch_object(const Stretch *stretch);
StretchPlace stretch_place(const Object *stretch);

/*
 * The data of @place that is not compressed, as StretchPart, clipped to it; nothing if the file is gone.  Parts
 * are in the order of the file and never overlap.
 */
bool stretch_read_parts(BtrfsFileExtents *extents, int fd, const StretchPlace *place, GArray *ret,
			GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * The sums of all blocks from the byte @start of the file, at or before @parts[0], to the end of the last
 * part, EXTENT_SUM_NONE where there is no data between.  @parts are in order, and end at most
 * OBJECT_EXTENT_BYTES_MAX behind @start.  @ret (of uint64_t) is resized.
 */
bool stretch_read_sums(ExtentSums *sums, uint64_t start, const StretchPart *parts, size_t n_parts,
		       uint32_t block_bytes, GArray *ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Whether the part belongs to an extent that is small enough for stretches. */
bool stretch_part_is_small(const StretchPart *part, uint32_t block_bytes);

/* How many of @parts, from the first on, are small and follow each other without a gap. */
size_t stretch_count_joined(const StretchPart *parts, size_t n_parts, uint32_t block_bytes);
