/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/share/hole-source.h"

#include "daemon/share/source-file.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/dedupe-range.h"

#include <unistd.h>

struct HoleSource {
	const Filesystem *filesystem;
	FileOpener *opener;
	Fd fd;
	uint64_t size_bytes;
};

HoleSource *hole_source_new(const Filesystem *filesystem, FileOpener *opener)
{
	HoleSource *hole = g_new0(HoleSource, 1);

	hole->filesystem = filesystem;
	hole->opener = opener;
	hole->fd = -1;
	return hole;
}

void hole_source_free(HoleSource *hole)
{
	if (!hole)
		return;

	fd_close(&hole->fd);
	g_free(hole);
}

uint64_t hole_source_offset(const HoleSource *hole)
{
	return hole->filesystem->identity.block_bytes;
}

int hole_source_fd(HoleSource *hole, const OpenObject *target, uint64_t length,
		   SkipReason *ret_reason)
{
	uint64_t wanted =
		length % hole->filesystem->identity.block_bytes ? length : DEDUPE_ROUND_BYTES;

	/* Growing the file from within a block would write the rest of that block. */
	if (hole->fd >= 0 && hole->size_bytes != wanted)
		fd_close(&hole->fd);
	if (hole->fd < 0) {
		hole->fd = source_file_make(hole->filesystem, hole->opener, target, ret_reason);
		if (hole->fd < 0)
			return -1;
		hole->size_bytes = 0;
	}
	if (hole->size_bytes != wanted &&
	    ftruncate(hole->fd, (off_t)(hole_source_offset(hole) + wanted)) != 0) {
		*ret_reason = SKIP_NO_TEMPORARY_FILE;
		fd_close(&hole->fd);
		return -1;
	}

	hole->size_bytes = wanted;
	return hole->fd;
}
