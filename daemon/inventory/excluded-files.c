/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/inventory/excluded-files.h"

#include "daemon/context/boot-directories.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/directory.h"

#include <dirent.h>
#include <fcntl.h>

#define DEPTH_MAX 32

struct ExcludedFiles {
	GHashTable *names; /* inode -> how many names of it lie there */
	LeftOutDirectory directories[1 + BOOT_DIRECTORIES];
	size_t n_directories;
	FileStat top;
	bool is_too_much;
};

void excluded_files_free(ExcludedFiles *left_out)
{
	if (!left_out)
		return;

	g_hash_table_unref(left_out->names);
	g_free(left_out);
}

static void add_name(ExcludedFiles *left_out, uint64_t inode)
{
	uint64_t *count = g_hash_table_lookup(left_out->names, &inode);

	if (count) {
		++*count;
		return;
	}
	if (g_hash_table_size(left_out->names) >= EXCLUDED_FILES_MAX) {
		left_out->is_too_much = true;
		return;
	}

	/* The inode, which is the key, and the count. */
	count = g_new(uint64_t, 2);
	count[0] = 1;
	count[1] = inode;
	g_hash_table_insert(left_out->names, &count[1], count);
}

static void list(ExcludedFiles *left_out, Directory *directory, unsigned depth)
{
	const DirectoryEntry *entry;

	/* Another filesystem below, such as the EFI partition, has no inodes of this one. */
	while (!left_out->is_too_much && directory_next(directory, &entry, NULL) && entry) {
		g_autoptr(Directory) nested = NULL;
		int failed;

		add_name(left_out, entry->inode);
		if (entry->type != DT_DIR)
			continue;
		if (depth == DEPTH_MAX)
			left_out->is_too_much = true;
		else if (directory_open_in(directory, entry->name, &nested, &failed) ==
			 DIRECTORY_OPENED)
			list(left_out, nested, depth + 1);
	}
}

/* Leave out the files in the directory @path_fd, if it is on this filesystem. */
static void leave_out(ExcludedFiles *left_out, int path_fd, SkipReason reason)
{
	g_autoptr(Directory) directory = NULL;
	FileStat stat;
	int fd;

	if (path_fd < 0 || file_stat_at(path_fd, "", &stat) != 0 ||
	    stat.device_major != left_out->top.device_major ||
	    stat.device_minor != left_out->top.device_minor ||
	    g_hash_table_contains(left_out->names, &stat.inode))
		return;

	fd = openat(path_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	directory = directory_new_take(fd, NULL);
	left_out->directories[left_out->n_directories++] = (LeftOutDirectory){ stat.inode, reason };
	add_name(left_out, stat.inode);
	list(left_out, directory, 0);
}

static bool is_named(const Filesystem *filesystem, size_t boot_directory)
{
	for (size_t i = 0; i < filesystem->roots->len; i++) {
		const FilesystemRoot *root = filesystem->roots->pdata[i];

		if (boot_directory_is_named(boot_directory, root->path))
			return true;
	}

	return false;
}

ExcludedFiles *excluded_files_new(const Filesystem *filesystem, int state_fd)
{
	g_autoptr(ExcludedFiles) left_out = g_new0(ExcludedFiles, 1);

	left_out->names = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
	if (file_stat_at(filesystem->fd, "", &left_out->top) != 0)
		return g_steal_pointer(&left_out);

	leave_out(left_out, state_fd, SKIP_OWN_STATE);
	for (size_t i = 0; i < BOOT_DIRECTORIES; i++) {
		g_auto(Fd) fd = boot_directory_open(i);

		if (!is_named(filesystem, i))
			leave_out(left_out, fd, SKIP_BOOT);
	}

	return left_out->is_too_much ? NULL : g_steal_pointer(&left_out);
}

bool excluded_files_has(const ExcludedFiles *left_out, uint64_t inode, uint32_t nlink)
{
	const uint64_t *count = g_hash_table_lookup(left_out->names, &inode);

	return count && *count >= nlink;
}

const LeftOutDirectory *excluded_files_directory(const ExcludedFiles *left_out, size_t number)
{
	return number < left_out->n_directories ? &left_out->directories[number] : NULL;
}
