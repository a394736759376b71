/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/find/inode-inventory.h"

#include "common/system/look-day.h"
#include "daemon/btrfs/refs/extent-files.h"
#include "daemon/context/known-file.h"
#include "daemon/fingerprint/extent-reads.h"
#include "hashstore/objects/objects.h"
#include "hashstore/objects/open-extents.h"
#include "hashstore/objects/read-sums.h"
#include "kernel-ioctl/btrfs/btrfs-file-extent.h"
#include "kernel-ioctl/btrfs/btrfs-inode.h"
#include "kernel-ioctl/btrfs/btrfs-names.h"
#include "kernel-ioctl/btrfs/btrfs-subvolumes.h"
#include "kernel-ioctl/btrfs/btrfs-tree.h"

#include <sys/stat.h>

/* The transaction from which the next pass looks, and the day of the last look at all stored files. */
#define GENERATION_NOTE "btrfs-inodes-generation"
#define LOOK_NOTE       "btrfs-inodes-looked-at"

/* The limits of the pass that noted the transaction. */
#define LIMITS_NOTE "btrfs-inodes-limits"

#define LOOK_DAYS 7

/* Note a new transaction once so many bytes of items were looked through: later passes skip them then. */
#define LOOKED_THROUGH_BYTES (UINT64_C(128) << 10)

/* The data of a file. */
typedef struct {
	bool is_any; /* data that is neither inline nor a hole */
	bool is_compressed;
} FileData;

struct InodeInventory {
	Pass *pass;
	BtrfsTree *tree;
	ExtentFiles *files;
	BtrfsFileExtents *extents;
	BtrfsNames *names;
	ReadList *to_read;
	FileData data; /* of the present file, if it has checksums */
	uint64_t since;
	uint64_t next_since;
	uint64_t n_done_before;        /* files that were read or skipped before this list */
	uint64_t looked_through_bytes; /* of items in leaves that changed */
	bool is_complete;
	bool is_racy; /* a file may have changed again without any trace */
	char *limits; /* of the pass: files outside are not looked at */
};

static uint64_t n_done(const Pass *pass)
{
	return pass->result->files.read + pass->result->files.set_aside;
}

void inode_inventory_free(InodeInventory *inventory)
{
	if (!inventory)
		return;

	btrfs_tree_free(inventory->tree);
	extent_files_free(inventory->files);
	btrfs_file_extents_free(inventory->extents);
	btrfs_names_free(inventory->names);
	read_list_free(inventory->to_read);
	g_free(inventory->limits);
	g_free(inventory);
}

static Stamp stamp_of(const BtrfsInodeItem *inode)
{
	return (Stamp){ inode->size_bytes, inode->otime_nsec, inode->mtime_nsec,
			inode->ctime_nsec };
}

static ExtentRef file_of(const FileId *id, uint64_t size_bytes)
{
	return (ExtentRef){ .root = id->subvolume, .inode = id->inode, .size_bytes = size_bytes };
}

/* Whether the file's data has to be read, or may equal such data. */
static bool is_wanted(const Pass *pass, const BtrfsInodeItem *inode)
{
	return S_ISREG(inode->mode) && inode->nlink > 0 &&
	       (inode->is_no_sum || pass->settings->compressed == COMPRESSED_READ);
}

static bool is_left_alone(const Pass *pass, const BtrfsInodeItem *inode)
{
	return inode->is_no_cow && pass->settings->no_data_cow == NO_COW_SKIP;
}

static bool look_at_data(InodeInventory *inventory, const FileId *id, uint64_t size_bytes,
			 GError **error)
{
	FileData *data = &inventory->data;
	const BtrfsFileExtent *item;

	*data = (FileData){ 0 };
	btrfs_file_extents_start(inventory->extents, inventory->pass->filesystem->fd, id->subvolume,
				 id->inode, 0, size_bytes);
	while (!data->is_compressed) {
		/* The subvolume may be deleted by now. */
		if (!btrfs_file_extents_next_if_any(inventory->extents, &item, error))
			return false;
		if (!item)
			break;
		if (item->kind != BTRFS_FILE_EXTENT_IS_REGULAR || item->bytenr == 0)
			continue;
		data->is_any = true;
		data->is_compressed = item->is_encoded;
	}

	return true;
}

static void leave(InodeInventory *inventory, const ExtentRef *file, SkipReason reason)
{
	SkipLedger *skips = &inventory->pass->result->skips;
	g_autofree char *path = NULL;

	if (skip_ledger_wants_example(skips, reason))
		path = extent_scope_path(inventory->pass->btrfs.scope, file);
	skip_ledger_add(skips, reason, file->size_bytes, path);
}

static bool add_to_read(InodeInventory *inventory, const FileId *id, const BtrfsInodeItem *inode,
			uint32_t half_object, uint32_t changes, GError **error)
{
	const BtrfsName *name;
	ReadItem item = {
		.id = *id,
		.stamp = stamp_of(inode),
		.half_object = half_object,
		.changes = changes,
		.has_checksums = !inode->is_no_sum,
		.is_by_extents = inode->is_no_sum,
		.is_plain = !inode->is_no_sum && !inventory->data.is_compressed,
	};

	inventory->is_racy |= stamp_is_racy(&item.stamp, g_get_real_time() * 1000);
	btrfs_names_start(inventory->names, id->subvolume, id->inode);
	if (!btrfs_names_next(inventory->names, &name, error))
		return false;

	item.parent = name ? name->directory : 0;
	item.name = name ? name->name : "";
	return read_list_add(inventory->to_read, &item, error);
}

/* Only ctime differs: the record is kept, and doubted. */
static bool doubt(InodeInventory *inventory, const Object *known, const Stamp *seen, GError **error)
{
	g_autofree char *name = g_strndup((const char *)known->name, known->name_bytes);
	Object current = *known;

	inventory->pass->result->files.doubted++;
	current.ctime_nsec = seen->ctime_nsec;
	current.doubted_day = pass_day(inventory->pass);
	current.name = (const uint8_t *)name;
	return hash_store_put(inventory->pass->store, &current, error);
}

/* The sums that were read do not hold for the file's extents any more. */
static bool forget_reads(InodeInventory *inventory, const ExtentRef *file, GError **error)
{
	return extent_reads_forget_file(inventory->pass, file->root, file->inode, file->size_bytes,
					error);
}

/* Skip a file that always changes for a time.  The next pass meets it again in any case. */
static bool leave_for_a_time(InodeInventory *inventory, const ExtentRef *file, const Object *known,
			     GError **error)
{
	Object left = *known;
	g_autofree char *name = g_strndup((const char *)known->name, known->name_bytes);

	inventory->is_racy = true;
	leave(inventory, file, SKIP_CHANGES_OFTEN);
	if (known->state == OBJECT_SKIPPED && known->skip_reason == SKIP_CHANGES_OFTEN)
		return true;

	left.name = (const uint8_t *)name;
	left.state = OBJECT_SKIPPED;
	left.skip_reason = SKIP_CHANGES_OFTEN;
	inventory->pass->result->files.set_aside++;
	return forget_reads(inventory, file, error) &&
	       hash_store_put(inventory->pass->store, &left, error);
}

/* The file changed: decide whether to read it now. */
static bool visit_changed(InodeInventory *inventory, const FileId *id, const BtrfsInodeItem *inode,
			  const Object *known, GError **error)
{
	Pass *pass = inventory->pass;
	Stamp seen = stamp_of(inode);
	uint64_t now_sec = (uint64_t)(pass->result->started_usec / G_USEC_PER_SEC);
	ExtentRef file = file_of(id, inode->size_bytes);

	pass->result->files.changed++;
	if (known_file_waits(known, &seen, pass->settings, now_sec))
		return leave_for_a_time(inventory, &file, known, error);

	return add_to_read(inventory, id, inode, 0, known_file_changes(known, &seen), error);
}

/* The store knows the file: check whether its record still holds. */
static bool visit_known(InodeInventory *inventory, const FileId *id, const BtrfsInodeItem *inode,
			const Object *known, GError **error)
{
	Pass *pass = inventory->pass;
	Stamp seen = stamp_of(inode);
	uint32_t half = known->id >= hash_store_settled_below(pass->store) ? known->id : 0;
	StampVerdict verdict = known_file_compare(known, &seen, pass->settings, pass_day(pass));

	/* The file was compressed in place, which does not change its times. */
	if (known->flags & OBJECT_PLAIN && inventory->data.is_compressed)
		verdict = STAMP_CHANGED;

	switch (verdict) {
	case STAMP_CHANGED:
		return visit_changed(inventory, id, inode, known, error);
	case STAMP_DOUBTED:
		return doubt(inventory, known, &seen, error);
	case STAMP_SAME:
		break;
	}

	if (known->state == OBJECT_SKIPPED) {
		ExtentRef file = file_of(id, known->size_bytes);

		pass_result_add_known(inventory->pass->result, known->skip_reason);
		leave(inventory, &file, known->skip_reason);
	}
	/* An older version read it, or its data was moved since: its extents have no sums. */
	if (inode->is_no_sum && known->state != OBJECT_SKIPPED &&
	    !(known->flags & OBJECT_READ_SUMS))
		return add_to_read(inventory, id, inode, 0, known->changes, error);
	/* An object that was settled meanwhile was not matched with the part still to be read. */
	return known->state != OBJECT_HALF ||
	       add_to_read(inventory, id, inode, half, known->changes, error);
}

static bool forget(InodeInventory *inventory, uint64_t subvolume, uint64_t inode, GError **error)
{
	inventory->pass->result->files.gone++;
	return hash_store_drop(inventory->pass->store, subvolume, inode, error);
}

/* Look at a file without checksums, and at the store's record of it. */
static bool visit(InodeInventory *inventory, uint64_t subvolume, uint64_t number,
		  const BtrfsInodeItem *inode, GError **error)
{
	Pass *pass = inventory->pass;
	FileId id = { subvolume, number, (uint32_t)inode->generation };
	ExtentRef place = file_of(&id, inode->size_bytes);
	const Object *known;
	SkipReason reason;
	bool is_in;

	if (filter_is_small(pass->filter, inode->size_bytes) ||
	    extent_files_is_own(inventory->files, &place))
		return true;
	if (!extent_scope_has(pass->btrfs.scope, &place, &is_in, &reason, error))
		return false;
	if (!is_in)
		return true;
	if (!hash_store_find_at(pass->store, subvolume, number, &known, error))
		return false;
	if (is_left_alone(pass, inode)) {
		leave(inventory, &place, SKIP_NO_COW);
		return !known || (forget_reads(inventory, &place, error) &&
				  forget(inventory, subvolume, number, error));
	}
	if (!inode->is_no_sum) {
		if (!look_at_data(inventory, &id, inode->size_bytes, error))
			return false;
		if (!inventory->data.is_any)
			return !known || forget(inventory, subvolume, number, error);
	}
	if (known && (!known->generation || known->generation == id.generation))
		return visit_known(inventory, &id, inode, known, error);

	pass->result->files.new ++;
	return add_to_read(inventory, &id, inode, 0, 0, error);
}

static bool damaged(uint64_t subvolume, uint64_t number, GError **error)
{
	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
		    "the item of inode %" G_GUINT64_FORMAT " of subvolume %" G_GUINT64_FORMAT
		    " is not valid",
		    number, subvolume);
	return false;
}

/* Look at the files of the subvolume that changed since the transaction @since. */
static bool look_at_subvolume(InodeInventory *inventory, uint64_t subvolume, uint64_t since,
			      GError **error)
{
	BtrfsTreeRange range = {
		.tree = subvolume,
		.first = { BTRFS_FIRST_FREE_OBJECTID, 0, 0 },
		.last = { BTRFS_LAST_FREE_OBJECTID, UINT8_MAX, UINT64_MAX },
		.min_transid = since,
		.types = { BTRFS_INODE_ITEM_KEY },
	};

	btrfs_tree_start(inventory->tree, inventory->pass->filesystem->fd, &range);
	while (pass_checkpoint(inventory->pass)) {
		const BtrfsTreeItem *item;
		BtrfsInodeItem inode;

		if (!btrfs_tree_next_if_any(inventory->tree, &item, error))
			return false;
		/* The end, or the subvolume was deleted. */
		if (!item)
			break;
		inventory->looked_through_bytes += item->length;
		if (!btrfs_inode_item_read(item->data, item->length, &inode))
			return damaged(subvolume, item->key.objectid, error);

		/* The other files of the leaf did not change. */
		if (inode.transid < since || !is_wanted(inventory->pass, &inode))
			continue;
		if (!visit(inventory, subvolume, item->key.objectid, &inode, error))
			return false;
	}

	return true;
}

static bool look_at_subvolumes(InodeInventory *inventory, GError **error)
{
	Pass *pass = inventory->pass;
	g_autoptr(GArray) subvolumes = NULL;

	if (!btrfs_subvolumes_read(pass->filesystem->fd, &subvolumes, error))
		return false;

	for (guint i = 0; i < subvolumes->len && pass_checkpoint(pass); i++) {
		const BtrfsSubvolume *one = &g_array_index(subvolumes, BtrfsSubvolume, i);
		/* A new snapshot has files that are older than itself. */
		bool is_new = one->otransid >= inventory->since;

		if (one->is_dead || one->generation < inventory->since ||
		    !read_only_subvolumes_may_be_source(pass->subvolumes, one->id))
			continue;
		if (!look_at_subvolume(inventory, one->id, is_new ? 0 : inventory->since, error))
			return false;
	}

	return true;
}

/* Look at one stored file, wherever it comes from. */
static bool look_at_stored(InodeInventory *inventory, const Object *stored, GError **error)
{
	Pass *pass = inventory->pass;
	BtrfsInodeItem inode;
	bool found;

	if (!btrfs_inode_read(pass->filesystem->fd, stored->subvolume, stored->inode, &inode,
			      &found, error))
		return false;
	if (!found || !is_wanted(pass, &inode) ||
	    (stored->generation && stored->generation != (uint32_t)inode.generation) ||
	    !read_only_subvolumes_may_be_source(pass->subvolumes, stored->subvolume))
		return forget(inventory, stored->subvolume, stored->inode, error);

	/* A file that changed since is met anyway. */
	return inode.transid >= inventory->since ||
	       visit(inventory, stored->subvolume, stored->inode, &inode, error);
}

/* Look at all stored files, and forget those that are gone or have checksums. */
static bool look_at_all_stored(InodeInventory *inventory, GError **error)
{
	Pass *pass = inventory->pass;
	g_autoptr(ObjectCursor) cursor = object_cursor_open(pass->store, error);

	if (!cursor)
		return false;

	while (pass_checkpoint(pass)) {
		const Object *stored;

		if (!object_cursor_next(cursor, &stored, error))
			return false;
		if (!stored)
			break;
		if (stored->subvolume > OBJECT_STRETCHES &&
		    !look_at_stored(inventory, stored, error))
			return false;
	}

	return !pass_checkpoint(pass) ||
	       hash_store_set_number(pass->store, LOOK_NOTE, pass_day(pass), error);
}

static bool build(InodeInventory *inventory, GError **error)
{
	Pass *pass = inventory->pass;
	g_autofree char *limits = NULL;
	uint64_t looked_day, open;
	bool has_read;

	if (!hash_store_get_note(pass->store, LIMITS_NOTE, &limits, error) ||
	    !hash_store_get_number(pass->store, GENERATION_NOTE, &inventory->since, error) ||
	    !hash_store_get_number(pass->store, LOOK_NOTE, &looked_day, error) ||
	    !hash_store_next_open_extent(pass->store, 0, &open, error) ||
	    !hash_store_has_read_sums(pass->store, &has_read, error))
		return false;

	/* The filesystem was set back to an older state, or the limits changed. */
	if (inventory->since > inventory->next_since ||
	    g_strcmp0(limits ? limits : "", inventory->limits) != 0)
		inventory->since = 0;
	if ((inventory->since == 0 || (!pass->settings->only_changed &&
				       look_day_is_due(looked_day, pass_day(pass), LOOK_DAYS))) &&
	    !look_at_all_stored(inventory, error))
		return false;
	if ((open != UINT64_MAX || has_read || pass->settings->compressed == COMPRESSED_READ) &&
	    pass_checkpoint(pass) && !look_at_subvolumes(inventory, error))
		return false;

	inventory->is_complete = pass_checkpoint(pass);
	return read_list_sort(inventory->to_read, error);
}

/* Empty if all files are part of the pass. */
static char *limits_of(const Pass *pass)
{
	return extent_scope_is_limited(pass->btrfs.scope) ||
			       pass->settings->min_size_bytes != SETTINGS_MIN_SIZE_UNSET
		       ? extent_scope_limits(pass->btrfs.scope)
		       : g_strdup("");
}

InodeInventory *inode_inventory_build(Pass *pass, const BtrfsInfo *info, FileOpener *opener,
				      GError **error)
{
	g_autoptr(InodeInventory) inventory = g_new0(InodeInventory, 1);

	inventory->pass = pass;
	inventory->tree = btrfs_tree_new(BTRFS_TREE_BUFFER_BYTES);
	inventory->files = extent_files_new(pass);
	inventory->extents = btrfs_file_extents_new();
	inventory->names = btrfs_names_new(pass->filesystem->fd);
	inventory->to_read = read_list_new(pass, opener);
	inventory->next_since = info->generation + 1;
	inventory->limits = limits_of(pass);
	if (!build(inventory, error))
		return NULL;

	inventory->n_done_before = n_done(pass);
	return g_steal_pointer(&inventory);
}

ReadList *inode_inventory_to_read(const InodeInventory *inventory)
{
	return inventory->to_read;
}

bool inode_inventory_end(InodeInventory *inventory, GError **error)
{
	Pass *pass = inventory->pass;
	uint64_t n_to_read = read_list_files(inventory->to_read);
	bool is_worth_a_write = inventory->since == 0 || n_to_read > 0 ||
				inventory->looked_through_bytes >= LOOKED_THROUGH_BYTES;

	/* The next pass has to meet files again that could not be opened, or changed a moment ago. */
	if (!inventory->is_complete || inventory->is_racy || !is_worth_a_write ||
	    n_done(pass) - inventory->n_done_before < n_to_read)
		return true;

	return hash_store_set_number(pass->store, GENERATION_NOTE, inventory->next_since, error) &&
	       hash_store_set_note(pass->store, LIMITS_NOTE, inventory->limits, error);
}

bool inode_inventory_begin_since(Pass *pass, uint64_t since, GError **error)
{
	return hash_store_lower_number(pass->store, GENERATION_NOTE, since, error);
}

bool inode_inventory_begin_anew(Pass *pass, GError **error)
{
	return inode_inventory_begin_since(pass, 0, error);
}
