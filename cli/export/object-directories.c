/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/export/object-directories.h"

#include "cli/files/btrfs-paths.h"
#include "common/text/name-text.h"
#include "hashstore/hash-store.h"
#include "hashstore/objects/names.h"
#include "kernel-ioctl/btrfs/btrfs-named-refs.h"

#include <string.h>

struct ObjectDirectories {
	HashStore *store; /* borrowed */
	int fd;           /* borrowed */
	BtrfsPaths *paths;
	/* The last answer: neighbours often lie in one file, or in one directory. */
	uint64_t subvolume;
	uint64_t inode;
	char *text;
};

ObjectDirectories *object_directories_new(HashStore *store, int fd, GError **error)
{
	g_autoptr(ObjectDirectories) directories = g_new0(ObjectDirectories, 1);

	directories->store = store;
	directories->fd = fd;
	if (!hash_store_has_extents(store))
		return g_steal_pointer(&directories);

	directories->paths = btrfs_paths_new(fd, hash_store_about(store)->uuid, error);
	return directories->paths ? g_steal_pointer(&directories) : NULL;
}

void object_directories_free(ObjectDirectories *directories)
{
	if (!directories)
		return;

	btrfs_paths_free(directories->paths);
	g_free(directories->text);
	g_free(directories);
}

/* The path of the directory with the file @inode of btrfs; or of the directory @inode itself, on XFS. */
static char *find_path(ObjectDirectories *directories, uint64_t subvolume, uint64_t inode)
{
	g_autofree char *path = NULL;

	if (!directories->paths)
		return hash_store_directory_path(directories->store, subvolume, inode);
	path = btrfs_paths_find(directories->paths, subvolume, inode);
	return path ? g_path_get_dirname(path) : g_strdup("");
}

static const char *find(ObjectDirectories *directories, uint64_t subvolume, uint64_t inode)
{
	if (directories->text && directories->subvolume == subvolume && directories->inode == inode)
		return directories->text;

	g_autofree char *path = find_path(directories, subvolume, inode);
	g_free(directories->text);
	directories->text = name_text(path, strlen(path));
	directories->subvolume = subvolume;
	directories->inode = inode;
	return directories->text;
}

/* A file that shows the extent.  An extent that snapshots alone show has no name. */
static const char *find_extent(ObjectDirectories *directories, const Object *extent)
{
	g_autoptr(GError) unread = NULL;
	BtrfsNamedRefs named = { 0 };
	const char *text = "";

	if (!btrfs_named_refs_read(directories->fd, extent->inode, extent->size_bytes, 1, &named,
				   &unread))
		return text;
	if (named.generation != object_extent_generation(extent)) {
		text = NULL;
	} else if (named.refs && named.refs->len > 0) {
		const BtrfsExtentRef *ref = &g_array_index(named.refs, BtrfsExtentRef, 0);

		text = find(directories, ref->root, ref->inode);
	}
	g_clear_pointer(&named.refs, g_array_unref);
	return text;
}

const char *object_directories_find(ObjectDirectories *directories, const Object *object)
{
	if (!directories->paths)
		return find(directories, object->subvolume, object->parent);
	if (object->subvolume == OBJECT_EXTENTS)
		return find_extent(directories, object);
	if (object->subvolume == OBJECT_STRETCHES)
		return find(directories, (uint64_t)object->ctime_nsec, object->parent);
	return find(directories, object->subvolume, object->inode);
}
