/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/content/sum-cache.h"

#include "common/system/temporary-file.h"
#include "hashstore/database/store-io.h"
#include "kernel-ioctl/call/fd.h"

#include <string.h>
#include <unistd.h>

/* The unit of the cache. */
#define GROUP_BLOCKS 256
#define GROUP_BYTES  (GROUP_BLOCKS * sizeof(uint64_t))

/* The size of a group's objects, which follow the sums of all groups. */
#define OBJECTS_BYTES (GROUP_BLOCKS * sizeof(uint32_t))

/* The owner of a place whose contents are lost. */
#define OWNER_LOST UINT64_MAX

struct SumCache {
	char *directory;
	uint32_t block_bytes;
	bool has_failed;
	Fd fd;
	uint64_t n_groups;
	uint64_t *owners; /* by place: the group there, counted from 1; 0: none yet */
};

SumCache *sum_cache_new(const char *directory, uint32_t block_bytes, uint64_t max_bytes)
{
	SumCache *cache = g_new0(SumCache, 1);

	cache->directory = g_strdup(directory);
	cache->block_bytes = block_bytes;
	cache->n_groups = MAX(max_bytes / (GROUP_BYTES + OBJECTS_BYTES), 1);
	cache->fd = -1;
	return cache;
}

void sum_cache_free(SumCache *cache)
{
	if (!cache)
		return;

	fd_close(&cache->fd);
	g_free(cache->owners);
	g_free(cache->directory);
	g_free(cache);
}

static off_t place_of(const SumCache *cache, uint64_t block)
{
	uint64_t group = block / GROUP_BLOCKS % cache->n_groups;

	return (off_t)((group * GROUP_BLOCKS + block % GROUP_BLOCKS) * sizeof(uint64_t));
}

static off_t object_place_of(const SumCache *cache, uint64_t block)
{
	uint64_t group = block / GROUP_BLOCKS % cache->n_groups;

	return (off_t)(cache->n_groups * GROUP_BYTES +
		       (group * GROUP_BLOCKS + block % GROUP_BLOCKS) * sizeof(uint32_t));
}

static uint64_t *owner_of(const SumCache *cache, uint64_t block)
{
	return &cache->owners[block / GROUP_BLOCKS % cache->n_groups];
}

static bool is_there(const SumCache *cache, uint64_t block)
{
	return *owner_of(cache, block) == block / GROUP_BLOCKS + 1;
}

/* The sums of @n blocks of one group; 0 for unknown ones. */
static void get_of_group(const SumCache *cache, uint64_t block, uint64_t *ret, size_t n)
{
	size_t bytes = n * sizeof(*ret);
	ssize_t got = 0;

	if (cache->fd >= 0 && is_there(cache, block))
		got = store_io_pread(cache->fd, ret, bytes, place_of(cache, block));
	got = MAX(got, 0);
	memset((uint8_t *)ret + got, 0, bytes - (size_t)got);
}

/* The number of blocks from @block on, at most @n, that are in its group. */
static size_t of_one_group(uint64_t block, size_t n)
{
	return MIN(n, GROUP_BLOCKS - block % GROUP_BLOCKS);
}

size_t sum_cache_get(SumCache *cache, uint64_t physical, uint64_t *ret, size_t n_blocks,
		     bool *ret_is_known)
{
	uint64_t block = physical / cache->block_bytes;
	size_t n_alike = 1;

	for (size_t i = 0, n; i < n_blocks; i += n) {
		n = of_one_group(block + i, n_blocks - i);
		get_of_group(cache, block + i, ret + i, n);
	}

	*ret_is_known = ret[0] != 0;
	while (n_alike < n_blocks && (ret[n_alike] != 0) == *ret_is_known)
		n_alike++;
	return n_alike;
}

/* Assign the place of @block to its group.  If another group had it, all its sums become unknown. */
static bool take_place(SumCache *cache, uint64_t block)
{
	static const uint64_t nothing[GROUP_BLOCKS];
	uint64_t *owner = owner_of(cache, block);
	bool was_taken = *owner != 0;

	if (is_there(cache, block))
		return true;

	*owner = OWNER_LOST;
	if (was_taken &&
	    (store_io_pwrite(cache->fd, nothing, GROUP_BYTES,
			     place_of(cache, block - block % GROUP_BLOCKS)) != GROUP_BYTES ||
	     store_io_pwrite(cache->fd, nothing, OBJECTS_BYTES,
			     object_place_of(cache, block - block % GROUP_BLOCKS)) !=
		     OBJECTS_BYTES))
		return false;

	*owner = block / GROUP_BLOCKS + 1;
	return true;
}

static bool put_to_group(SumCache *cache, uint64_t block, const uint64_t *sums, size_t n)
{
	size_t bytes = n * sizeof(*sums);

	return take_place(cache, block) &&
	       store_io_pwrite(cache->fd, sums, bytes, place_of(cache, block)) == (ssize_t)bytes;
}

static bool open_file(SumCache *cache)
{
	if (cache->fd < 0 && !cache->has_failed) {
		cache->fd = temporary_file_open(cache->directory, NULL);
		cache->owners = g_new0(uint64_t, cache->n_groups);
	}

	return cache->fd >= 0;
}

void sum_cache_put(SumCache *cache, uint64_t physical, const uint64_t *sums, size_t n_blocks)
{
	uint64_t block = physical / cache->block_bytes;

	cache->has_failed = !open_file(cache);
	for (size_t i = 0, n; i < n_blocks && !cache->has_failed; i += n) {
		n = of_one_group(block + i, n_blocks - i);
		cache->has_failed = !put_to_group(cache, block + i, sums + i, n);
	}
}

void sum_cache_get_objects(SumCache *cache, uint64_t physical, uint32_t *ret, size_t n_blocks)
{
	uint64_t block = physical / cache->block_bytes;

	for (size_t i = 0, n; i < n_blocks; i += n) {
		size_t bytes;
		ssize_t got = 0;

		n = of_one_group(block + i, n_blocks - i);
		bytes = n * sizeof(*ret);
		if (cache->fd >= 0 && is_there(cache, block + i))
			got = store_io_pread(cache->fd, ret + i, bytes,
					     object_place_of(cache, block + i));
		got = MAX(got, 0);
		memset((uint8_t *)(ret + i) + got, 0, bytes - (size_t)got);
	}
}

void sum_cache_put_object(SumCache *cache, uint64_t physical, uint32_t object, size_t n_blocks)
{
	uint64_t block = physical / cache->block_bytes;
	uint32_t objects[GROUP_BLOCKS];

	for (size_t i = 0; i < GROUP_BLOCKS; i++)
		objects[i] = object;
	cache->has_failed = !open_file(cache);
	for (size_t i = 0, n; i < n_blocks && !cache->has_failed; i += n) {
		size_t bytes;

		n = of_one_group(block + i, n_blocks - i);
		bytes = n * sizeof(*objects);
		cache->has_failed =
			!take_place(cache, block + i) ||
			store_io_pwrite(cache->fd, objects, bytes,
					object_place_of(cache, block + i)) != (ssize_t)bytes;
	}
}
