/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/files/btrfs-paths.h"

#include "common/mounts/mount-table.h"
#include "common/text/short-path.h"
#include "kernel-ioctl/btrfs/btrfs-names.h"
#include "kernel-ioctl/btrfs/btrfs-subvolumes.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/file-stat.h"

#include <fcntl.h>

/* Names above one another; a way that is longer is a circle. */
#define CLIMB_MAX 65536

#define TOP_NAME "<FS_TREE>"

/* A directory that a mount shows. */
typedef struct {
	uint64_t root;
	uint64_t inode;
	char *target;
} ShownDirectory;

struct BtrfsPaths {
	BtrfsNames *names;
	ShortPath *path;
	GArray *shown; /* ShownDirectory */
};

static void shown_clear(void *data)
{
	ShownDirectory *shown = data;

	g_free(shown->target);
}

static void add_mount(BtrfsPaths *paths, const MountPoint *mount)
{
	g_auto(Fd) fd = open(mount->target, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ShownDirectory shown = { 0 };
	FileStat stat;

	if (fd < 0 || file_stat_at(fd, "", &stat) != 0 ||
	    !fs_subvolume_read(fd, FS_KIND_BTRFS, &shown.root, NULL))
		return;

	shown.inode = stat.inode;
	shown.target = g_strdup(mount->target);
	g_array_append_val(paths->shown, shown);
}

BtrfsPaths *btrfs_paths_new(int fd, const char *uuid, GError **error)
{
	g_autoptr(MountTable) mounts = mount_table_read(NULL, NULL, NULL, error);
	const MountedFilesystem *filesystem;
	BtrfsPaths *paths;

	if (!mounts)
		return NULL;

	paths = g_new0(BtrfsPaths, 1);
	paths->names = btrfs_names_new(fd);
	paths->path = short_path_new();
	paths->shown = g_array_new(false, false, sizeof(ShownDirectory));
	g_array_set_clear_func(paths->shown, shown_clear);
	filesystem = mount_table_find_uuid(mounts, uuid);
	for (guint i = 0; filesystem && i < filesystem->mount_points->len; i++) {
		const MountPoint *mount = filesystem->mount_points->pdata[i];

		if (mount->is_reachable)
			add_mount(paths, mount);
	}

	return paths;
}

void btrfs_paths_free(BtrfsPaths *paths)
{
	if (!paths)
		return;

	btrfs_names_free(paths->names);
	short_path_free(paths->path);
	g_array_unref(paths->shown);
	g_free(paths);
}

/* The mount point that shows the directory; NULL: none does. */
static const char *target_of(const GArray *directories, uint64_t root, uint64_t inode)
{
	for (guint i = 0; i < directories->len; i++) {
		const ShownDirectory *shown = &g_array_index(directories, ShownDirectory, i);

		if (shown->root == root && shown->inode == inode)
			return shown->target;
	}

	return NULL;
}

/*
 * The path of the file or directory with the name, below the first of @directories that is met.  If none is, it is below
 * @top, or NULL without that.  NULL is also an error.
 */
static char *climb(BtrfsPaths *paths, const GArray *directories, const char *top,
		   const BtrfsName *name, GError **error)
{
	const char *target = NULL;

	short_path_clear(paths->path);
	for (int i = 0; name && !target && i < CLIMB_MAX; i++) {
		uint64_t above = name->root, directory = name->directory;

		short_path_prepend(paths->path, name->name);
		target = target_of(directories, above, directory);
		if (!target &&
		    !btrfs_names_of_directory(paths->names, above, directory, &name, error))
			return NULL;
	}

	if (!target)
		target = top;
	return target ? short_path_text(paths->path, target) : NULL;
}

char *btrfs_paths_find(BtrfsPaths *paths, uint64_t root, uint64_t inode)
{
	const BtrfsName *name;

	btrfs_names_start(paths->names, root, inode);
	if (!btrfs_names_next(paths->names, &name, NULL) || !name)
		return NULL;
	return climb(paths, paths->shown, TOP_NAME, name, NULL);
}

bool btrfs_paths_find_below(BtrfsPaths *paths, uint64_t root, uint64_t inode, const char *directory,
			    char **ret, GError **error)
{
	g_autoptr(GArray) tops = g_array_new(false, false, sizeof(ShownDirectory));
	ShownDirectory top = { root, BTRFS_NAMES_TOP_INODE, (char *)directory };
	g_autoptr(GError) failed = NULL;
	const BtrfsName *name;

	*ret = NULL;
	btrfs_names_start(paths->names, root, inode);
	if (!btrfs_names_next(paths->names, &name, error))
		return false;
	g_array_append_val(tops, top);
	*ret = climb(paths, tops, NULL, name, &failed);
	if (!failed)
		return true;

	g_propagate_error(error, g_steal_pointer(&failed));
	return false;
}

char *btrfs_paths_find_subvolume(BtrfsPaths *paths, uint64_t root)
{
	const char *target = target_of(paths->shown, root, BTRFS_NAMES_TOP_INODE);
	const BtrfsName *name;

	if (target)
		return g_strdup(target);
	if (root == BTRFS_SUBVOLUME_TOP)
		return g_strdup(TOP_NAME);
	if (!btrfs_names_of_directory(paths->names, root, BTRFS_NAMES_TOP_INODE, &name, NULL) ||
	    !name)
		return NULL;
	return climb(paths, paths->shown, TOP_NAME, name, NULL);
}
