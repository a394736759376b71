/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/share/extent-ceiling.h"

#include "kernel-ioctl/file/file-attributes.h"

bool extent_ceiling_is_reached(const Filesystem *filesystem, int fd)
{
	g_autoptr(GError) unread = NULL;
	FileAttributes attributes;

	return filesystem->identity.kind == FS_KIND_XFS &&
	       file_attributes_read(fd, FS_KIND_XFS, &attributes, &unread) &&
	       attributes.n_extents >= EXTENT_CEILING;
}
