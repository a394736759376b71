/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * ExtentMap - where a file's bytes lie, extent by extent (FS_IOC_FIEMAP).
 *
 * One map serves any number of files, one after another: it is a buffer and a position.  Extents come in file
 * order; a gap between two is a hole.  Extents are clipped to the requested range.  The physical address moves
 * along with a clipped start, except for encoded extents.
 *
 * Thread: any, one at a time.
 */
typedef struct ExtentMap ExtentMap;

typedef enum {
	EXTENT_INLINE = 1 << 0,    /* data inside metadata: no physical address */
	EXTENT_UNWRITTEN = 1 << 1, /* allocated, reads as zeros */
	EXTENT_ENCODED = 1 << 2,   /* compressed: physical is the start of the whole extent */
	EXTENT_SHARED = 1 << 3,    /* other files, or another range of this one, use it too */
	EXTENT_DELALLOC = 1 << 4,  /* not yet on disk: no physical address */
	EXTENT_UNKNOWN = 1 << 5,   /* the kernel does not tell where */
} ExtentFlags;

typedef struct {
	uint64_t logical;  /* byte in the file */
	uint64_t physical; /* byte on the disk (XFS) or in btrfs's logical address space */
	uint64_t length;   /* bytes, not 0; the last one may reach past the end of file */
	unsigned flags;    /* ExtentFlags */
} MappedExtent;

ExtentMap *extent_map_new(void);
void extent_map_free(ExtentMap *map);

/*
 * Begin with the extents of @fd that touch [@offset, @offset + @length).  With @flush, dirty data is written
 * out first (FIEMAP_FLAG_SYNC).  Then only data written meanwhile is EXTENT_DELALLOC.
 */
void extent_map_start(ExtentMap *map, int fd, uint64_t offset, uint64_t length, bool flush);

/* The next extent, valid until the next call, or NULL at the end. */
bool extent_map_next(ExtentMap *map, const MappedExtent **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * The extent's data has a physical address of its own: it is not inline, not encoded, not unwritten (its
 * zeros are not on the disk) and not only in memory.
 */
bool mapped_extent_is_addressed(const MappedExtent *extent);

/*
 * The first byte of @fd at or after @offset that is no hole (SEEK_DATA).  UINT64_MAX if only a hole follows;
 * @offset if the kernel cannot tell.
 */
uint64_t extent_map_skip_hole(int fd, uint64_t offset);

/*
 * The first byte of @fd at or after @offset that is in a hole (SEEK_HOLE); the end of the file counts as one.
 * Returns @offset if that is at or behind the end, UINT64_MAX if the kernel cannot tell.
 */
uint64_t extent_map_skip_data(int fd, uint64_t offset);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExtentMap, extent_map_free)
