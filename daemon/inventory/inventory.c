/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/inventory/inventory.h"

#include "daemon/context/compare-uint64.h"
#include "daemon/context/known-file.h"
#include "daemon/inventory/bulk-inventory.h"
#include "daemon/inventory/directory-merge.h"
#include "daemon/inventory/file-merge.h"
#include "daemon/inventory/same-size-filter.h"
#include "daemon/inventory/walk.h"
#include "hashstore/anchors/sorter.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/file-stat.h"
#include "kernel-ioctl/xfs/xfs-bulkstat.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

struct Inventory {
	Pass *pass;
	FileOpener *opener;
	NameBuffer *names;
	Walk *walk;
	Sorter *files; /* FileRecord */
	ReadList *to_read;
	SizeGroups *sizes; /* NULL: all files are to be read, whatever their sizes */
	FileMerge *merge;
	Sorter *outside; /* uint32_t: ids of unsettled objects outside the walk */
};

static int compare_ids(const void *a, const void *b)
{
	return compare_uint64(*(const uint32_t *)a, *(const uint32_t *)b);
}

static int compare_inodes(const FileRecord *a, uint64_t subvolume, uint64_t inode)
{
	int order = compare_uint64(a->subvolume, subvolume);

	return order ? order : compare_uint64(a->inode, inode);
}

/* Of a file with several names the first in this order counts: the same one in each pass. */
static int compare_files(const void *a, const void *b)
{
	const FileRecord *one = a;
	const FileRecord *other = b;
	int order = compare_inodes(one, other->subvolume, other->inode);

	if (!order)
		order = compare_uint64(one->parent, other->parent);
	return order ? order : compare_uint64(one->name_hash, other->name_hash);
}

void inventory_free(Inventory *inventory)
{
	if (!inventory)
		return;

	name_buffer_free(inventory->names);
	walk_free(inventory->walk);
	sorter_free(inventory->files);
	read_list_free(inventory->to_read);
	size_groups_free(inventory->sizes);
	file_merge_free(inventory->merge);
	sorter_free(inventory->outside);
	g_free(inventory);
}

static bool add_entry(Inventory *inventory, Sorter *directories, const WalkEntry *entry,
		      GError **error)
{
	DirectoryRecord directory = {
		.subvolume = entry->subvolume,
		.inode = entry->stat.inode,
		.parent_subvolume = entry->parent_subvolume,
		.parent = entry->parent,
	};
	FileRecord file = {
		.subvolume = entry->subvolume,
		.inode = entry->stat.inode,
		.parent = entry->parent,
		.name_hash = file_merge_name_hash(entry->name, strlen(entry->name)),
		.stamp = known_file_present_stamp(&entry->stat),
		.rights = (entry->is_foreign ? OBJECT_FOREIGN : 0) |
			  (entry->stat.is_immutable ? OBJECT_IMMUTABLE : 0),
	};
	uint64_t position;

	if (!name_buffer_add(inventory->names, entry->name, &position, error))
		return false;

	directory.name_position = position;
	file.name_position = position;
	return entry->is_directory ? sorter_add(directories, &directory, error)
				   : sorter_add(inventory->files, &file, error);
}

static bool walk_all(Inventory *inventory, Sorter *directories, GError **error)
{
	for (;;) {
		const WalkEntry *entry;

		if (!walk_next(inventory->walk, &entry, error))
			return false;
		if (!entry)
			break;
		if (!add_entry(inventory, directories, entry, error))
			return false;
	}

	return sorter_sort(directories, error) && sorter_sort(inventory->files, error);
}

static void note_skipped(Inventory *inventory, const Object *known, SkipReason reason)
{
	SkipLedger *skips = &inventory->pass->result->skips;
	g_autofree char *name = g_strndup((const char *)known->name, known->name_bytes);
	g_autofree char *path = NULL;

	if (skip_ledger_wants_example(skips, reason))
		path = file_opener_path(inventory->opener, known->subvolume, known->parent, name);
	skip_ledger_add(skips, reason, known->size_bytes, path);
	pass_result_add_known(inventory->pass->result, reason);
}

/* The store knows the file: check whether its record still holds. */
static bool merge_known(Inventory *inventory, const FileRecord *met, const Object *known,
			GError **error)
{
	FileRecord record = *met;
	FileRecord *seen = &record;
	FileAction action = file_merge_judge(inventory->merge, seen, known);

	if (!file_merge_add_known(inventory->merge, action, seen, known, error))
		return false;
	if (action == FILE_LEFT)
		note_skipped(inventory, known, SKIP_CHANGES_OFTEN);
	if (action == FILE_KEPT && known->state == OBJECT_SKIPPED)
		note_skipped(inventory, known, known->skip_reason);
	if (action == FILE_KEPT &&
	    (known->parent != seen->parent ||
	     file_merge_name_hash(known->name, known->name_bytes) != seen->name_hash))
		action = FILE_NOTED;

	return file_merge_act(inventory->merge, action, seen, known, error);
}

/* Files inside the walk may be identical to a file outside that was read earlier. */
static bool add_outside(Inventory *inventory, const Object *known, GError **error)
{
	SizedFile file = {
		.stamp = known_file_stamp(known),
		.head = known->head,
		.state = SIZED_KNOWN,
	};

	return !inventory->sizes || known->state != OBJECT_DONE ||
	       size_groups_add(inventory->sizes, &file, error);
}

/* The walk did not meet an object of the store. */
static bool merge_unseen(Inventory *inventory, const Object *known, GError **error)
{
	if (inventory->pass->keeps_left_out ||
	    !walk_saw_all_of(inventory->walk, known->subvolume)) {
		return add_outside(inventory, known, error) &&
		       (!file_merge_is_unsettled(inventory->merge, known) ||
			sorter_add(inventory->outside, &known->id, error));
	}

	return file_merge_forget(inventory->merge, known, error);
}

/* The next file with another inode than @last. */
static bool next_file(Inventory *inventory, const FileRecord *last, const FileRecord **ret,
		      GError **error)
{
	do {
		if (!sorter_next(inventory->files, (const void **)ret, error))
			return false;
	} while (*ret && last && compare_inodes(*ret, last->subvolume, last->inode) == 0);

	return true;
}

static bool merge_files(Inventory *inventory, GError **error)
{
	Pass *pass = inventory->pass;
	g_autoptr(ObjectCursor) cursor = object_cursor_open(pass->store, error);
	const FileRecord *seen;
	const Object *known;

	if (!cursor || !object_cursor_next(cursor, &known, error) ||
	    !next_file(inventory, NULL, &seen, error))
		return false;

	while ((seen || known) && pass_checkpoint(pass)) {
		int order = !known  ? -1
			    : !seen ? 1
				    : compare_inodes(seen, known->subvolume, known->inode);
		bool merged;

		if (order < 0) {
			pass->result->files.new ++;
			merged = file_merge_act(inventory->merge, FILE_TO_READ, seen, NULL, error);
		} else if (order == 0) {
			merged = merge_known(inventory, seen, known, error);
		} else {
			merged = merge_unseen(inventory, known, error);
		}
		if (!merged)
			return false;

		if (order <= 0) {
			FileRecord last = *seen;

			pass->result->files.seen++;
			if (!next_file(inventory, &last, &seen, error))
				return false;
		}
		if (order >= 0 && !object_cursor_next(cursor, &known, error))
			return false;
	}

	return true;
}

static bool build_by_walk(Inventory *inventory, GError **error)
{
	Pass *pass = inventory->pass;
	g_autoptr(Sorter) directories = sorter_new(
		sizeof(DirectoryRecord), directory_record_compare, pass->settings->memory_bytes / 8,
		pass->settings->state_directory, pass->stop);

	progress_begin(pass->progress, STAGE_WALK, 0);
	if (!walk_all(inventory, directories, error))
		return false;
	if (!pass_checkpoint(pass))
		return true;

	progress_begin(pass->progress, STAGE_COMPARE, 0);
	return directory_merge(pass, inventory->walk, directories, inventory->names, error) &&
	       merge_files(inventory, error);
}

/* Whether the pass covers all of the filesystem: its mount point is the top, and is a root. */
static bool is_whole(const Filesystem *filesystem)
{
	FileStat stat;

	if (file_stat_at(filesystem->fd, "", &stat) != 0)
		return false;

	for (size_t i = 0; i < filesystem->roots->len; i++) {
		const FilesystemRoot *root = filesystem->roots->pdata[i];

		if (root->is_top && !root->is_file && root->inode == stat.inode)
			return true;
	}

	return false;
}

/* Why the list of all inodes cannot be used; NULL: it can.  Only a privileged pass over a whole XFS gets it. */
static const char *why_no_list(const Pass *pass)
{
	const Filesystem *filesystem = pass->filesystem;

	if (filesystem->identity.kind != FS_KIND_XFS)
		return "only XFS lists its inodes";
	if (!is_whole(filesystem))
		return "the pass is over a part of the filesystem";
	if (pass->keeps_left_out)
		return "the store must keep the files that the pass skips";
	if (pass->settings->excludes && pass->settings->excludes[0])
		return "--exclude looks at names";
	if (pass->settings->patterns && pass->settings->patterns[0])
		return "Exclude= looks at names";
	if (!filesystem->opens_by_id)
		return "opening files by their inodes is not permitted";

	switch (xfs_bulkstat_try(filesystem->fd)) {
	case 0:
		return NULL;
	case EPERM:
		return "listing inodes is not permitted: it needs CAP_SYS_ADMIN";
	default:
		return "the kernel does not list inodes here";
	}
}

/* Whether to build the inventory from the list of inodes.  The result of the pass records this, or why not. */
static bool lists_inodes(const Pass *pass)
{
	PassResult *result = pass->result;

	result->walk_reason = why_no_list(pass);
	result->listed_inodes = !result->walk_reason;
	return result->listed_inodes;
}

static bool build_either_way(Inventory *inventory, GError **error)
{
	bool is_listed = false;

	/* The list of inodes does not know the size of data that is not written out. */
	if (inventory->sizes && !file_merge_flush(inventory->merge, error))
		return false;

	if (lists_inodes(inventory->pass) &&
	    !bulk_inventory_build(inventory->pass, inventory->opener, inventory->names,
				  inventory->merge, &is_listed, error))
		return false;

	return is_listed || build_by_walk(inventory, error);
}

/* Whether the pass sees all files of the filesystem. */
static bool sees_all(const Inventory *inventory)
{
	const Pass *pass = inventory->pass;

	return !pass->keeps_left_out &&
	       (pass->result->listed_inodes || walk_saw_all_of(inventory->walk, 0));
}

static bool build(Inventory *inventory, GError **error)
{
	bool merged = file_merge_begin(inventory->merge, error) &&
		      build_either_way(inventory, error) &&
		      file_merge_list_relying(inventory->merge, sees_all(inventory), error);

	if (!file_merge_renew_regained(inventory->merge, merged ? error : NULL) || !merged)
		return false;

	g_clear_pointer(&inventory->files, sorter_free);
	return (inventory->sizes || read_list_sort(inventory->to_read, error)) &&
	       sorter_sort(inventory->outside, error);
}

Inventory *inventory_build(Pass *pass, FileOpener *opener, GError **error)
{
	g_autoptr(Inventory) inventory = g_new0(Inventory, 1);
	const char *directory = pass->settings->state_directory;
	g_auto(Fd) state_fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	FileStat state;

	if (state_fd < 0 || file_stat_at(state_fd, "", &state) != 0)
		state = (FileStat){ 0 };

	inventory->pass = pass;
	inventory->opener = opener;
	inventory->names = name_buffer_new(directory);
	inventory->walk = walk_new(pass, &state);
	inventory->files = sorter_new(sizeof(FileRecord), compare_files,
				      pass->settings->memory_bytes / 4, directory, pass->stop);
	inventory->to_read = read_list_new(pass, opener);
	if (pass->settings->read == READ_POLICY_SAME_SIZE)
		inventory->sizes = size_groups_new(false, pass->settings->memory_bytes / 8,
						   directory, pass->stop);
	inventory->merge =
		file_merge_new(pass, inventory->names, inventory->to_read, inventory->sizes);
	inventory->outside = sorter_new(sizeof(uint32_t), compare_ids,
					pass->settings->memory_bytes / 8, directory, pass->stop);

	if (!build(inventory, error))
		return NULL;

	return g_steal_pointer(&inventory);
}

bool inventory_choose(Inventory *inventory, GError **error)
{
	if (!inventory->sizes)
		return true;

	return same_size_filter_choose(inventory->pass, inventory->sizes, inventory->names,
				       inventory->opener, inventory->to_read, error) &&
	       read_list_sort(inventory->to_read, error);
}

ReadList *inventory_to_read(const Inventory *inventory)
{
	return inventory->to_read;
}

uint64_t inventory_unsettled(const Inventory *inventory)
{
	return file_merge_unsettled(inventory->merge);
}

bool inventory_finish_reading(Inventory *inventory, GError **error)
{
	return file_merge_finish_reading(inventory->merge, error);
}

bool inventory_next_outside(Inventory *inventory, uint32_t *ret, GError **error)
{
	const uint32_t *id;

	if (!sorter_next(inventory->outside, (const void **)&id, error))
		return false;

	*ret = id ? *id : 0;
	return true;
}

bool inventory_rewind_outside(Inventory *inventory, GError **error)
{
	return sorter_rewind(inventory->outside, error);
}
