/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/sum-cache.h"

#include "daemon/temporary-file.h"
#include "hashstore/store-io.h"
#include "kernel-ioctl/fd.h"

#include <unistd.h>

struct SumCache {
	char *directory;
	uint32_t block_bytes;
	bool has_failed;
	Fd fd;
};

SumCache *sum_cache_new(const char *directory, uint32_t block_bytes)
{
	SumCache *cache = g_new0(SumCache, 1);

	cache->directory = g_strdup(directory);
	cache->block_bytes = block_bytes;
	cache->fd = -1;
	return cache;
}

void sum_cache_free(SumCache *cache)
{
	if (!cache)
		return;

	fd_close(&cache->fd);
	g_free(cache->directory);
	g_free(cache);
}

static off_t place_of(const SumCache *cache, uint64_t physical)
{
	return (off_t)(physical / cache->block_bytes * sizeof(uint64_t));
}

bool sum_cache_get(SumCache *cache, uint64_t physical, uint64_t *ret, size_t n_blocks)
{
	size_t bytes = n_blocks * sizeof(*ret);
	ssize_t got;
	uint64_t begun;

	if (cache->fd < 0)
		return false;
	begun = store_io_begin();
	got = pread(cache->fd, ret, bytes, place_of(cache, physical));
	store_io_end(begun);
	if (got != (ssize_t)bytes)
		return false;

	for (size_t i = 0; i < n_blocks; i++)
		if (ret[i] == 0)
			return false;

	return true;
}

void sum_cache_put(SumCache *cache, uint64_t physical, const uint64_t *sums, size_t n_blocks)
{
	ssize_t bytes = (ssize_t)(n_blocks * sizeof(*sums));
	uint64_t begun;

	if (cache->fd < 0 && !cache->has_failed)
		cache->fd = temporary_file_open(cache->directory, NULL);
	begun = store_io_begin();
	cache->has_failed = cache->fd < 0 || pwrite(cache->fd, sums, (size_t)bytes,
						    place_of(cache, physical)) != bytes;
	store_io_end(begun);
}
