/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/file/page-cache.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FETCH_PIECE_BYTES   (UINT64_C(1) << 20)
#define MAPPED_WINDOW_BYTES (UINT64_C(64) << 20)

/* Since kernel 6.5, with one number on all architectures; older headers lack it. */
#define SYS_CACHESTAT 451

typedef struct {
	uint64_t offset;
	uint64_t length;
} CachestatRange;

typedef struct {
	uint64_t n_cached;
	uint64_t n_dirty;
	uint64_t n_writeback;
	uint64_t n_evicted;
	uint64_t n_recently_evicted;
} Cachestat;

static uint64_t page_bytes(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

/* @length cut off at the end of the file: nothing behind it is cached. */
static uint64_t clip_to_file(const struct stat *st, uint64_t offset, uint64_t length)
{
	uint64_t size = (uint64_t)st->st_size;

	return offset >= size ? 0 : MIN(length, size - offset);
}

static bool count_by_cachestat(int fd, uint64_t offset, uint64_t length, uint64_t *ret_pages)
{
	CachestatRange range = { .offset = offset, .length = length };
	Cachestat counts = { 0 };
	long result;

	do
		result = syscall(SYS_CACHESTAT, fd, &range, &counts, 0);
	while (result < 0 && errno == EINTR);

	*ret_pages = counts.n_cached;
	return result == 0;
}

int page_cache_try_cachestat(int fd)
{
	uint64_t ignored;

	return count_by_cachestat(fd, 0, 1, &ignored) ? 0 : errno;
}

/* To other users mincore(2) reports all pages as resident (kernel 5.2). */
static bool mincore_is_truthful(const struct stat *st)
{
	uid_t uid = geteuid();

	return uid == 0 || uid == st->st_uid;
}

/* @offset is a multiple of the page size. */
static uint64_t count_window_by_mincore(int fd, uint64_t offset, uint64_t length)
{
	uint64_t n_pages = (length + page_bytes() - 1) / page_bytes();
	g_autofree unsigned char *residency = g_malloc0(n_pages);
	uint64_t n_resident = 0;
	void *window = mmap(NULL, length, PROT_NONE, MAP_SHARED, fd, (off_t)offset);

	if (window == MAP_FAILED)
		return 0;

	if (mincore(window, length, residency) == 0)
		for (uint64_t i = 0; i < n_pages; i++)
			n_resident += residency[i] & 1;
	munmap(window, length);

	return n_resident;
}

static uint64_t count_by_mincore(int fd, uint64_t offset, uint64_t length)
{
	uint64_t end = offset + length;
	uint64_t n_resident = 0;

	offset -= offset % page_bytes();
	while (offset < end) {
		uint64_t window = MIN(end - offset, MAPPED_WINDOW_BYTES);

		n_resident += count_window_by_mincore(fd, offset, window);
		offset += window;
	}

	return n_resident;
}

uint64_t page_cache_resident_bytes(int fd, uint64_t offset, uint64_t length)
{
	struct stat st;
	uint64_t n_pages = 0;
	bool is_counted = length > 0 && count_by_cachestat(fd, offset, length, &n_pages);

	/*
	 * Most files are cached from their beginning or not at all, so the size of this file rarely matters.
	 */
	if (is_counted && n_pages == 0)
		return 0;
	if (is_counted && offset == 0 && n_pages >= (length - 1) / page_bytes() + 1)
		return length;
	if (fstat(fd, &st) < 0)
		return 0;
	length = clip_to_file(&st, offset, length);
	if (!length)
		return 0;

	if (!is_counted && mincore_is_truthful(&st))
		n_pages = count_by_mincore(fd, offset, length);

	/* Both ends lie in pages that count as whole. */
	return MIN(n_pages * page_bytes(), length);
}

void page_cache_fetch(int fd, uint64_t offset, uint64_t length)
{
	struct stat st;
	uint64_t end;

	if (fstat(fd, &st) < 0)
		return;

	end = offset + clip_to_file(&st, offset, length);
	while (offset < end) {
		uint64_t piece = MIN(end - offset, FETCH_PIECE_BYTES);

		posix_fadvise(fd, (off_t)offset, (off_t)piece, POSIX_FADV_WILLNEED);
		offset += piece;
	}
}

void page_cache_drop(int fd, uint64_t offset, uint64_t length)
{
	if (!length || offset > INT64_MAX)
		return;

	/* posix_fadvise() takes 0 for the rest of the file. */
	if (length > INT64_MAX - offset)
		length = 0;
	posix_fadvise(fd, (off_t)offset, (off_t)length, POSIX_FADV_DONTNEED);
}
