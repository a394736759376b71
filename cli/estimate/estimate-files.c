/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/estimate/estimate-files.h"

#include "cli/files/file-pieces.h"
#include "cli/files/tree-files.h"
#include "cli/terminal/message.h"
#include "common/files/filter.h"
#include "common/system/name-spool.h"
#include "hashstore/anchors/sorter.h"

#include <stdlib.h>
#include <string.h>

/* Smaller files lie inline in btrfs's metadata (max_inline); on XFS each takes a block. */
#define BTRFS_MIN_SIZE_BYTES 2048
#define XFS_MIN_SIZE_BYTES   1

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
	NameSpool *names;
	Sorter *sorter;
	uint64_t last_subvolume;
	uint64_t last_inode;
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

static uint64_t min_size_bytes(const EstimateTask *task)
{
	if (task->settings->min_size_bytes != SETTINGS_MIN_SIZE_UNSET)
		return task->settings->min_size_bytes;
	return task->identity.kind == FS_KIND_BTRFS ? BTRFS_MIN_SIZE_BYTES : XFS_MIN_SIZE_BYTES;
}

static EstimateFiles *files_new(const EstimateTask *task, Estimate *result)
{
	EstimateFiles *files = g_new0(EstimateFiles, 1);

	files->task = task;
	files->result = result;
	files->filter = filter_new(task->settings->excludes, min_size_bytes(task));
	filter_set_patterns(files->filter, task->settings->patterns, task->mount_point);
	files->names = name_spool_new(task->directory);
	files->sorter = sorter_new(sizeof(ListedFile), compare_files,
				   task->settings->memory_bytes / 8, task->directory, task->stop);
	return files;
}

void estimate_files_free(EstimateFiles *files)
{
	if (!files)
		return;

	g_clear_pointer(&files->filter, filter_free);
	g_clear_pointer(&files->names, name_spool_free);
	g_clear_pointer(&files->sorter, sorter_free);
	g_free(files);
}

/* Where the first piece lies. */
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

	/* A file that cannot be mapped, as its disk is damaged, is left alone. */
	if (!find_first(file, &listed.physical, &unmapped)) {
		g_autofree char *why =
			g_strdup_printf("cannot read %s: %s", file->text, unmapped->message);

		estimate_add_unreadable(files->result, why);
		return true;
	}
	return name_spool_add(files->names, file->path, &listed.name, error) &&
	       sorter_add(files->sorter, &listed, error);
}

static bool look_at(EstimateFiles *files, const char *path, size_t root_bytes, GError **error)
{
	g_autoptr(GError) cause = NULL;
	g_autoptr(NamedFile) file = named_file_open(path, &cause);
	bool is_excluded;

	if (!file) {
		estimate_add_unreadable(files->result, cause->message);
		return true;
	}
	is_excluded = filter_excludes_below(files->filter, file->path, root_bytes);
	if (file->stat.size_bytes == 0)
		return true;
	if (is_excluded || filter_is_small(files->filter, file->stat.size_bytes)) {
		files->result->n_left_out++;
		return true;
	}

	return add_file(files, file, error);
}

static bool list_below(EstimateFiles *files, const char *directory, GError **error)
{
	FsIdentity identity;
	char *real = realpath(directory, NULL);
	g_autofree char *root = g_strdup(real ? real : directory);
	g_autoptr(TreeFiles) tree = tree_files_open(root, &identity, error);
	const char *path;

	free(real);
	if (!tree)
		return false;
	while (!atomic_load(files->task->stop)) {
		g_autoptr(GError) cause = NULL;

		if (!tree_files_next(tree, &path, &cause)) {
			estimate_add_unreadable(files->result, cause->message);
			continue;
		}
		if (!path)
			break;
		if (!look_at(files, path, strlen(root), error))
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

EstimateFiles *estimate_files_list(const EstimateTask *task, Estimate *ret, GError **error)
{
	g_autoptr(EstimateFiles) files = files_new(task, ret);

	for (const char *const *path = task->paths; *path; path++)
		if (!list_below(files, *path, error))
			return NULL;
	say_what_matched_nothing(files);
	return sorter_sort(files->sorter, error) ? g_steal_pointer(&files) : NULL;
}

/* The same inode may have been met by several names, and from several paths. */
static bool is_repeated(EstimateFiles *files, const ListedFile *listed)
{
	bool repeated =
		listed->subvolume == files->last_subvolume && listed->inode == files->last_inode;

	files->last_subvolume = listed->subvolume;
	files->last_inode = listed->inode;
	return repeated;
}

bool estimate_files_next(EstimateFiles *files, NamedFile **ret, GError **error)
{
	const ListedFile *listed;
	const char *path;

	for (*ret = NULL; !*ret;) {
		g_autoptr(GError) cause = NULL;

		if (!sorter_next(files->sorter, (const void **)&listed, error))
			return false;
		if (!listed || atomic_load(files->task->stop))
			return true;
		if (is_repeated(files, listed))
			continue;
		if (!name_spool_get(files->names, listed->name, &path, error))
			return false;
		*ret = named_file_open(path, &cause);
		if (!*ret)
			estimate_add_unreadable(files->result, cause->message);
	}

	files->result->n_files++;
	return true;
}
