/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/file/dedupe-probe.h"

#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/dedupe-range.h"
#include "kernel-ioctl/file/extent-map.h"
#include "kernel-ioctl/file/unnamed-file.h"

#include <errno.h>
#include <unistd.h>

/* A multiple of every block size, and too large to be stored inline in metadata. */
#define PROBE_BYTES 65536

/* Returns a descriptor, or -1 with errno. */
static int make_file(int directory_fd)
{
	g_autofree uint32_t *words = g_malloc(PROBE_BYTES);
	g_auto(Fd) fd = unnamed_file_make(directory_fd);
	uint32_t word = 1;
	ssize_t written;

	if (fd < 0)
		return -1;

	/* The data does not compress, and is the same in every file. */
	for (size_t i = 0; i < PROBE_BYTES / sizeof(*words); i++)
		words[i] = word = word * 1664525 + 1013904223;
	written = pwrite(fd, words, PROBE_BYTES, 0);
	if (written == PROBE_BYTES)
		return fd_steal(&fd);

	errno = written < 0 ? errno : ENOSPC;
	return -1;
}

/* The physical address of the file's first byte; 0: unknown. */
static uint64_t address_of(int fd)
{
	g_autoptr(ExtentMap) map = extent_map_new();
	g_autoptr(GError) ignored = NULL;
	const MappedExtent *extent;

	extent_map_start(map, fd, 0, PROBE_BYTES, true);
	if (!extent_map_next(map, &extent, &ignored) || !extent || extent->logical != 0)
		return 0;
	return extent->flags & (EXTENT_INLINE | EXTENT_DELALLOC | EXTENT_UNKNOWN)
		       ? 0
		       : extent->physical;
}

DedupeProbe dedupe_probe(int directory_fd, int *ret_errno)
{
	g_auto(Fd) source = make_file(directory_fd);
	g_auto(Fd) target_fd = source < 0 ? -1 : make_file(directory_fd);
	DedupeSource own = { .fd = source };
	DedupeTarget target = { .fd = target_fd };

	if (target_fd < 0) {
		*ret_errno = errno;
		return DEDUPE_PROBE_NOT_TRIED;
	}

	dedupe_range(&own, PROBE_BYTES, &target, 1, 0, NULL);
	*ret_errno = target.error;
	if (target.outcome != DEDUPE_SAME)
		return DEDUPE_PROBE_REFUSED;

	uint64_t address = address_of(source);
	return address != 0 && address == address_of(target_fd) ? DEDUPE_PROBE_SHARED
								: DEDUPE_PROBE_NOT_SHARED;
}
