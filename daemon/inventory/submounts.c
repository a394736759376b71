/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/inventory/submounts.h"

#include <libmount.h>
#include <string.h>

typedef struct libmnt_table MountTable;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(MountTable, mnt_unref_table)

/* Whether @mount lies below a root, directly on the mount that shows the root. */
static bool is_met(const Filesystem *filesystem, struct libmnt_fs *mount)
{
	const char *target = mnt_fs_get_target(mount);

	for (size_t i = 0; target && i < filesystem->roots->len; i++) {
		const FilesystemRoot *root = filesystem->roots->pdata[i];
		size_t length = strlen(root->path);

		if ((uint64_t)mnt_fs_get_parent_id(mount) == root->mount_id &&
		    strncmp(target, root->path, length) == 0 &&
		    (strcmp(root->path, "/") == 0 ? target[1] != '\0' : target[length] == '/'))
			return true;
	}

	return false;
}

bool submounts_are_on(uint64_t mount_id)
{
	g_autoptr(MountTable) mounts = mnt_new_table_from_file("/proc/self/mountinfo");
	struct libmnt_iter *iterator = mnt_new_iter(MNT_ITER_FORWARD);
	struct libmnt_fs *mount = NULL;
	bool are_there = !mounts;

	while (!are_there && mnt_table_next_fs(mounts, iterator, &mount) == 0)
		are_there = (uint64_t)mnt_fs_get_parent_id(mount) == mount_id;
	mnt_free_iter(iterator);
	return are_there;
}

void submounts_count(const Filesystem *filesystem, SkipLedger *skips)
{
	g_autoptr(MountTable) mounts = mnt_new_table_from_file("/proc/self/mountinfo");
	struct libmnt_iter *iterator = mnt_new_iter(MNT_ITER_FORWARD);
	struct libmnt_fs *mount = NULL;

	while (mounts && mnt_table_next_fs(mounts, iterator, &mount) == 0)
		if (is_met(filesystem, mount))
			skip_ledger_add(skips, SKIP_OTHER_MOUNT, 0, mnt_fs_get_target(mount));
	mnt_free_iter(iterator);
}
