/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/hole-source.h"

#include "kernel-ioctl/dedupe-range.h"
#include "kernel-ioctl/fd.h"

#include <fcntl.h>
#include <unistd.h>

struct HoleSource {
	char *directory;
	uint32_t block_bytes;
	bool has_failed;
	Fd fd;
	uint64_t size_bytes;
};

HoleSource *hole_source_new(const char *directory, uint32_t block_bytes)
{
	HoleSource *hole = g_new0(HoleSource, 1);

	hole->directory = g_strdup(directory);
	hole->block_bytes = block_bytes;
	hole->fd = -1;
	return hole;
}

void hole_source_free(HoleSource *hole)
{
	if (!hole)
		return;

	fd_close(&hole->fd);
	g_free(hole->directory);
	g_free(hole);
}

int hole_source_fd(HoleSource *hole, uint64_t length)
{
	uint64_t wanted = length % hole->block_bytes ? length : DEDUPE_ROUND_BYTES;

	/* Growing it from within a block would write the rest of that block. */
	if (hole->fd >= 0 && hole->size_bytes != wanted)
		fd_close(&hole->fd);
	if (hole->fd < 0 && !hole->has_failed)
		hole->fd = open(hole->directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (hole->fd >= 0 && ftruncate(hole->fd, (off_t)wanted) != 0)
		fd_close(&hole->fd);

	hole->has_failed = hole->fd < 0;
	hole->size_bytes = wanted;
	return hole->fd;
}
