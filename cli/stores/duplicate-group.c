/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/stores/duplicate-group.h"

#include "cli/files/shared-bytes.h"
#include "common/text/path.h"

static void file_free(void *data)
{
	DuplicateFile *file = data;

	g_free(file->path);
	g_free(file);
}

DuplicateGroup *duplicate_group_new(void)
{
	DuplicateGroup *group = g_new0(DuplicateGroup, 1);

	group->files = g_ptr_array_new_with_free_func(file_free);
	return group;
}

void duplicate_group_end(DuplicateGroup *group)
{
	for (size_t i = 0; i < group->n_kinds; i++)
		named_file_close(group->kinds[i]);
	group->n_kinds = 0;
}

void duplicate_group_free(DuplicateGroup *group)
{
	if (!group)
		return;

	duplicate_group_end(group);
	g_ptr_array_unref(group->files);
	g_free(group);
}

/*
 * Count the file's data that no open file has; 0: one of them has all of it.  Also count the data that the file
 * shares with the most similar one.
 */
static bool count_own(const DuplicateGroup *group, const NamedFile *file, uint64_t *ret_own,
		      uint64_t *ret_shared, GError **error)
{
	*ret_own = UINT64_MAX;
	*ret_shared = 0;
	for (size_t i = 0; *ret_own > 0 && i < group->n_kinds; i++) {
		SharedBytes count;

		if (!shared_bytes_count(group->kinds[i], file, &count, error))
			return false;
		*ret_own = MIN(*ret_own, count.data_bytes[1] - count.shared_bytes[1]);
		*ret_shared = MAX(*ret_shared, count.shared_bytes[1]);
	}

	return true;
}

bool duplicate_group_add_take(DuplicateGroup *group, NamedFile *file, GError **error)
{
	g_autoptr(NamedFile) owned = file;
	bool is_first = group->files->len == 0;
	DuplicateFile *added;
	uint64_t own_bytes, shared_bytes;

	if (!count_own(group, file, &own_bytes, &shared_bytes, error))
		return false;

	added = g_new0(DuplicateFile, 1);
	added->path = g_strdup(file->path);
	added->inode = file->stat.inode;
	added->subvolume = file->subvolume;
	added->uid = file->stat.uid;
	added->mtime_nsec = file->stat.mtime_nsec;
	added->own_bytes = is_first ? 0 : own_bytes;
	added->shared_bytes = shared_bytes;
	added->is_shared = !is_first && own_bytes == 0;
	g_ptr_array_add(group->files, added);

	if (is_first)
		group->size_bytes = file->stat.size_bytes;
	else
		group->reclaimable_bytes += own_bytes;
	if (!added->is_shared && group->n_kinds < DUPLICATE_KINDS)
		group->kinds[group->n_kinds++] = g_steal_pointer(&owned);
	return true;
}

bool duplicate_group_has_below(const DuplicateGroup *group, const char *directory)
{
	for (guint i = 0; i < group->files->len; i++) {
		const DuplicateFile *file = group->files->pdata[i];

		if (path_lies_in(file->path, directory))
			return true;
	}

	return false;
}
