/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/inventory/inventory.h"

#include "daemon/context/known-file.h"
#include "daemon/inventory/bulk-inventory.h"
#include "daemon/inventory/candidates.h"
#include "daemon/inventory/directory-merge.h"
#include "daemon/inventory/inventory-choice.h"
#include "daemon/inventory/inventory-internal.h"
#include "kernel-ioctl/call/fd.h"

#include <fcntl.h>
#include <string.h>
#include <xxhash.h>

/* So many objects that may be targets again are remembered as such; the others are read again. */
#define REGAINED_MAX (UINT32_C(1) << 18)

static int compare_uint64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_ids(const void *a, const void *b)
{
	return compare_uint64(*(const uint32_t *)a, *(const uint32_t *)b);
}

static int compare_inodes(const FileRecord *a, uint64_t subvolume, uint64_t inode)
{
	int order = compare_uint64(a->subvolume, subvolume);

	return order ? order : compare_uint64(a->inode, inode);
}

/* Of a file with several names the first in this order is kept: the same one in each pass. */
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
	same_sizes_free(inventory->sizes);
	lost_stand_ins_free(inventory->lost);
	sorter_free(inventory->outside);
	g_array_unref(inventory->regained);
	g_free(inventory);
}

uint64_t inventory_name_hash(const void *name, size_t bytes)
{
	return XXH3_64bits(name, bytes);
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
		.name_hash = inventory_name_hash(entry->name, strlen(entry->name)),
		.stamp = { entry->stat.size_bytes, entry->stat.btime_nsec, entry->stat.mtime_nsec,
			   entry->stat.ctime_nsec },
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
	Pass *pass = inventory->pass;

	while (pass_checkpoint(pass)) {
		const WalkEntry *entry;

		if (!walk_next(inventory->walk, &entry, error))
			return false;
		if (!entry)
			break;
		if (!add_entry(inventory, directories, entry, error))
			return false;
		atomic_store(&pass->progress->files, walk_names(inventory->walk));
	}

	return sorter_sort(directories, error) && sorter_sort(inventory->files, error);
}

bool inventory_flush(Inventory *inventory, GError **error)
{
	if (!inventory->is_flushed && !filesystem_flush(inventory->pass->filesystem, error))
		return false;

	inventory->is_flushed = true;
	return true;
}

bool inventory_add_known(Inventory *inventory, FileAction action, const FileRecord *seen,
			 const Object *known, GError **error)
{
	bool is_known = known->state == OBJECT_DONE || known->state == OBJECT_HALF;
	SizedFile file = {
		.id = { seen->subvolume, seen->inode,
			seen->generation ? seen->generation : known->generation },
		.stamp = seen->stamp,
		.name_position = SIZED_NAME_STORED,
		.head = known->head,
		.object = known->id,
		.rights = seen->rights,
		.state = is_known ? SIZED_KNOWN : SIZED_SEEN,
	};

	if (!inventory->sizes || action == FILE_TO_READ || action == FILE_LEFT ||
	    known->state == OBJECT_SKIPPED)
		return true;
	return same_sizes_add(inventory->sizes, &file, error);
}

/* Where only identical files are looked for, what is read depends on what else there is. */
static bool add_new(Inventory *inventory, const FileRecord *seen, GError **error)
{
	SizedFile file = {
		.id = { seen->subvolume, seen->inode, seen->generation },
		.stamp = seen->stamp,
		.parent = seen->parent,
		.name_position = seen->name_position,
		.changes = seen->changes,
		.rights = seen->rights,
		.is_plain = seen->is_plain,
		.state = SIZED_NEW,
	};

	return same_sizes_add(inventory->sizes, &file, error);
}

static bool add_to_read(Inventory *inventory, const FileRecord *file, uint32_t half_object,
			GError **error)
{
	ReadItem item = {
		.id = { file->subvolume, file->inode, file->generation },
		.stamp = file->stamp,
		.parent = file->parent,
		.physical = file->physical,
		.half_object = half_object,
		.changes = file->changes,
		.is_foreign = file->rights & OBJECT_FOREIGN,
		.is_whole = inventory->sizes,
	};

	if (inventory->sizes && !half_object)
		return add_new(inventory, file, error);

	/* What is dirty has no place on the disk yet, and stores through mmap hide. */
	return inventory_flush(inventory, error) &&
	       name_buffer_get(inventory->names, file->name_position, &item.name, error) &&
	       read_list_add(inventory->to_read, &item, error);
}

static bool update_row(Inventory *inventory, const Object *known, const FileRecord *seen,
		       uint32_t doubted_day, GError **error)
{
	Object current = *known;
	const char *name;

	if (!name_buffer_get(inventory->names, seen->name_position, &name, error))
		return false;

	current.flags = (known->flags & ~OBJECT_RIGHTS) | seen->rights;
	current.changes = 0;
	current.ctime_nsec = seen->stamp.ctime_nsec;
	current.doubted_day = doubted_day;
	current.parent = seen->parent;
	current.name = (const uint8_t *)name;
	current.name_bytes = strlen(name);
	return hash_store_put(inventory->pass->store, &current, error);
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

/*
 * Have an object matched again that could only be a source when it was settled: its owner changed,
 * or who makes the pass.  False: it must be read, as there are too many.
 */
static bool note_regained(Inventory *inventory, const FileRecord *seen, const Object *known)
{
	if (known->state != OBJECT_DONE || known->id >= inventory->settled_below ||
	    !(known->flags & OBJECT_RIGHTS) || seen->rights)
		return true;
	if (inventory->regained->len == REGAINED_MAX)
		return false;

	g_array_append_val(inventory->regained, known->id);
	return true;
}

bool inventory_forget(Inventory *inventory, const Object *known, GError **error)
{
	HashStore *store = inventory->pass->store;

	inventory->pass->result->files.gone++;
	lost_stand_ins_add(inventory->lost, known);
	return lost_stand_ins_note_drop(store, known, error) &&
	       hash_store_drop(store, known->subvolume, known->inode, error);
}

bool inventory_leave(Inventory *inventory, const Object *known, GError **error)
{
	HashStore *store = inventory->pass->store;
	Object left = *known;
	g_autofree char *name = NULL;

	if (known->state == OBJECT_SKIPPED && known->skip_reason == SKIP_CHANGES_OFTEN)
		return true;

	name = g_strndup((const char *)known->name, known->name_bytes);
	left.name = (const uint8_t *)name;
	left.state = OBJECT_SKIPPED;
	left.skip_reason = SKIP_CHANGES_OFTEN;
	/* The file stands for no other one from now on, so later passes do not lose it again. */
	left.flags &= ~(unsigned)OBJECT_CLONED;
	left.stand = 0;
	inventory->pass->result->files.set_aside++;
	return lost_stand_ins_note_drop(store, known, error) && hash_store_put(store, &left, error);
}

static uint64_t now_sec(const Inventory *inventory)
{
	return (uint64_t)(inventory->pass->result->started_usec / G_USEC_PER_SEC);
}

/* Whether to read a file now that changed, or about which more is wanted. */
static FileAction judge_changed(Inventory *inventory, FileRecord *seen, const Object *known)
{
	inventory->pass->result->files.changed++;
	lost_stand_ins_add(inventory->lost, known);
	if (known_file_is_other(known, seen->generation))
		return FILE_TO_READ;
	if (known_file_waits(known, &seen->stamp, inventory->pass->settings, now_sec(inventory)))
		return FILE_LEFT;

	seen->changes = known_file_changes(known, &seen->stamp);
	return FILE_TO_READ;
}

FileAction inventory_judge(Inventory *inventory, FileRecord *seen, const Object *known)
{
	PassResult *result = inventory->pass->result;
	StampVerdict verdict = known_file_compare(known, &seen->stamp, inventory->pass->settings,
						  pass_day(inventory->pass));
	bool has_same_rights =
		known->state != OBJECT_DONE || (known->flags & OBJECT_RIGHTS) == seen->rights;

	/* Of what was kept with extents the file itself has no anchors. */
	if (known_file_is_other(known, seen->generation) || verdict == STAMP_CHANGED ||
	    known->flags & OBJECT_READ_SUMS || !note_regained(inventory, seen, known))
		return judge_changed(inventory, seen, known);

	if (known->id >= inventory->settled_below && known->state == OBJECT_DONE)
		inventory->unsettled++;

	if (verdict == STAMP_DOUBTED) {
		result->files.doubted++;
		return FILE_DOUBTED;
	}

	result->files.unchanged++;
	if (known->state == OBJECT_HALF) {
		seen->changes = known->changes;
		return FILE_TO_READ_ON;
	}
	return has_same_rights && !known_file_has_settled(known, now_sec(inventory)) ? FILE_KEPT
										     : FILE_NOTED;
}

bool inventory_act(Inventory *inventory, FileAction action, const FileRecord *seen,
		   const Object *known, GError **error)
{
	bool is_settled;

	switch (action) {
	case FILE_TO_READ:
		return add_to_read(inventory, seen, 0, error);
	case FILE_TO_READ_ON:
		/* What was settled meanwhile was not matched with what is still to be read of it. */
		is_settled = known->id < inventory->settled_below;
		return add_to_read(inventory, seen, is_settled ? 0 : known->id, error);
	case FILE_DOUBTED:
		return update_row(inventory, known, seen, pass_day(inventory->pass), error);
	case FILE_NOTED:
		return update_row(inventory, known, seen, known->doubted_day, error);
	case FILE_LEFT:
		return inventory_leave(inventory, known, error);
	case FILE_KEPT:
		break;
	}

	return true;
}

/* The store knows the file: is what it knows still true? */
static bool merge_known(Inventory *inventory, const FileRecord *met, const Object *known,
			GError **error)
{
	FileRecord record = *met;
	FileRecord *seen = &record;
	FileAction action = inventory_judge(inventory, seen, known);

	if (!inventory_add_known(inventory, action, seen, known, error))
		return false;
	if (action == FILE_LEFT)
		note_skipped(inventory, known, SKIP_CHANGES_OFTEN);
	if (action == FILE_KEPT && known->state == OBJECT_SKIPPED)
		note_skipped(inventory, known, known->skip_reason);
	if (action == FILE_KEPT &&
	    (known->parent != seen->parent ||
	     inventory_name_hash(known->name, known->name_bytes) != seen->name_hash))
		action = FILE_NOTED;

	return inventory_act(inventory, action, seen, known, error);
}

/* Files inside the walk may be identical to one outside that was read. */
static bool add_outside(Inventory *inventory, const Object *known, GError **error)
{
	SizedFile file = {
		.stamp = known_file_stamp(known),
		.head = known->head,
		.state = SIZED_KNOWN,
	};

	return !inventory->sizes || known->state != OBJECT_DONE ||
	       same_sizes_add(inventory->sizes, &file, error);
}

/* The walk did not meet an object of the store. */
static bool merge_unseen(Inventory *inventory, const Object *known, GError **error)
{
	if (inventory->pass->keeps_left_out ||
	    !walk_saw_all_of(inventory->walk, known->subvolume)) {
		bool is_unsettled =
			known->id >= inventory->settled_below && known->state == OBJECT_DONE;

		return add_outside(inventory, known, error) &&
		       (!is_unsettled || sorter_add(inventory->outside, &known->id, error));
	}

	return inventory_forget(inventory, known, error);
}

/* The next file of another inode than @last. */
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
			merged = add_to_read(inventory, seen, 0, error);
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

/* Also where merging was cut short, since the rows tell the new rights already. */
static bool renew_regained(Inventory *inventory, GError **error)
{
	GArray *regained = inventory->regained;

	inventory->unsettled += regained->len;
	return hash_store_renew(inventory->pass->store, (const uint32_t *)(void *)regained->data,
				regained->len, error);
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

static bool build_either_way(Inventory *inventory, GError **error)
{
	bool is_listed = false;

	/* The size of what is not written out yet is not known to a list of inodes. */
	if (inventory->sizes && !inventory_flush(inventory, error))
		return false;

	if (inventory_choice_is_list(inventory->pass) &&
	    !bulk_inventory_build(inventory, &is_listed, error))
		return false;

	return is_listed || build_by_walk(inventory, error);
}

/* Files that an earlier pass dropped may have stood for others that were not read again since. */
static bool take_lost(Inventory *inventory, GError **error)
{
	bool are_noted;

	if (!lost_stand_ins_are_noted(inventory->pass->store, &are_noted, error))
		return false;

	if (are_noted)
		lost_stand_ins_add_all(inventory->lost);
	return true;
}

static bool build(Inventory *inventory, GError **error)
{
	bool merged = take_lost(inventory, error) && build_either_way(inventory, error) &&
		      inventory_list_relying(inventory, error);

	if (!renew_regained(inventory, merged ? error : NULL) || !merged)
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
	inventory->settled_below = hash_store_settled_below(pass->store);
	inventory->regained = g_array_new(false, false, sizeof(uint32_t));
	inventory->names = name_buffer_new(directory);
	inventory->walk = walk_new(pass->filesystem, pass->filter, pass->subvolumes,
				   &pass->result->skips, &state, pass->stop);
	inventory->files = sorter_new(sizeof(FileRecord), compare_files,
				      pass->settings->memory_bytes / 4, directory, pass->stop);
	inventory->to_read = read_list_new(pass, opener);
	inventory->lost = lost_stand_ins_new();
	if (pass->settings->read == READ_POLICY_SAME_SIZE)
		inventory->sizes = same_sizes_new(false, pass->settings->memory_bytes / 8,
						  directory, pass->stop);
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

	return candidates_choose(inventory->pass, inventory->sizes, inventory->names,
				 inventory->opener, inventory->to_read, error) &&
	       read_list_sort(inventory->to_read, error);
}

ReadList *inventory_to_read(const Inventory *inventory)
{
	return inventory->to_read;
}

uint64_t inventory_unsettled(const Inventory *inventory)
{
	return inventory->unsettled;
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
