/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/extent-files.h"

#include "daemon/file-key.h"
#include "daemon/file-opener.h"
#include "kernel-ioctl/btrfs-inode.h"
#include "kernel-ioctl/fd.h"
#include "kernel-ioctl/file-stat.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>

#define OPEN_FILES 128

typedef struct {
	FileKey key;
	FileReader *reader;
} OpenFile;

struct ExtentFiles {
	Pass *pass;
	GQueue open; /* OpenFile, last used first */
	GArray *own; /* FileKey */
};

static void open_file_free(OpenFile *file)
{
	file_reader_free(file->reader);
	g_free(file);
}

/* The state directory's files, if it lies on this filesystem. */
static void list_own(ExtentFiles *files)
{
	const Filesystem *filesystem = files->pass->filesystem;
	DIR *directory = opendir(files->pass->settings->state_directory);
	FsIdentity identity;
	struct dirent *entry;
	FileKey key;

	if (!directory)
		return;
	if (fs_identity_read(dirfd(directory), &identity, NULL) &&
	    memcmp(identity.uuid, filesystem->identity.uuid, sizeof(identity.uuid)) == 0 &&
	    fs_subvolume_read(dirfd(directory), identity.kind, &key.root, NULL)) {
		while ((entry = readdir(directory))) {
			key.inode = entry->d_ino;
			g_array_append_val(files->own, key);
		}
	}
	closedir(directory);
}

ExtentFiles *extent_files_new(Pass *pass)
{
	ExtentFiles *files = g_new0(ExtentFiles, 1);

	files->pass = pass;
	g_queue_init(&files->open);
	files->own = g_array_new(false, false, sizeof(FileKey));
	list_own(files);
	return files;
}

void extent_files_free(ExtentFiles *files)
{
	if (!files)
		return;

	g_queue_clear_full(&files->open, (GDestroyNotify)open_file_free);
	g_array_unref(files->own);
	g_free(files);
}

bool extent_files_is_own(const ExtentFiles *files, const ExtentRef *ref)
{
	for (guint i = 0; i < files->own->len; i++) {
		const FileKey *own = &g_array_index(files->own, FileKey, i);

		if (own->inode == ref->inode && own->root == ref->root)
			return true;
	}

	return false;
}

bool extent_files_is_source(const ExtentFiles *files, const ExtentRef *ref)
{
	return !extent_files_is_own(files, ref) &&
	       read_only_subvolumes_may_be_source(files->pass->subvolumes, ref->root);
}

static OpenFile *find_open(ExtentFiles *files, const ExtentRef *ref)
{
	for (GList *link = files->open.head; link; link = link->next) {
		OpenFile *file = link->data;

		if (file->key.inode != ref->inode || file->key.root != ref->root)
			continue;
		g_queue_unlink(&files->open, link);
		g_queue_push_head_link(&files->open, link);
		return file;
	}

	return NULL;
}

/*
 * Whether the file has no name any more.  A snapshot takes such files over while they are open, and
 * the kernel deletes them from it at once: whoever has one open then, has the making of the snapshot
 * fail (with EINVAL, Linux 6.18).
 */
static bool is_deleted(const ExtentFiles *files, const ExtentRef *ref)
{
	g_autoptr(GError) unread = NULL;
	BtrfsInodeItem inode;
	bool is_found;

	return btrfs_inode_read(files->pass->filesystem->fd, ref->root, ref->inode, &inode,
				&is_found, &unread) &&
	       (!is_found || inode.nlink == 0);
}

FileReader *extent_files_open(ExtentFiles *files, const ExtentRef *ref, SkipReason *ret_reason)
{
	const Filesystem *filesystem = files->pass->filesystem;
	FileId id = { ref->root, ref->inode, ref->generation };
	OpenFile *file = find_open(files, ref);
	OpenOutcome outcome;
	int fd, failed;

	if (file)
		return file->reader;

	*ret_reason = SKIP_CHANGED;
	if (is_deleted(files, ref))
		return NULL;

	outcome = open_file_by_id(filesystem->fd, FS_KIND_BTRFS, &id, &fd, &failed);
	if (outcome != OPEN_OPENED) {
		*ret_reason = file_opener_skip_reason(outcome);
		return NULL;
	}

	if (g_queue_get_length(&files->open) >= OPEN_FILES)
		open_file_free(g_queue_pop_tail(&files->open));
	file = g_new(OpenFile, 1);
	file->key = (FileKey){ ref->root, ref->inode };
	file->reader =
		file_reader_new_take(fd, ref->size_bytes, files->pass->throttle, files->pass->stop);
	g_queue_push_head(&files->open, file);
	return file->reader;
}

bool extent_files_is_target(ExtentFiles *files, const ExtentRef *ref, SkipReason *ret_reason)
{
	FileReader *reader;
	FileStat stat;

	*ret_reason = SKIP_READ_ONLY_SNAPSHOT;
	if (!read_only_subvolumes_may_be_target(files->pass->subvolumes, ref->root))
		return false;

	reader = extent_files_open(files, ref, ret_reason);
	if (!reader)
		return false;

	*ret_reason = SKIP_UNREADABLE;
	if (file_stat_at(file_reader_fd(reader), "", &stat) != 0)
		return false;

	*ret_reason = SKIP_YOUNG;
	if (filter_is_young(files->pass->filter, stat.mtime_nsec))
		return false;

	*ret_reason = SKIP_IMMUTABLE;
	return !stat.is_immutable;
}
