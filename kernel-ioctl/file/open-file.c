/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/file/open-file.h"

#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/file-attributes.h"
#include "kernel-ioctl/file/file-stat.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <sys/stat.h>

/* The C library adds O_LARGEFILE to openat(2), but not to open_by_handle_at(2). */
#define OPEN_FLAGS (O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_LARGEFILE)

/* Types of handles: fs/xfs/xfs_export.c, fs/btrfs/export.h. */
#define HANDLE_TYPE_XFS   0x81
#define HANDLE_TYPE_BTRFS 0x4d

typedef struct {
	uint64_t inode;
	uint32_t generation;
} __attribute__((packed)) XfsHandle;

typedef struct {
	uint64_t inode;
	uint64_t subvolume;
	uint32_t generation;
} __attribute__((packed)) BtrfsHandle;

G_STATIC_ASSERT(sizeof(XfsHandle) == 12);
G_STATIC_ASSERT(sizeof(BtrfsHandle) == 20);

typedef union {
	struct file_handle handle;
	uint8_t bytes[sizeof(struct file_handle) + sizeof(BtrfsHandle)];
} HandleBuffer;

OpenOutcome open_outcome_of(int error)
{
	switch (error) {
	case ENOENT:
	case ESTALE:
	case ELOOP:
	case ENOTDIR:
		return OPEN_GONE;
	case EAGAIN:
		return OPEN_LEASED;
	case EACCES:
	case EPERM:
		return OPEN_DENIED;
	case EIO:
	case EUCLEAN: /* the filesystems' EFSCORRUPTED */
	case EBADMSG: /* the filesystems' EFSBADCRC */
		return OPEN_UNREADABLE;
	default:
		return OPEN_FAILED;
	}
}

static OpenOutcome refuse(int error, int *ret_errno)
{
	*ret_errno = error;
	return open_outcome_of(error);
}

static OpenOutcome refuse_type(int *ret_errno)
{
	*ret_errno = 0;
	return OPEN_NOT_REGULAR;
}

/* Hand out @fd if it is a regular file, else close it. */
static OpenOutcome hand_out_take(int fd, int *ret_fd, int *ret_errno)
{
	g_auto(Fd) owned = fd;
	struct stat st;

	if (fstat(owned, &st) < 0)
		return refuse(errno, ret_errno);
	if (!S_ISREG(st.st_mode))
		return refuse_type(ret_errno);

	*ret_fd = fd_steal(&owned);
	*ret_errno = 0;
	return OPEN_OPENED;
}

static void fill_handle(FsKind kind, const FileId *id, HandleBuffer *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (kind == FS_KIND_XFS) {
		XfsHandle xfs = { .inode = id->inode, .generation = id->generation };

		ret->handle.handle_type = HANDLE_TYPE_XFS;
		ret->handle.handle_bytes = sizeof(xfs);
		memcpy(ret->bytes + sizeof(ret->handle), &xfs, sizeof(xfs));
	} else {
		BtrfsHandle btrfs = {
			.inode = id->inode,
			.subvolume = id->subvolume,
			.generation = id->generation,
		};

		ret->handle.handle_type = HANDLE_TYPE_BTRFS;
		ret->handle.handle_bytes = sizeof(btrfs);
		memcpy(ret->bytes + sizeof(ret->handle), &btrfs, sizeof(btrfs));
	}
}

static int open_handle(int mount_fd, FsKind kind, const FileId *id, int flags)
{
	HandleBuffer buffer;
	int fd;

	if (kind == FS_KIND_OTHER) {
		errno = EOPNOTSUPP;
		return -1;
	}

	fill_handle(kind, id, &buffer);
	do
		fd = open_by_handle_at(mount_fd, &buffer.handle, flags);
	while (fd < 0 && errno == EINTR);

	return fd;
}

OpenOutcome open_regular_file_by_id(int mount_fd, FsKind kind, const FileId *id, int *ret_fd,
				    int *ret_errno)
{
	int fd = open_handle(mount_fd, kind, id, OPEN_FLAGS | O_NOATIME);

	if (fd < 0 && errno == EPERM)
		fd = open_handle(mount_fd, kind, id, OPEN_FLAGS);

	*ret_fd = fd;
	*ret_errno = 0;
	if (fd >= 0)
		return OPEN_OPENED;
	/* A handle is no path: these errors describe the type of the object itself. */
	if (errno == ELOOP || errno == ENXIO || errno == ENODEV)
		return refuse_type(ret_errno);
	return refuse(errno, ret_errno);
}

OpenOutcome open_file_by_id(int mount_fd, FsKind kind, const FileId *id, int *ret_fd,
			    int *ret_errno)
{
	int fd;
	OpenOutcome outcome = open_regular_file_by_id(mount_fd, kind, id, &fd, ret_errno);

	*ret_fd = -1;
	return outcome == OPEN_OPENED ? hand_out_take(fd, ret_fd, ret_errno) : outcome;
}

int open_directory_by_id(int mount_fd, FsKind kind, const FileId *id)
{
	return open_handle(mount_fd, kind, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

bool open_file_by_id_works(int mount_fd, FsKind kind)
{
	FileAttributes attributes;
	FileStat stat, opened;
	FileId id;
	g_auto(Fd) fd = -1;

	if (kind == FS_KIND_OTHER || file_stat_at(mount_fd, "", &stat) != 0 ||
	    !fs_subvolume_read(mount_fd, kind, &id.subvolume, NULL) ||
	    !file_attributes_read(mount_fd, kind, &attributes, NULL))
		return false;

	id.inode = stat.inode;
	id.generation = attributes.generation;
	fd = open_handle(mount_fd, kind, &id, O_PATH | O_CLOEXEC);
	return fd >= 0 && file_stat_at(fd, "", &opened) == 0 && opened.inode == stat.inode;
}

static int open_name(int dir_fd, const char *name, int flags)
{
	int fd;

	do
		fd = openat(dir_fd, name, flags);
	while (fd < 0 && errno == EINTR);

	return fd;
}

/* Open the object of @fd through /proc: it is the same object even if its name changed. */
static int open_again(int fd, int flags)
{
	char link[64];

	g_snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return open_name(AT_FDCWD, link, flags & ~O_NOFOLLOW);
}

int open_file_direct(int fd)
{
	int flags = OPEN_FLAGS | O_DIRECT;
	int direct_fd = open_again(fd, flags | O_NOATIME);

	return direct_fd < 0 && errno == EPERM ? open_again(fd, flags) : direct_fd;
}

/* Open the object of @path_fd for reading.  Without /proc, open the name again. */
static int reopen(int path_fd, int dir_fd, const char *name, int flags)
{
	int fd = open_again(path_fd, flags);

	if (fd < 0 && errno == ENOENT)
		fd = open_name(dir_fd, name, flags);

	return fd;
}

OpenOutcome open_file_at(int dir_fd, const char *name, int *ret_fd, int *ret_errno)
{
	g_auto(Fd) path_fd = open_name(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	int fd;

	*ret_fd = -1;
	if (path_fd < 0 || fstat(path_fd, &st) < 0)
		return refuse(errno, ret_errno);
	if (!S_ISREG(st.st_mode))
		return refuse_type(ret_errno);

	fd = reopen(path_fd, dir_fd, name, OPEN_FLAGS | O_NOATIME);
	if (fd < 0 && errno == EPERM)
		fd = reopen(path_fd, dir_fd, name, OPEN_FLAGS);
	if (fd < 0)
		return refuse(errno, ret_errno);
	return hand_out_take(fd, ret_fd, ret_errno);
}

/* O_DIRECTORY triggers an automount, which can only be at a directory; the type is not known before. */
static int find_path(const char *path)
{
	int fd = open_name(AT_FDCWD, path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 && errno == ENOTDIR)
		fd = open_name(AT_FDCWD, path, O_PATH | O_CLOEXEC);

	return fd;
}

static bool is_same_file(int fd, const struct stat *expected)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_dev == expected->st_dev &&
	       st.st_ino == expected->st_ino;
}

OpenOutcome open_file_or_directory(const char *path, int *ret_fd, int *ret_errno)
{
	g_auto(Fd) path_fd = find_path(path);
	g_auto(Fd) fd = -1;
	struct stat st;

	*ret_fd = -1;
	if (path_fd < 0 || fstat(path_fd, &st) < 0)
		return refuse(errno, ret_errno);
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return refuse_type(ret_errno);

	fd = reopen(path_fd, AT_FDCWD, path,
		    S_ISDIR(st.st_mode) ? OPEN_FLAGS | O_DIRECTORY : OPEN_FLAGS);
	if (fd < 0)
		return refuse(errno, ret_errno);
	/* Without /proc the name was looked up twice, so it may be another file. */
	if (!is_same_file(fd, &st))
		return refuse(ESTALE, ret_errno);

	*ret_fd = fd_steal(&fd);
	*ret_errno = 0;
	return OPEN_OPENED;
}
