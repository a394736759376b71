/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/inventory/inventory-choice.h"

#include "kernel-ioctl/file/file-stat.h"
#include "kernel-ioctl/xfs/xfs-bulkstat.h"

#include <errno.h>

/* Whether the pass covers all of the filesystem: its mount point is the top, and is a root. */
static bool is_whole(const Filesystem *filesystem)
{
	FileStat stat;

	if (file_stat_at(filesystem->fd, "", &stat) != 0)
		return false;

	for (size_t i = 0; i < filesystem->roots->len; i++) {
		const FilesystemRoot *root = filesystem->roots->pdata[i];

		if (root->is_top && !root->is_file && root->inode == stat.inode)
			return true;
	}

	return false;
}

static const char *why_not(const Pass *pass)
{
	const Filesystem *filesystem = pass->filesystem;

	if (filesystem->identity.kind != FS_KIND_XFS)
		return "only XFS lists its inodes";
	if (!is_whole(filesystem))
		return "the pass is over a part of the filesystem";
	if (pass->keeps_left_out)
		return "what it leaves out is not to be forgotten";
	if (pass->settings->excludes && pass->settings->excludes[0])
		return "--exclude looks at names";
	if (pass->settings->patterns && pass->settings->patterns[0])
		return "Exclude= looks at names";
	if (!filesystem->opens_by_id)
		return "opening files by their inodes is not permitted";

	switch (xfs_bulkstat_try(filesystem->fd)) {
	case 0:
		return NULL;
	case EPERM:
		return "listing inodes is not permitted: it needs CAP_SYS_ADMIN";
	default:
		return "the kernel does not list inodes here";
	}
}

bool inventory_choice_is_list(const Pass *pass)
{
	PassResult *result = pass->result;

	result->walk_reason = why_not(pass);
	result->listed_inodes = !result->walk_reason;
	return result->listed_inodes;
}
