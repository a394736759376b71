/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/estimate/estimate-files.h"

#include "cli/estimate/estimate-snapshots.h"
#include "cli/files/btrfs-paths.h"
#include "cli/files/file-pieces.h"
#include "cli/files/tree-files.h"
#include "cli/terminal/message.h"
#include "common/files/filter.h"
#include "common/system/name-buffer.h"
#include "hashstore/anchors/sorter.h"
#include "kernel-ioctl/btrfs/btrfs-inode.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
	uint64_t physical; /* where its data begins */
	uint64_t subvolume;
	uint64_t inode;
	uint64_t name; /* position in the spool */
} ListedFile;

struct EstimateFiles {
	const EstimateTask *task;
	Estimate *result;
	Filter *filter;
	NameBuffer *names;
	Sorter *sorter;
	size_t root_bytes; /* of the walked directory */
	uint64_t last_subvolume;
	uint64_t last_inode;
	LastFilesystem last;
	EstimateSnapshots *snapshots; /* NULL: they are walked */
	BtrfsPaths *paths;            /* NULL: the same */
};

static int compare_files(const void *a, const void *b)
{
	const ListedFile *one = a, *other = b;

	if (one->physical != other->physical)
		return one->physical < other->physical ? -1 : 1;
	if (one->subvolume != other->subvolume)
		return one->subvolume < other->subvolume ? -1 : 1;
	return (one->inode > other->inode) - (one->inode < other->inode);
}

static EstimateFiles *files_new(const EstimateTask *task, Estimate *result)
{
	EstimateFiles *files = g_new0(EstimateFiles, 1);

	files->task = task;
	files->result = result;
	files->filter = filter_new(task->settings->excludes,
				   filter_min_size_bytes(task->settings, task->identity.kind));
	filter_set_patterns(files->filter, task->settings->patterns, task->mount_point);
	files->names = name_buffer_new(task->directory);
	files->sorter = sorter_new(sizeof(ListedFile), compare_files,
				   task->settings->memory_bytes / 8, task->directory, task->stop);
	return files;
}

void estimate_files_free(EstimateFiles *files)
{
	if (!files)
		return;

	g_clear_pointer(&files->filter, filter_free);
	g_clear_pointer(&files->names, name_buffer_free);
	g_clear_pointer(&files->sorter, sorter_free);
	g_clear_pointer(&files->snapshots, estimate_snapshots_free);
	g_clear_pointer(&files->paths, btrfs_paths_free);
	g_free(files);
}

/* The address of the first piece. */
static bool find_first(const NamedFile *file, uint64_t *ret_physical, GError **error)
{
	g_autoptr(FilePieces) pieces = file_pieces_open(file, false, error);
	const FilePiece *piece;

	*ret_physical = 0;
	if (!pieces || !file_pieces_next(pieces, &piece, error))
		return false;
	if (piece)
		*ret_physical = piece->space + piece->position;
	return true;
}

static bool add_file(EstimateFiles *files, const NamedFile *file, GError **error)
{
	ListedFile listed = { .subvolume = file->subvolume, .inode = file->stat.inode };
	g_autoptr(GError) unmapped = NULL;

	/* Skip a file that cannot be mapped since its disk is damaged. */
	if (!find_first(file, &listed.physical, &unmapped)) {
		g_autofree char *why =
			g_strdup_printf("cannot read %s: %s", file->text, unmapped->message);

		estimate_add_unreadable(files->result, why);
		return true;
	}
	return name_buffer_add(files->names, file->path, &listed.name, error) &&
	       sorter_add(files->sorter, &listed, error);
}

static bool is_wanted(EstimateFiles *files, const NamedFile *file, size_t root_bytes)
{
	bool is_excluded = filter_excludes_below(files->filter, file->path, root_bytes);

	if (file->stat.size_bytes == 0)
		return false;
	if (!is_excluded && !filter_is_small(files->filter, file->stat.size_bytes))
		return true;

	files->result->n_left_out++;
	return false;
}

static bool look_at(EstimateFiles *files, const char *path, GError **error)
{
	g_autoptr(GError) cause = NULL;
	g_autoptr(NamedFile) file = named_file_open(path, &files->last, &cause);

	if (!file) {
		estimate_add_unreadable(files->result, cause->message);
		return true;
	}

	return !is_wanted(files, file, files->root_bytes) || add_file(files, file, error);
}

/* Leave out a subvolume that is excluded (it counts as one file), or is examined later. */
static bool leave_out(void *data, int fd, const char *path)
{
	EstimateFiles *files = data;
	g_autofree char *directory = g_strconcat(path, "/", NULL);
	uint64_t id;

	if (filter_excludes_below(files->filter, directory, files->root_bytes)) {
		files->result->n_left_out++;
		return true;
	}
	return fs_subvolume_read(fd, FS_KIND_BTRFS, &id, NULL) &&
	       estimate_snapshots_take(files->snapshots, id, path, files->root_bytes);
}

static bool list_below(EstimateFiles *files, const char *directory, GError **error)
{
	FsIdentity identity;
	g_autofree char *real = realpath(directory, NULL);
	const char *root = real ? real : directory;
	g_autoptr(TreeFiles) tree = tree_files_open(root, &identity, error);
	const char *path;

	if (!tree)
		return false;
	files->root_bytes = strlen(root);
	if (files->snapshots)
		tree_files_set_leave_out(tree, leave_out, files);
	while (estimate_goes_on(files->task)) {
		g_autoptr(GError) cause = NULL;

		if (!tree_files_next(tree, &path, &cause)) {
			estimate_add_unreadable(files->result, cause->message);
			continue;
		}
		if (!path)
			break;
		if (!look_at(files, path, error))
			return false;
	}

	return true;
}

static void say_what_matched_nothing(const EstimateFiles *files)
{
	g_autofree const char **globs = filter_unmatched(files->filter);

	for (size_t i = 0; globs[i] && !atomic_load(files->task->stop); i++)
		message_print("--exclude %s matched nothing on %s", globs[i],
			      files->task->mount_point);
}

static bool open_snapshots(EstimateFiles *files, const AddressSet *met, GError **error)
{
	const EstimateTask *task = files->task;
	char uuid[FS_UUID_TEXT_BYTES];

	if (!estimate_is_by_checksums(task))
		return true;

	fs_uuid_format(task->identity.uuid, uuid);
	files->paths = btrfs_paths_new(task->fd, uuid, error);
	if (!files->paths)
		return false;
	files->snapshots = estimate_snapshots_new(task, met, error);
	return files->snapshots;
}

EstimateFiles *estimate_files_list(const EstimateTask *task, const AddressSet *met, Estimate *ret,
				   GError **error)
{
	g_autoptr(EstimateFiles) files = files_new(task, ret);

	if (!open_snapshots(files, met, error))
		return NULL;
	for (const char *const *path = task->paths; *path; path++)
		if (!list_below(files, *path, error))
			return NULL;
	return sorter_sort(files->sorter, error) ? g_steal_pointer(&files) : NULL;
}

/* One inode may have been met under several names, and from several paths. */
static bool is_repeated(EstimateFiles *files, const ListedFile *listed)
{
	bool repeated =
		listed->subvolume == files->last_subvolume && listed->inode == files->last_inode;

	files->last_subvolume = listed->subvolume;
	files->last_inode = listed->inode;
	return repeated;
}

/* One of the listed files; NULL at the end. */
static bool next_listed(EstimateFiles *files, NamedFile **ret, GError **error)
{
	const ListedFile *listed;
	const char *path;

	while (!*ret && estimate_goes_on(files->task)) {
		g_autoptr(GError) cause = NULL;

		if (!sorter_next(files->sorter, (const void **)&listed, error))
			return false;
		if (!listed)
			return true;
		if (is_repeated(files, listed))
			continue;
		if (!name_buffer_get(files->names, listed->name, &path, error))
			return false;
		*ret = named_file_open(path, &files->last, &cause);
		if (!*ret)
			estimate_add_unreadable(files->result, cause->message);
	}

	return true;
}

/* Open the file of a snapshot; NULL: the snapshot was deleted, or the file has no name. */
static bool open_found(EstimateFiles *files, const SnapshotFile *found, NamedFile **ret,
		       GError **error)
{
	const EstimateTask *task = files->task;
	FileId id = { .subvolume = found->subvolume, .inode = found->inode };
	BtrfsInodeItem inode;
	bool is_there;
	char *path;

	if (!btrfs_inode_read(task->fd, id.subvolume, id.inode, &inode, &is_there, error) ||
	    !btrfs_paths_find_below(files->paths, id.subvolume, id.inode, found->snapshot, &path,
				    error))
		return false;
	if (!is_there || !path) {
		g_free(path);
		return true;
	}

	id.generation = (uint32_t)inode.generation;
	*ret = named_file_open_by_id_take(task->fd, &task->identity, &id, path);
	return true;
}

/* One of the snapshots; NULL at the end. */
static bool next_of_snapshots(EstimateFiles *files, NamedFile **ret, GError **error)
{
	const SnapshotFile *found;

	while (!*ret) {
		if (!estimate_snapshots_next(files->snapshots, &found, error))
			return false;
		if (!found)
			return true;
		if (!open_found(files, found, ret, error))
			return false;
		if (*ret && !is_wanted(files, *ret, found->root_bytes))
			g_clear_pointer(ret, named_file_close);
	}

	return true;
}

bool estimate_files_next(EstimateFiles *files, NamedFile **ret, GError **error)
{
	*ret = NULL;
	if (!next_listed(files, ret, error))
		return false;
	if (!*ret && files->snapshots && !next_of_snapshots(files, ret, error))
		return false;

	if (*ret)
		files->result->n_files++;
	else
		say_what_matched_nothing(files);
	return true;
}
