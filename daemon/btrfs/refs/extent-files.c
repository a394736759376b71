/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/refs/extent-files.h"

#include "daemon/btrfs/refs/state-files.h"
#include "daemon/context/file-opener.h"
#include "kernel-ioctl/btrfs/btrfs-inode.h"
#include "kernel-ioctl/call/file-key.h"

/* Limits of idle files, and of files that are held. */
#define OPEN_FILES 128
#define HELD_FILES 128

typedef struct OpenFile {
	FileKey key;
	FileReader *reader;
	GList *link;      /* in the list of idle files; NULL: it is held */
	unsigned n_holds; /* by ranges that were fetched ahead */
} OpenFile;

struct ExtentFiles {
	Pass *pass;
	GHashTable *open; /* OpenFile by FileKey, of which this holds the key, too */
	GQueue idle;      /* OpenFile, last used first: those that are not held */
	StateFiles *own;
};

static void open_file_free(OpenFile *file)
{
	file_reader_free(file->reader);
	g_free(file);
}

ExtentFiles *extent_files_new(Pass *pass)
{
	ExtentFiles *files = g_new0(ExtentFiles, 1);

	files->pass = pass;
	g_queue_init(&files->idle);
	files->open = g_hash_table_new_full(file_key_hash, file_key_equal, NULL,
					    (GDestroyNotify)open_file_free);
	files->own = state_files_new(pass->filesystem, pass->settings->state_directory);
	return files;
}

void extent_files_free(ExtentFiles *files)
{
	if (!files)
		return;

	g_queue_clear(&files->idle);
	g_hash_table_unref(files->open);
	state_files_free(files->own);
	g_free(files);
}

bool extent_files_is_own(const ExtentFiles *files, const ExtentRef *ref)
{
	return state_files_have(files->own, ref->root, ref->inode);
}

bool extent_files_is_source(const ExtentFiles *files, const ExtentRef *ref)
{
	return !extent_files_is_own(files, ref) &&
	       read_only_subvolumes_may_be_source(files->pass->subvolumes, ref->root);
}

static OpenFile *find_open(ExtentFiles *files, const ExtentRef *ref)
{
	FileKey key = { ref->root, ref->inode };
	OpenFile *file = g_hash_table_lookup(files->open, &key);

	if (file && file->link) {
		g_queue_unlink(&files->idle, file->link);
		g_queue_push_head_link(&files->idle, file->link);
	}

	return file;
}

/* The file is idle now; close the longest idle one if there are too many. */
static void add_idle(ExtentFiles *files, OpenFile *file)
{
	if (g_queue_get_length(&files->idle) >= OPEN_FILES) {
		OpenFile *last = g_queue_pop_tail(&files->idle);

		g_hash_table_remove(files->open, &last->key);
	}
	g_queue_push_head(&files->idle, file);
	file->link = files->idle.head;
}

/*
 * Whether the file has no name.  A new snapshot takes open files without names over, and the kernel deletes them
 * from it at once.  If a process has one open then, making the snapshot fails (with EINVAL, Linux 6.18).
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

static OpenFile *open_file(ExtentFiles *files, const ExtentRef *ref, SkipReason *ret_reason)
{
	const Filesystem *filesystem = files->pass->filesystem;
	FileId id = { ref->root, ref->inode, ref->generation };
	OpenFile *file = find_open(files, ref);
	OpenOutcome outcome;
	int fd, failed;

	if (file)
		return file;

	*ret_reason = SKIP_CHANGED;
	if (is_deleted(files, ref))
		return NULL;

	outcome = open_file_by_id(filesystem->fd, FS_KIND_BTRFS, &id, &fd, &failed);
	if (outcome != OPEN_OPENED) {
		*ret_reason = file_opener_skip_reason(outcome);
		return NULL;
	}

	file = g_new0(OpenFile, 1);
	file->key = (FileKey){ ref->root, ref->inode };
	file->reader =
		file_reader_new_take(fd, ref->size_bytes, files->pass->throttle, files->pass->stop);
	file_reader_widen(file->reader, files->pass->kept);
	g_hash_table_insert(files->open, &file->key, file);
	add_idle(files, file);
	return file;
}

FileReader *extent_files_open(ExtentFiles *files, const ExtentRef *ref, SkipReason *ret_reason)
{
	OpenFile *file = open_file(files, ref, ret_reason);

	return file ? file->reader : NULL;
}

FetchedAhead extent_files_hold(ExtentFiles *files, const ExtentRef *ref, uint64_t offset,
			       uint64_t length, FileReader **ret)
{
	SkipReason ignored;
	FetchedAhead held = { open_file(files, ref, &ignored), offset, length };

	*ret = NULL;
	if (!held.file)
		return held;

	*ret = held.file->reader;
	file_reader_hold(*ret, offset, length);
	if (held.file->n_holds++ == 0) {
		g_queue_delete_link(&files->idle, held.file->link);
		held.file->link = NULL;
	}
	return held;
}

FetchedAhead extent_files_fetch(ExtentFiles *files, const ExtentRef *ref, uint64_t offset,
				uint64_t length)
{
	FileReader *reader;
	FetchedAhead fetched = extent_files_hold(files, ref, offset, length, &reader);

	if (reader)
		file_reader_fetch(reader, offset, length);
	return fetched;
}

void extent_files_release(ExtentFiles *files, FetchedAhead *fetched)
{
	OpenFile *file = fetched->file;

	if (!file)
		return;

	fetched->file = NULL;
	file_reader_release(file->reader, fetched->offset, fetched->length);
	if (--file->n_holds == 0)
		add_idle(files, file);
}

bool extent_files_is_full(const ExtentFiles *files)
{
	return g_hash_table_size(files->open) - g_queue_get_length((GQueue *)&files->idle) >=
	       HELD_FILES;
}

bool extent_files_is_target(const ExtentFiles *files, const ExtentRef *ref, SkipReason *ret_reason)
{
	*ret_reason = SKIP_READ_ONLY_SNAPSHOT;
	if (!read_only_subvolumes_may_be_target(files->pass->subvolumes, ref->root))
		return false;

	*ret_reason = SKIP_YOUNG;
	if (filter_is_young(files->pass->filter, ref->mtime_nsec))
		return false;

	*ret_reason = SKIP_IMMUTABLE;
	return !ref->is_immutable;
}
