/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/xfs/xfs-geometry.h"

#include "kernel-ioctl/call/system-call.h"
#include "kernel-ioctl/xfs/xfs-abi.h"

#include <string.h>

bool xfs_geometry_read(int fd, XfsGeometry *ret, GError **error)
{
	XfsAbiGeometry geometry = { 0 };

	if (system_call_ioctl(fd, XFS_ABI_FSGEOMETRY, &geometry) < 0)
		return system_call_failed(error, "read the geometry of the XFS");

	*ret = (XfsGeometry){
		.block_bytes = geometry.block_bytes,
		.group_blocks = geometry.group_blocks,
		.n_groups = geometry.n_groups,
		.has_reflink = geometry.flags & XFS_ABI_GEOMETRY_REFLINK,
		.has_rmapbt = geometry.flags & XFS_ABI_GEOMETRY_RMAPBT,
		.has_realtime = geometry.realtime_blocks > 0,
		.has_parents = geometry.flags & XFS_ABI_GEOMETRY_PARENT,
	};
	memcpy(ret->uuid, geometry.uuid, sizeof(ret->uuid));
	return true;
}
