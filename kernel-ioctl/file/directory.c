/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/file/directory.h"

#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/call/system-call.h"
#include "kernel-ioctl/file/file-stat.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>

/* A batch and its entries stay below 64 KiB: from that size on, free() looks over its whole heap. */
#define BATCH_BYTES 24576
/* Thousands of directories can be nested.  A record has at most 280 bytes. */
#define DEEP_BATCH_BYTES 4096
#define SHALLOW_LEVELS   64
/* A record is at least inode, offset, length, type and one letter, in multiples of 8. */
#define MIN_RECORD_BYTES 24

/* Descriptors that stay free for the rest of the process. */
#define SPARE_DESCRIPTORS 128
#define LEVELS_MAX        4096

struct Directory {
	int fd;
	bool is_at_end;
	unsigned level; /* 0: the outermost */
	unsigned next;
	unsigned n_entries;
	size_t batch_bytes;
	char *batch;              /* struct dirent64 one after another; behind the entries */
	DirectoryEntry entries[]; /* batch_bytes / MIN_RECORD_BYTES */
};

#define OPEN_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

static int open_within_mount(int parent_fd, const char *name, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)flags,
		.resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	long fd;

	do
		fd = syscall(SYS_openat2, parent_fd, name, &how, sizeof(how));
	while (fd < 0 && errno == EINTR);

	return (int)fd;
}

static int open_anywhere(int parent_fd, const char *name, int flags)
{
	int fd;

	do
		fd = openat(parent_fd, name, flags);
	while (fd < 0 && errno == EINTR);

	return fd;
}

/* Returns 0, EXDEV, or the errno value of what failed. */
static int compare_mounts(int parent_fd, int fd, const char *name)
{
	FileStat parent, child;
	int error = file_stat_at(parent_fd, "", &parent);

	if (!error)
		error = file_stat_at(fd, name, &child);
	if (error)
		return error;
	/* A kernel without mount ids cannot show that both lie on one mount. */
	if (!parent.mount_id || !child.mount_id)
		return EOPNOTSUPP;
	return parent.mount_id == child.mount_id ? 0 : EXDEV;
}

static int open_and_compare(int parent_fd, const char *name, int flags)
{
	int fd = open_anywhere(parent_fd, name, flags);
	int error;

	if (fd < 0)
		return -1;

	error = compare_mounts(parent_fd, fd, "");
	if (!error)
		return fd;

	close(fd);
	errno = error;
	return -1;
}

/* Recognise a mount point before it is opened: opening one of autofs would wait for its mount. */
static bool is_other_mount(int parent_fd, const char *name, const FileStat *stat)
{
	return stat->is_mount_root && compare_mounts(parent_fd, parent_fd, name) == EXDEV;
}

static int open_directory(int parent_fd, const char *name)
{
	/* The kernel grants O_NOATIME only to the owner and root; others get EPERM. */
	static const int attempts[] = { OPEN_FLAGS | O_NOATIME, OPEN_FLAGS };
	int fd = -1;

	for (size_t i = 0; i < G_N_ELEMENTS(attempts); i++) {
		fd = open_within_mount(parent_fd, name, attempts[i]);
		/* A sandbox may answer EPERM instead of ENOSYS. */
		if (fd < 0 && (errno == ENOSYS || errno == EPERM))
			fd = open_and_compare(parent_fd, name, attempts[i]);
		if (fd >= 0 || errno != EPERM)
			return fd;
	}

	return fd;
}

static DirectoryOutcome outcome_of(int error)
{
	switch (error) {
	case ENOENT:
	case ENOTDIR:
	case ELOOP:
	case ESTALE:
		return DIRECTORY_GONE;
	case EXDEV:
		return DIRECTORY_OTHER_MOUNT;
	case EACCES:
	case EPERM:
		return DIRECTORY_DENIED;
	default:
		return DIRECTORY_FAILED;
	}
}

DirectoryOutcome directory_open_in(const Directory *parent, const char *name, Directory **ret,
				   int *ret_errno)
{
	int parent_fd = directory_fd(parent);
	DirectoryOutcome outcome;
	FileStat stat;
	int fd;

	*ret = NULL;
	if (file_stat_at(parent_fd, name, &stat) != 0)
		stat.is_mount_root = false;
	outcome = directory_open_known(parent_fd, name, &stat, &fd, ret_errno);
	if (outcome == DIRECTORY_OPENED)
		*ret = directory_new_take(fd, parent);
	return outcome;
}

DirectoryOutcome directory_open_known(int parent_fd, const char *name, const FileStat *stat,
				      int *ret_fd, int *ret_errno)
{
	*ret_fd = -1;
	if (stat && is_other_mount(parent_fd, name, stat)) {
		*ret_errno = EXDEV;
		return DIRECTORY_OTHER_MOUNT;
	}

	*ret_fd = open_directory(parent_fd, name);
	if (*ret_fd < 0) {
		*ret_errno = errno;
		return outcome_of(errno);
	}

	return DIRECTORY_OPENED;
}

Directory *directory_new_take(int fd, const Directory *parent)
{
	unsigned level = parent ? parent->level + 1 : 0;
	size_t batch_bytes = level < SHALLOW_LEVELS ? BATCH_BYTES : DEEP_BATCH_BYTES;
	size_t entries_bytes = batch_bytes / MIN_RECORD_BYTES * sizeof(DirectoryEntry);
	Directory *directory = g_malloc(sizeof(*directory) + entries_bytes + batch_bytes);

	*directory = (Directory){
		.fd = fd,
		.level = level,
		.batch_bytes = batch_bytes,
		.batch = (char *)directory->entries + entries_bytes,
	};
	return directory;
}

void directory_free(Directory *directory)
{
	if (!directory)
		return;
	fd_close(&directory->fd);
	g_free(directory);
}

int directory_fd(const Directory *directory)
{
	return directory->fd;
}

size_t directory_levels_max(void)
{
	struct rlimit limit = { 0 };

	getrlimit(RLIMIT_NOFILE, &limit);
	return CLAMP(limit.rlim_cur, SPARE_DESCRIPTORS + 16, LEVELS_MAX) - SPARE_DESCRIPTORS;
}

/* Order: by inode, then by place, so that several names of one inode always come in the same order. */
static int compare_entries(const void *a, const void *b)
{
	const DirectoryEntry *left = a;
	const DirectoryEntry *right = b;

	if (left->inode != right->inode)
		return left->inode < right->inode ? -1 : 1;
	return (left->name > right->name) - (left->name < right->name);
}

static bool is_dot_or_dot_dot(const char *name)
{
	return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
}

static void directory_take_batch(Directory *directory, size_t n_bytes)
{
	const struct dirent64 *record;

	directory->next = 0;
	directory->n_entries = 0;

	for (size_t at = 0; at < n_bytes; at += record->d_reclen) {
		record = (const struct dirent64 *)(directory->batch + at);
		if (is_dot_or_dot_dot(record->d_name))
			continue;
		directory->entries[directory->n_entries++] = (DirectoryEntry){
			.inode = record->d_ino,
			.type = record->d_type,
			.name = record->d_name,
		};
	}

	qsort(directory->entries, directory->n_entries, sizeof(directory->entries[0]),
	      compare_entries);
}

static bool directory_read_batch(Directory *directory, GError **error)
{
	ssize_t n_bytes;

	do
		n_bytes = getdents64(directory->fd, directory->batch, directory->batch_bytes);
	while (n_bytes < 0 && errno == EINTR);

	/* A directory that has been removed has no entries. */
	if (n_bytes < 0 && errno != ENOENT)
		return system_call_failed(error, "read the directory");

	directory->is_at_end = n_bytes <= 0;
	directory_take_batch(directory, n_bytes > 0 ? (size_t)n_bytes : 0);
	return true;
}

bool directory_next(Directory *directory, const DirectoryEntry **ret, GError **error)
{
	*ret = NULL;

	while (directory->next == directory->n_entries && !directory->is_at_end)
		if (!directory_read_batch(directory, error))
			return false;

	if (directory->next < directory->n_entries)
		*ret = &directory->entries[directory->next++];
	return true;
}
