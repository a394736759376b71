/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/inventory/file-merge.h"

#include "daemon/context/known-file.h"
#include "daemon/context/lost-stand-ins.h"
#include "hashstore/objects/stand-note.h"

#include <string.h>
#include <xxhash.h>

/* Limit of the objects that are remembered because they may be targets again; others are read again. */
#define REGAINED_MAX (UINT32_C(1) << 18)

struct FileMerge {
	Pass *pass;
	NameBuffer *names;
	ReadList *to_read;
	SizeGroups *sizes;
	uint32_t settled_below;
	bool is_flushed;
	uint64_t unsettled;
	GArray *regained; /* uint32_t: ids of settled objects that may be targets again */
	LostStandIns *lost;
	bool lists_relying; /* all files that relied on the lost ones are listed */
};

FileMerge *file_merge_new(Pass *pass, NameBuffer *names, ReadList *to_read, SizeGroups *sizes)
{
	FileMerge *merge = g_new0(FileMerge, 1);

	merge->pass = pass;
	merge->names = names;
	merge->to_read = to_read;
	merge->sizes = sizes;
	merge->settled_below = hash_store_settled_below(pass->store);
	merge->regained = g_array_new(false, false, sizeof(uint32_t));
	merge->lost = lost_stand_ins_new();
	return merge;
}

void file_merge_free(FileMerge *merge)
{
	if (!merge)
		return;

	lost_stand_ins_free(merge->lost);
	g_array_unref(merge->regained);
	g_free(merge);
}

uint64_t file_merge_name_hash(const void *name, size_t bytes)
{
	return XXH3_64bits(name, bytes);
}

bool file_merge_is_unsettled(const FileMerge *merge, const Object *known)
{
	return known->id >= merge->settled_below && known->state == OBJECT_DONE;
}

bool file_merge_begin(FileMerge *merge, GError **error)
{
	bool are_noted;

	if (!stand_note_is_lost(merge->pass->store, &are_noted, error))
		return false;

	if (are_noted)
		lost_stand_ins_add_all(merge->lost);
	return true;
}

uint64_t file_merge_unsettled(const FileMerge *merge)
{
	return merge->unsettled;
}

void file_merge_restart(FileMerge *merge)
{
	g_array_set_size(merge->regained, 0);
	merge->unsettled = 0;
}

bool file_merge_flush(FileMerge *merge, GError **error)
{
	if (!merge->is_flushed && !filesystem_flush(merge->pass->filesystem, error))
		return false;

	merge->is_flushed = true;
	return true;
}

bool file_merge_add_known(FileMerge *merge, FileAction action, const FileRecord *seen,
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

	if (!merge->sizes || action == FILE_TO_READ || action == FILE_LEFT ||
	    known->state == OBJECT_SKIPPED)
		return true;
	return size_groups_add(merge->sizes, &file, error);
}

/* With --read=same-size: whether a new file is read depends on the other files. */
static bool add_new(FileMerge *merge, const FileRecord *seen, GError **error)
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

	return size_groups_add(merge->sizes, &file, error);
}

static bool add_to_read(FileMerge *merge, const FileRecord *file, uint32_t half_object,
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
		.is_whole = merge->sizes,
	};

	if (merge->sizes && !half_object)
		return add_new(merge, file, error);

	/* Dirty data has no place on the disk yet, and its file may have an old stamp after stores through mmap. */
	return file_merge_flush(merge, error) &&
	       name_buffer_get(merge->names, file->name_position, &item.name, error) &&
	       read_list_add(merge->to_read, &item, error);
}

static bool update_row(FileMerge *merge, const Object *known, const FileRecord *seen,
		       uint32_t doubted_day, GError **error)
{
	Object current = *known;
	const char *name;

	if (!name_buffer_get(merge->names, seen->name_position, &name, error))
		return false;

	current.flags = (known->flags & ~OBJECT_RIGHTS) | seen->rights;
	current.changes = 0;
	current.ctime_nsec = seen->stamp.ctime_nsec;
	current.doubted_day = doubted_day;
	current.parent = seen->parent;
	current.name = (const uint8_t *)name;
	current.name_bytes = strlen(name);
	return hash_store_put(merge->pass->store, &current, error);
}

/*
 * Have an object matched again that could only be a source when it was settled: its owner, or the user of the pass,
 * is another one.  False: there are too many, so it must be read.
 */
static bool note_regained(FileMerge *merge, const FileRecord *seen, const Object *known)
{
	if (known->state != OBJECT_DONE || known->id >= merge->settled_below ||
	    !(known->flags & OBJECT_RIGHTS) || seen->rights)
		return true;
	if (merge->regained->len == REGAINED_MAX)
		return false;

	g_array_append_val(merge->regained, known->id);
	return true;
}

bool file_merge_forget(FileMerge *merge, const Object *known, GError **error)
{
	HashStore *store = merge->pass->store;

	merge->pass->result->files.gone++;
	lost_stand_ins_add(merge->lost, known);
	return stand_note_drop(store, known, error) &&
	       hash_store_drop(store, known->subvolume, known->inode, error);
}

bool file_merge_leave(FileMerge *merge, const Object *known, GError **error)
{
	HashStore *store = merge->pass->store;
	Object left = *known;
	g_autofree char *name = NULL;

	if (known->state == OBJECT_SKIPPED && known->skip_reason == SKIP_CHANGES_OFTEN)
		return true;

	name = g_strndup((const char *)known->name, known->name_bytes);
	left.name = (const uint8_t *)name;
	left.state = OBJECT_SKIPPED;
	left.skip_reason = SKIP_CHANGES_OFTEN;
	/* The file is no stand-in from now on, so that later passes do not lose it again. */
	left.flags &= ~(unsigned)OBJECT_CLONED;
	left.stand = 0;
	merge->pass->result->files.set_aside++;
	return stand_note_drop(store, known, error) && hash_store_put(store, &left, error);
}

static uint64_t now_sec(const FileMerge *merge)
{
	return (uint64_t)(merge->pass->result->started_usec / G_USEC_PER_SEC);
}

/* Whether to read a file now that changed, or of which more is required. */
static FileAction judge_changed(FileMerge *merge, FileRecord *seen, const Object *known)
{
	merge->pass->result->files.changed++;
	lost_stand_ins_add(merge->lost, known);
	if (known_file_is_other(known, seen->generation))
		return FILE_TO_READ;
	if (known_file_waits(known, &seen->stamp, merge->pass->settings, now_sec(merge)))
		return FILE_LEFT;

	seen->changes = known_file_changes(known, &seen->stamp);
	return FILE_TO_READ;
}

FileAction file_merge_judge(FileMerge *merge, FileRecord *seen, const Object *known)
{
	PassResult *result = merge->pass->result;
	StampVerdict verdict = known_file_compare(known, &seen->stamp, merge->pass->settings,
						  pass_day(merge->pass));
	bool has_same_rights =
		known->state != OBJECT_DONE || (known->flags & OBJECT_RIGHTS) == seen->rights;

	/* A file whose sums are stored with extents has no anchors of its own. */
	if (known_file_is_other(known, seen->generation) || verdict == STAMP_CHANGED ||
	    known->flags & OBJECT_READ_SUMS || !note_regained(merge, seen, known))
		return judge_changed(merge, seen, known);

	if (file_merge_is_unsettled(merge, known))
		merge->unsettled++;

	if (verdict == STAMP_DOUBTED) {
		result->files.doubted++;
		return FILE_DOUBTED;
	}

	result->files.unchanged++;
	if (known->state == OBJECT_HALF) {
		seen->changes = known->changes;
		return FILE_TO_READ_ON;
	}
	return has_same_rights && !known_file_has_settled(known, now_sec(merge)) ? FILE_KEPT
										 : FILE_NOTED;
}

bool file_merge_act(FileMerge *merge, FileAction action, const FileRecord *seen,
		    const Object *known, GError **error)
{
	bool is_settled;

	switch (action) {
	case FILE_TO_READ:
		return add_to_read(merge, seen, 0, error);
	case FILE_TO_READ_ON:
		/* An object that was settled meanwhile was not matched with the part still to be read. */
		is_settled = known->id < merge->settled_below;
		return add_to_read(merge, seen, is_settled ? 0 : known->id, error);
	case FILE_DOUBTED:
		return update_row(merge, known, seen, pass_day(merge->pass), error);
	case FILE_NOTED:
		return update_row(merge, known, seen, known->doubted_day, error);
	case FILE_LEFT:
		return file_merge_leave(merge, known, error);
	case FILE_KEPT:
		break;
	}

	return true;
}

bool file_merge_renew_regained(FileMerge *merge, GError **error)
{
	GArray *regained = merge->regained;

	merge->unsettled += regained->len;
	return hash_store_renew(merge->pass->store, (const uint32_t *)(void *)regained->data,
				regained->len, error);
}

/*
 * These files are read before all others: unchanged files make the best stand-ins for changed ones, since their
 * next change concerns nobody.
 */
static bool add_relying(FileMerge *merge, const Object *known, GError **error)
{
	g_autofree char *name = g_strndup((const char *)known->name, known->name_bytes);
	ReadItem item = {
		.id = { known->subvolume, known->inode, known->generation },
		.stamp = known_file_stamp(known),
		.parent = known->parent,
		.physical = 1,
		.name = name,
		.changes = known->changes,
		.is_foreign = known->flags & OBJECT_FOREIGN,
	};

	return file_merge_flush(merge, error) && read_list_add(merge->to_read, &item, error);
}

/* A half-read file is listed already.  Forget its half, so that it is read from its beginning. */
static bool read_again(FileMerge *merge, const Object *known, GError **error)
{
	return known->state == OBJECT_HALF
		       ? hash_store_put_half(merge->pass->store, known->id, 0, "", 0, error)
		       : add_relying(merge, known, error);
}

bool file_merge_list_relying(FileMerge *merge, bool sees_all, GError **error)
{
	Pass *pass = merge->pass;
	g_autoptr(ObjectCursor) cursor = NULL;
	bool are_expected;

	if (!stand_note_is_expected(pass->store, &are_expected, error))
		return false;
	if (!are_expected || merge->sizes || !lost_stand_ins_end(merge->lost))
		return true;
	if (!sees_all)
		return stand_note_lose(pass->store, error);

	cursor = object_cursor_open(pass->store, error);
	while (cursor && pass_checkpoint(pass)) {
		const Object *known;

		if (!object_cursor_next(cursor, &known, error))
			return false;
		if (!known) {
			merge->lists_relying = true;
			return true;
		}
		if (lost_stand_ins_concern(merge->lost, known) && !read_again(merge, known, error))
			return false;
	}

	return cursor;
}

bool file_merge_finish_reading(FileMerge *merge, GError **error)
{
	return !merge->lists_relying || stand_note_clear(merge->pass->store, error);
}
