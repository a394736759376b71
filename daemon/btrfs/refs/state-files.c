/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/refs/state-files.h"

#include "kernel-ioctl/call/file-key.h"

#include <dirent.h>
#include <string.h>

struct StateFiles {
	GArray *keys; /* FileKey */
};

static void list(StateFiles *own, DIR *directory, uint64_t root)
{
	const struct dirent *entry;

	while ((entry = readdir(directory))) {
		FileKey key = { .root = root, .inode = entry->d_ino };

		g_array_append_val(own->keys, key);
	}
}

StateFiles *state_files_new(const Filesystem *filesystem, const char *state_directory)
{
	StateFiles *own = g_new0(StateFiles, 1);
	DIR *directory = opendir(state_directory);
	FsIdentity identity;
	uint64_t root;

	own->keys = g_array_new(false, false, sizeof(FileKey));
	if (!directory)
		return own;

	if (fs_identity_read(dirfd(directory), &identity, NULL) &&
	    memcmp(identity.uuid, filesystem->identity.uuid, sizeof(identity.uuid)) == 0 &&
	    fs_subvolume_read(dirfd(directory), identity.kind, &root, NULL))
		list(own, directory, root);
	closedir(directory);
	return own;
}

void state_files_free(StateFiles *own)
{
	if (!own)
		return;

	g_array_unref(own->keys);
	g_free(own);
}

bool state_files_are_here(const StateFiles *own)
{
	return own->keys->len > 0;
}

bool state_files_have(const StateFiles *own, uint64_t root, uint64_t inode)
{
	for (guint i = 0; i < own->keys->len; i++) {
		const FileKey *key = &g_array_index(own->keys, FileKey, i);

		if (key->inode == inode && key->root == root)
			return true;
	}

	return false;
}

bool state_files_have_extent(const StateFiles *own, const BtrfsExtentItem *item)
{
	const BtrfsExtentRef *ref;
	BtrfsExtentRefs refs;
	uint64_t n_known = 0;

	if (own->keys->len == 0)
		return false;

	btrfs_extent_refs_start(&refs, item);
	while (btrfs_extent_refs_next(&refs, &ref) && ref) {
		if (ref->kind != BTRFS_EXTENT_REF_FILE ||
		    !state_files_have(own, ref->root, ref->inode))
			return false;
		n_known += ref->count;
	}

	/* References outside the item may be anybody's. */
	return n_known > 0 && n_known == item->refs;
}
