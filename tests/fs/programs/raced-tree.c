/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/fs/programs/raced-tree.h"

#include "kernel-ioctl/call/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

static void free_file(void *file)
{
	raced_file_free(file);
}

static RacedTree *new_tree(const char *path, bool is_read_only)
{
	RacedTree *tree = g_new0(RacedTree, 1);

	tree->path = g_strdup(path);
	tree->files = g_ptr_array_new_with_free_func(free_file);
	tree->is_read_only = is_read_only;
	return tree;
}

static bool fail(const char *path, const char *what, GError **error)
{
	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED, "cannot %s %s: %s", what, path,
		    g_strerror(errno));
	return false;
}

static int open_directory(const char *path)
{
	return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int open_parent(const char *path)
{
	g_autofree char *parent = g_path_get_dirname(path);

	return open_directory(parent);
}

static bool make_subvolume(int parent, const char *name)
{
	struct btrfs_ioctl_vol_args arguments = { 0 };

	g_strlcpy(arguments.name, name, sizeof(arguments.name));
	return ioctl(parent, BTRFS_IOC_SUBVOL_CREATE, &arguments) == 0;
}

RacedTree *raced_tree_create(const char *path, GError **error)
{
	g_autofree char *name = g_path_get_basename(path);
	g_auto(Fd) parent = open_parent(path);
	bool is_subvolume = parent >= 0 && make_subvolume(parent, name);
	RacedTree *tree;

	if (!is_subvolume && (parent < 0 || errno != ENOTTY || mkdirat(parent, name, 0755) != 0)) {
		fail(path, "create", error);
		return NULL;
	}

	tree = new_tree(path, false);
	tree->is_subvolume = is_subvolume;
	return tree;
}

static bool make_snapshot(const RacedTree *tree, const char *path, bool is_read_only)
{
	g_autofree char *name = g_path_get_basename(path);
	g_auto(Fd) parent = open_parent(path);
	g_auto(Fd) source = open_directory(tree->path);
	struct btrfs_ioctl_vol_args_v2 arguments = {
		.fd = source,
		.flags = is_read_only ? BTRFS_SUBVOL_RDONLY : 0,
	};

	g_strlcpy(arguments.name, name, sizeof(arguments.name));
	return parent >= 0 && source >= 0 &&
	       ioctl(parent, BTRFS_IOC_SNAP_CREATE_V2, &arguments) == 0;
}

/* Make a clone of the file in another directory. */
static RacedFile *clone_file(const RacedFile *file, int tree, int to, GError **error)
{
	g_autoptr(RacedFile) clone = raced_file_create(to, file->name, false, error);
	uint64_t size = shadow_size(file->shadow);

	if (!clone || (size > 0 && !raced_file_clone(clone, to, 0, file, tree, 0, size, error)))
		return NULL;
	return g_steal_pointer(&clone);
}

static bool clone_all(const RacedTree *tree, RacedTree *copy, GError **error)
{
	g_auto(Fd) from = raced_tree_open(tree, error);
	g_auto(Fd) to = from < 0 ? -1 : raced_tree_open(copy, error);

	if (to < 0)
		return false;

	for (guint i = 0; i < tree->files->len; i++) {
		RacedFile *clone = clone_file(tree->files->pdata[i], from, to, error);

		if (!clone)
			return false;
		g_ptr_array_add(copy->files, clone);
	}

	return true;
}

static void copy_all(const RacedTree *tree, RacedTree *copy)
{
	for (guint i = 0; i < tree->files->len; i++)
		g_ptr_array_add(copy->files, raced_file_copy(tree->files->pdata[i]));
}

RacedTree *raced_tree_snapshot(const RacedTree *tree, const char *path, bool is_read_only,
			       GError **error)
{
	g_autoptr(RacedTree) copy = NULL;

	if (tree->is_subvolume ? !make_snapshot(tree, path, is_read_only)
			       : mkdir(path, 0755) != 0) {
		fail(path, "make the snapshot", error);
		return NULL;
	}

	copy = new_tree(path, is_read_only);
	copy->is_subvolume = tree->is_subvolume;
	if (copy->is_subvolume)
		copy_all(tree, copy);
	else if (!clone_all(tree, copy, error))
		return NULL;
	return g_steal_pointer(&copy);
}

static bool delete_subvolume(const char *path)
{
	struct btrfs_ioctl_vol_args arguments = { 0 };
	g_autofree char *name = g_path_get_basename(path);
	g_auto(Fd) parent = open_parent(path);

	g_strlcpy(arguments.name, name, sizeof(arguments.name));
	return parent >= 0 && ioctl(parent, BTRFS_IOC_SNAP_DESTROY, &arguments) == 0;
}

static bool delete_directory(const RacedTree *tree)
{
	g_auto(Fd) fd = open_directory(tree->path);

	for (guint i = 0; i < tree->files->len; i++)
		if (fd < 0 || unlinkat(fd, raced_tree_file(tree, i)->name, 0) != 0)
			return false;
	return rmdir(tree->path) == 0;
}

bool raced_tree_delete(const RacedTree *tree, GError **error)
{
	if (tree->is_subvolume ? delete_subvolume(tree->path) : delete_directory(tree))
		return true;

	return fail(tree->path, "delete", error);
}

void raced_tree_free(RacedTree *tree)
{
	if (!tree)
		return;

	g_ptr_array_unref(tree->files);
	g_free(tree->path);
	g_free(tree);
}

int raced_tree_open(const RacedTree *tree, GError **error)
{
	int fd = open_directory(tree->path);

	if (fd < 0)
		fail(tree->path, "open", error);
	return fd;
}

RacedFile *raced_tree_file(const RacedTree *tree, guint index)
{
	return tree->files->pdata[index];
}

bool raced_tree_rename(RacedTree *tree, int fd, RacedFile *file, int replaced, const char *name,
		       GError **error)
{
	g_autofree char *old_name = NULL;

	if (replaced < 0)
		return raced_file_rename(file, fd, name, error);

	old_name = g_strdup(raced_tree_file(tree, (guint)replaced)->name);
	if (!raced_file_rename(file, fd, old_name, error))
		return false;
	g_ptr_array_remove_index_fast(tree->files, (guint)replaced);
	return true;
}

bool raced_tree_renew(RacedTree *tree, int fd, guint index, const char *name, bool is_no_cow,
		      GError **error)
{
	RacedFile *old = raced_tree_file(tree, index);
	RacedFile *renewed;

	if (unlinkat(fd, old->name, 0) != 0)
		return fail(old->name, "unlink", error);

	renewed = raced_file_create(fd, name, is_no_cow, error);
	if (!renewed)
		return false;
	raced_file_free(old);
	tree->files->pdata[index] = renewed;
	return true;
}

static bool check_number_of_files(const RacedTree *tree, GError **error)
{
	g_autoptr(GDir) directory = g_dir_open(tree->path, 0, error);
	guint n = 0;

	if (!directory)
		return false;

	while (g_dir_read_name(directory))
		n++;
	if (n == tree->files->len)
		return true;

	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED, "%s has %u files and not %u",
		    tree->path, n, tree->files->len);
	return false;
}

bool raced_tree_check(const RacedTree *tree, GError **error)
{
	g_auto(Fd) fd = raced_tree_open(tree, error);

	if (fd < 0 || !check_number_of_files(tree, error))
		return false;

	for (guint i = 0; i < tree->files->len; i++) {
		const RacedFile *file = raced_tree_file(tree, i);

		if (!raced_file_check(file, fd, 0, shadow_size(file->shadow), false, error)) {
			g_prefix_error(error, "%s: ", tree->path);
			return false;
		}
	}

	return true;
}
