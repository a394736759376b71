/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/file/extent-map.h"

#include "kernel-ioctl/call/system-call.h"

#include <linux/fiemap.h>
#include <linux/fs.h>
#include <string.h>
#include <unistd.h>

#define BATCH_EXTENTS 256

#define HAS_NO_ADDRESS (EXTENT_INLINE | EXTENT_DELALLOC | EXTENT_UNKNOWN)

struct ExtentMap {
	/* The range. */
	int fd;
	uint64_t position; /* all extents before it were returned */
	uint64_t end;
	bool flush;

	/* The batch. */
	unsigned next;
	unsigned n_extents;
	bool is_last_batch;
	uint64_t batch_position; /* of the file: where the batch begins */
	MappedExtent current;
	struct fiemap *request;
};

ExtentMap *extent_map_new(void)
{
	ExtentMap *map = g_new0(ExtentMap, 1);

	map->fd = -1;
	map->is_last_batch = true;
	map->request =
		g_malloc(sizeof(struct fiemap) + BATCH_EXTENTS * sizeof(struct fiemap_extent));
	return map;
}

void extent_map_free(ExtentMap *map)
{
	if (!map)
		return;
	g_free(map->request);
	g_free(map);
}

void extent_map_start(ExtentMap *map, int fd, uint64_t offset, uint64_t length, bool flush)
{
	map->fd = fd;
	map->position = offset;
	map->end = length > UINT64_MAX - offset ? UINT64_MAX : offset + length;
	map->flush = flush;
	map->next = 0;
	map->n_extents = 0;
	map->is_last_batch = length == 0;
}

static bool extent_map_read_batch(ExtentMap *map, GError **error)
{
	struct fiemap *request = map->request;

	if (map->n_extents && map->position == map->batch_position) {
		g_set_error_literal(error, G_FILE_ERROR, G_FILE_ERROR_IO,
				    "cannot map the extents of the file: the kernel repeats them");
		return false;
	}

	map->batch_position = map->position;
	memset(request, 0, sizeof(struct fiemap) + BATCH_EXTENTS * sizeof(struct fiemap_extent));
	request->fm_start = map->position;
	request->fm_length = map->end - map->position;
	request->fm_extent_count = BATCH_EXTENTS;
	/* Flush only once: beside a busy writer, a flush for every batch would never end. */
	request->fm_flags = map->flush ? FIEMAP_FLAG_SYNC : 0;
	map->flush = false;

	if (system_call_ioctl(map->fd, FS_IOC_FIEMAP, request) < 0)
		return system_call_failed(error, "map the extents of the file");

	map->next = 0;
	map->n_extents = MIN(request->fm_mapped_extents, BATCH_EXTENTS);
	/* A batch that is not full is the last one, even if no extent is marked as the last. */
	map->is_last_batch = map->n_extents < BATCH_EXTENTS;
	return true;
}

static unsigned flags_of(uint32_t fiemap_flags)
{
	unsigned flags = 0;

	if (fiemap_flags & (FIEMAP_EXTENT_DATA_INLINE | FIEMAP_EXTENT_DATA_TAIL))
		flags |= EXTENT_INLINE;
	if (fiemap_flags & FIEMAP_EXTENT_UNWRITTEN)
		flags |= EXTENT_UNWRITTEN;
	if (fiemap_flags & (FIEMAP_EXTENT_ENCODED | FIEMAP_EXTENT_DATA_ENCRYPTED))
		flags |= EXTENT_ENCODED;
	if (fiemap_flags & FIEMAP_EXTENT_SHARED)
		flags |= EXTENT_SHARED;
	if (fiemap_flags & FIEMAP_EXTENT_DELALLOC)
		flags |= EXTENT_DELALLOC;
	if (fiemap_flags & FIEMAP_EXTENT_UNKNOWN)
		flags |= EXTENT_UNKNOWN;

	return flags;
}

/*
 * Make @raw the current extent, clipped to the rest of the range.  False if nothing of it is left: while a
 * file is written to, a batch can begin with an extent that the previous batch covered in part.
 */
static bool extent_map_take(ExtentMap *map, const struct fiemap_extent *raw)
{
	uint64_t start = MAX(raw->fe_logical, map->position);
	uint64_t end = raw->fe_length > UINT64_MAX - raw->fe_logical
			       ? UINT64_MAX
			       : raw->fe_logical + raw->fe_length;
	unsigned flags = flags_of(raw->fe_flags);
	uint64_t physical = raw->fe_physical;

	end = MIN(end, map->end);
	if (start >= end)
		return false;

	if (flags & HAS_NO_ADDRESS)
		physical = 0;
	else if (!(flags & EXTENT_ENCODED))
		physical += start - raw->fe_logical;

	map->current = (MappedExtent){
		.logical = start,
		.physical = physical,
		.length = end - start,
		.flags = flags,
	};
	map->position = end;
	return true;
}

static bool extent_map_is_at_end(const ExtentMap *map)
{
	return map->next == map->n_extents && (map->is_last_batch || map->position >= map->end);
}

bool extent_map_next(ExtentMap *map, const MappedExtent **ret, GError **error)
{
	*ret = NULL;

	while (!extent_map_is_at_end(map)) {
		const struct fiemap_extent *raw;

		if (map->next == map->n_extents) {
			if (!extent_map_read_batch(map, error))
				return false;
			continue;
		}

		raw = &map->request->fm_extents[map->next++];
		if (raw->fe_flags & FIEMAP_EXTENT_LAST || raw->fe_logical >= map->end) {
			map->is_last_batch = true;
			map->n_extents = map->next;
		}
		if (extent_map_take(map, raw)) {
			*ret = &map->current;
			break;
		}
	}

	return true;
}

bool mapped_extent_is_addressed(const MappedExtent *extent)
{
	return !(extent->flags & (HAS_NO_ADDRESS | EXTENT_ENCODED | EXTENT_UNWRITTEN));
}

uint64_t extent_map_skip_hole(int fd, uint64_t offset)
{
	off_t data = lseek(fd, (off_t)offset, SEEK_DATA);

	if (data >= 0)
		return (uint64_t)data;
	return errno == ENXIO ? UINT64_MAX : offset;
}

uint64_t extent_map_skip_data(int fd, uint64_t offset)
{
	off_t hole = lseek(fd, (off_t)offset, SEEK_HOLE);

	if (hole >= 0)
		return (uint64_t)hole;
	return errno == ENXIO ? offset : UINT64_MAX;
}
