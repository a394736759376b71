/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/context/filesystem.h"

#include "common/mounts/known-kernels.h"
#include "common/mounts/mount-options.h"
#include "common/text/path.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/file-stat.h"
#include "kernel-ioctl/file/open-file.h"

#include <errno.h>
#include <fcntl.h>
#include <libmount.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* The inode of every btrfs subvolume's top directory (BTRFS_FIRST_FREE_OBJECTID). */
#define BTRFS_TOP_INODE 256

typedef struct libmnt_table LibmountTable;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(LibmountTable, mnt_unref_table)

G_DEFINE_QUARK(dedupd - filesystem - error - quark, filesystem_error)

static void root_free(FilesystemRoot *root)
{
	g_free(root->path);
	g_free(root);
}

void filesystem_close(Filesystem *filesystem)
{
	fd_close(&filesystem->fd);
}

void filesystem_free(Filesystem *filesystem)
{
	if (!filesystem)
		return;

	filesystem_close(filesystem);
	g_clear_error(&filesystem->refusal);
	g_free(filesystem->mount_point);
	g_ptr_array_unref(filesystem->roots);
	g_free(filesystem);
}

G_GNUC_PRINTF(3, 4)
static void fail(GError **error, FilesystemError code, const char *format, ...)
{
	g_autofree char *message = NULL;
	va_list arguments;

	va_start(arguments, format);
	message = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	g_set_error_literal(error, FILESYSTEM_ERROR, code, message);
}

/* The mount that shows @path: the one with its mount id, else the one with the longest prefix. */
static struct libmnt_fs *mount_of(LibmountTable *mounts, const char *path, const FileStat *stat)
{
	g_autoptr(GString) prefix = g_string_new(path);

	if (stat->mount_id) {
		struct libmnt_iter *iterator = mnt_new_iter(MNT_ITER_BACKWARD);
		struct libmnt_fs *mount = NULL;

		while (mnt_table_next_fs(mounts, iterator, &mount) == 0)
			if ((uint64_t)mnt_fs_get_id(mount) == stat->mount_id)
				break;
		mnt_free_iter(iterator);
		if (mount && (uint64_t)mnt_fs_get_id(mount) == stat->mount_id)
			return mount;
	}

	for (;;) {
		struct libmnt_fs *mount =
			mnt_table_find_target(mounts, prefix->str, MNT_ITER_BACKWARD);
		char *slash = strrchr(prefix->str, '/');

		if (mount || prefix->len <= 1)
			return mount;
		g_string_truncate(prefix, MAX(slash - prefix->str, 1));
	}
}

static Filesystem *find_known(GPtrArray *found, const FsIdentity *identity)
{
	for (size_t i = 0; i < found->len; i++) {
		Filesystem *filesystem = found->pdata[i];

		if (memcmp(filesystem->identity.uuid, identity->uuid, FS_UUID_BYTES) == 0)
			return filesystem;
	}

	return NULL;
}

/* Whether blocks can be shared through @mount; else the filesystem's refusal says why not. */
static void examine(Filesystem *filesystem, struct libmnt_fs *mount, const char *path)
{
	bool is_read_only = mount_options_are_read_only(mnt_fs_get_vfs_options(mount),
							mnt_fs_get_fs_options(mount));
	g_autofree char *why = mount_options_refusal(path, mnt_fs_get_target(mount),
						     filesystem->identity.can_share, is_read_only);

	if (!why)
		why = known_kernels_refusal(filesystem->identity.kind);
	if (why && !filesystem->refusal)
		fail(&filesystem->refusal, FILESYSTEM_ERROR_UNSUITABLE, "%s", why);
}

/* Whether @fd still shows the filesystem: the owner of a directory above the mount point may have replaced it. */
static bool is_still(int fd, const FsIdentity *identity)
{
	FsIdentity opened;

	return fs_identity_read(fd, &opened, NULL) && opened.kind == identity->kind &&
	       memcmp(opened.uuid, identity->uuid, FS_UUID_BYTES) == 0;
}

static Filesystem *filesystem_new(const FsIdentity *identity, const char *mount_point,
				  GError **error)
{
	g_autoptr(Filesystem) filesystem = g_new0(Filesystem, 1);
	struct stat stat;

	filesystem->identity = *identity;
	filesystem->roots = g_ptr_array_new_with_free_func((GDestroyNotify)root_free);
	filesystem->mount_point = g_strdup(mount_point);
	fs_uuid_format(identity->uuid, filesystem->uuid);

	filesystem->fd = open(mount_point, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOCTTY);
	if (filesystem->fd < 0 && errno == ENOTDIR) {
		fail(error, FILESYSTEM_ERROR_PATH,
		     "%s is a mount of a single file: name a path below another mount of its "
		     "filesystem",
		     mount_point);
		return NULL;
	}
	if (filesystem->fd < 0 || fstat(filesystem->fd, &stat) != 0) {
		fail(error, FILESYSTEM_ERROR_PATH, "cannot open %s: %s", mount_point,
		     g_strerror(errno));
		return NULL;
	}
	if (!is_still(filesystem->fd, identity)) {
		fail(error, FILESYSTEM_ERROR_PATH, "%s shows another filesystem by now",
		     mount_point);
		return NULL;
	}

	filesystem->device = stat.st_dev;
	filesystem->opens_by_id = open_file_by_id_works(filesystem->fd, identity->kind);
	return g_steal_pointer(&filesystem);
}

/* Keep only roots that lie in no other. */
static void add_root(Filesystem *filesystem, FilesystemRoot *root)
{
	for (size_t i = 0; i < filesystem->roots->len; i++) {
		const FilesystemRoot *other = filesystem->roots->pdata[i];

		if (!other->is_file && root->mount_id == other->mount_id &&
		    path_lies_in(root->path, other->path)) {
			root_free(root);
			return;
		}
	}

	for (size_t i = filesystem->roots->len; i > 0; i--) {
		const FilesystemRoot *other = filesystem->roots->pdata[i - 1];

		if (!root->is_file && root->mount_id == other->mount_id &&
		    path_lies_in(other->path, root->path))
			g_ptr_array_remove_index(filesystem->roots, i - 1);
	}
	g_ptr_array_add(filesystem->roots, root);
}

/* Nothing but a directory or a regular file is opened. */
static bool open_path(const char *path, const char *absolute, int *ret_fd, GError **error)
{
	int cause = errno;
	OpenOutcome outcome =
		absolute ? open_file_or_directory(absolute, ret_fd, &cause) : OPEN_GONE;

	if (outcome == OPEN_OPENED)
		return true;
	if (outcome == OPEN_NOT_REGULAR)
		fail(error, FILESYSTEM_ERROR_PATH, "%s is neither a directory nor a regular file",
		     path);
	else
		fail(error, FILESYSTEM_ERROR_PATH, "cannot open %s: %s", path, g_strerror(cause));
	return false;
}

static bool add_path(GPtrArray *found, LibmountTable *mounts, const char *path, GError **error)
{
	g_autofree char *absolute = realpath(path, NULL);
	g_auto(Fd) fd = -1;
	struct libmnt_fs *mount;
	Filesystem *filesystem;
	FilesystemRoot *root;
	uint64_t subvolume;
	FsIdentity identity;
	FileStat stat;

	if (!open_path(path, absolute, &fd, error))
		return false;

	errno = file_stat_at(fd, "", &stat);
	if (errno) {
		fail(error, FILESYSTEM_ERROR_PATH, "cannot stat %s: %s", path, g_strerror(errno));
		return false;
	}
	if (!fs_identity_read(fd, &identity, error))
		return false;

	mount = mount_of(mounts, absolute, &stat);
	if (!mount) {
		fail(error, FILESYSTEM_ERROR_PATH, "cannot find the mount that shows %s", path);
		return false;
	}
	if (identity.kind == FS_KIND_OTHER) {
		fail(error, FILESYSTEM_ERROR_PATH,
		     "%s lies on %s; only btrfs and XFS can share blocks", path,
		     mnt_fs_get_fstype(mount) ? mnt_fs_get_fstype(mount) : "another filesystem");
		return false;
	}

	if (!fs_subvolume_read(fd, identity.kind, &subvolume, error))
		return false;

	filesystem = find_known(found, &identity);
	if (filesystem &&
	    !filesystem_may_be_on(filesystem, makedev(stat.device_major, stat.device_minor))) {
		fail(error, FILESYSTEM_ERROR_PATH,
		     "%s has the UUID of %s, as a clone or a snapshot of its disk has: "
		     "xfs_admin -U generate gives it one of its own",
		     path, filesystem->mount_point);
		return false;
	}
	if (!filesystem) {
		filesystem = filesystem_new(&identity, mnt_fs_get_target(mount), error);
		if (!filesystem)
			return false;
		g_ptr_array_add(found, filesystem);
	}

	examine(filesystem, mount, path);
	filesystem->counts_quota = identity.kind == FS_KIND_XFS &&
				   mount_options_count_quota(mnt_fs_get_fs_options(mount));
	root = g_new0(FilesystemRoot, 1);
	root->is_file = S_ISREG(stat.mode);
	root->mount_id = stat.mount_id;
	root->subvolume = subvolume;
	root->inode = stat.inode;
	root->btime_nsec = stat.btime_nsec;
	root->is_mount_root = strcmp(absolute, mnt_fs_get_target(mount)) == 0;
	root->is_top = identity.kind == FS_KIND_BTRFS
			       ? stat.inode == BTRFS_TOP_INODE
			       : root->is_mount_root && g_strcmp0(mnt_fs_get_root(mount), "/") == 0;
	root->path = g_steal_pointer(&absolute);
	add_root(filesystem, root);
	return true;
}

/* Whether @stat is of what @root named when it was found, if it lies in the same subvolume. */
static bool is_root(const FilesystemRoot *root, const FileStat *stat)
{
	return stat->inode == root->inode && stat->mount_id == root->mount_id &&
	       stat->btime_nsec == root->btime_nsec;
}

int filesystem_root_open(const Filesystem *filesystem, const FilesystemRoot *root, int flags)
{
	g_autofree char *above = root->is_file ? g_path_get_dirname(root->path) : NULL;
	g_autofree char *name = root->is_file ? g_path_get_basename(root->path) : NULL;
	g_auto(Fd) fd = open(above ? above : root->path,
			     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | flags);
	uint64_t subvolume;
	FileStat stat;

	if (fd < 0)
		return -1;

	errno = file_stat_at(fd, name ? name : "", &stat);
	if (errno)
		return -1;
	if (!is_root(root, &stat) ||
	    !fs_subvolume_read(fd, filesystem->identity.kind, &subvolume, NULL) ||
	    subvolume != root->subvolume) {
		errno = ESTALE;
		return -1;
	}

	return fd_steal(&fd);
}

GPtrArray *filesystems_find(char *const *paths, GError **error)
{
	g_autoptr(GPtrArray) found =
		g_ptr_array_new_with_free_func((GDestroyNotify)filesystem_free);
	g_autoptr(LibmountTable) mounts = mnt_new_table_from_file("/proc/self/mountinfo");

	if (!mounts) {
		fail(error, FILESYSTEM_ERROR_PATH, "cannot read /proc/self/mountinfo");
		return NULL;
	}

	for (; *paths; paths++)
		if (!add_path(found, mounts, *paths, error))
			return NULL;

	return g_steal_pointer(&found);
}

bool filesystem_flush(const Filesystem *filesystem, GError **error)
{
	if (syncfs(filesystem->fd) == 0)
		return true;

	fail(error, FILESYSTEM_ERROR_UNSUITABLE, "cannot flush %s: %s", filesystem->mount_point,
	     g_strerror(errno));
	return false;
}

bool filesystem_may_be_on(const Filesystem *filesystem, dev_t device)
{
	return filesystem->identity.kind != FS_KIND_XFS || filesystem->device == device;
}
