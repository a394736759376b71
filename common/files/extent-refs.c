/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/files/extent-refs.h"

#include "kernel-ioctl/btrfs/btrfs-file-extent.h"
#include "kernel-ioctl/btrfs/btrfs-inode.h"
#include "kernel-ioctl/btrfs/btrfs-item-windows.h"
#include "kernel-ioctl/btrfs/btrfs-named-refs.h"
#include "kernel-ioctl/call/file-key.h"

/* The most bytes in files of a compressed extent, which has fewer on the disk. */
#define ENCODED_BYTES_MAX (UINT64_C(128) << 10)

/* Items read in addition to those of the extent. */
#define OTHER_ITEMS_MAX 256

/* Cached facts about a file that references the current extent. */
typedef struct {
	FileKey key;
	BtrfsInodeItem item;
	uint64_t
		leaf; /* the transaction that last wrote the leaf of its inode; UINT64_MAX: not known */
	bool is_there;
} KnownFile;

struct ExtentRefs {
	int fd;
	BtrfsRefBound *bound; /* or NULL */
	BtrfsRefs *found;
	BtrfsFileExtents *extents;
	BtrfsItemWindows *windows; /* or NULL */
	GArray *list;              /* ExtentRef */
	GArray *named;             /* BtrfsExtentRef */
	uint64_t named_bytenr;     /* of the extent whose item was read last */
	uint64_t named_refs;       /* references that this item counts */
	GHashTable *files;         /* KnownFile by its key */
	ExtentUnseen unseen;
	ExtentRef unseen_place; /* the first unseen reference */
	uint64_t n_places;
	uint64_t newest_leaf;
	bool is_encoded;
	uint64_t ram_bytes;
};

uint64_t extent_ref_shown_bytes(const ExtentRef *ref)
{
	return MIN(ref->length, ref->size_bytes - MIN(ref->size_bytes, ref->offset));
}

ExtentRefs *extent_refs_new(int fd, BtrfsRefBound *bound)
{
	ExtentRefs *refs = g_new0(ExtentRefs, 1);

	refs->fd = fd;
	refs->bound = bound;
	refs->found = btrfs_refs_new();
	btrfs_refs_set_bound(refs->found, bound);
	refs->extents = btrfs_file_extents_new();
	refs->list = g_array_new(false, false, sizeof(ExtentRef));
	refs->named = g_array_new(false, false, sizeof(BtrfsExtentRef));
	refs->files = g_hash_table_new_full(file_key_hash, file_key_equal, NULL, g_free);
	return refs;
}

void extent_refs_free(ExtentRefs *refs)
{
	if (!refs)
		return;

	btrfs_refs_free(refs->found);
	btrfs_file_extents_free(refs->extents);
	btrfs_item_windows_free(refs->windows);
	g_array_unref(refs->list);
	g_array_unref(refs->named);
	g_hash_table_unref(refs->files);
	g_free(refs);
}

void extent_refs_use_windows(ExtentRefs *refs)
{
	if (!refs->windows)
		refs->windows = btrfs_item_windows_new(refs->fd);
}

void extent_refs_clear_windows(ExtentRefs *refs)
{
	if (refs->windows)
		btrfs_item_windows_clear(refs->windows);
}

/* Find the item by its key, in a window if windows are used. */
static bool find_item(ExtentRefs *refs, uint64_t root, const BtrfsKey *key, BtrfsTreeItem *ret,
		      bool *ret_found, GError **error)
{
	*ret_found = false;
	return !refs->windows ||
	       btrfs_item_windows_find(refs->windows, root, key, ret, ret_found, error);
}

/*
 * True if the item belongs to the extent.  Generations do not tell: the item's is later if preallocated space
 * was written, and earlier if a balance moved the extent.
 */
static bool is_of(const BtrfsFileExtent *item, const Object *extent)
{
	return item->bytenr == extent->inode && item->disk_bytes == extent->size_bytes;
}

/* Read the inode of @file. */
static bool look_up_file(ExtentRefs *refs, KnownFile *file, GError **error)
{
	BtrfsKey key = { file->key.inode, BTRFS_INODE_ITEM_KEY, 0 };
	g_autoptr(GError) unread = NULL;
	BtrfsTreeItem item;

	/* A window may not have the item; a search then finds it. */
	if (find_item(refs, file->key.root, &key, &item, &file->is_there, &unread) &&
	    file->is_there && btrfs_inode_item_read(item.data, item.length, &file->item)) {
		file->leaf = item.transid;
		return true;
	}

	file->leaf = UINT64_MAX;
	return btrfs_inode_read(refs->fd, file->key.root, file->key.inode, &file->item,
				&file->is_there, error);
}

/*
 * The inode of the reference's file, cached: most files have several references to the extent.  NULL: error.
 */
static const KnownFile *know_file(ExtentRefs *refs, const ExtentRef *ref, GError **error)
{
	FileKey key = { ref->root, ref->inode };
	KnownFile *file = g_hash_table_lookup(refs->files, &key);

	if (file)
		return file;

	file = g_new0(KnownFile, 1);
	file->key = key;
	if (!look_up_file(refs, file, error)) {
		g_free(file);
		return NULL;
	}
	g_hash_table_insert(refs->files, &file->key, file);
	return file;
}

/* Fill in size, owner and other facts of the file. */
static bool read_inode(ExtentRefs *refs, ExtentRef *ref, bool *ret_found, GError **error)
{
	const KnownFile *file = know_file(refs, ref, error);

	if (!file)
		return false;

	*ret_found = file->is_there;
	ref->size_bytes = file->item.size_bytes;
	ref->owner = file->item.uid;
	ref->generation = (uint32_t)file->item.generation;
	ref->is_deleted = file->item.nlink == 0;
	ref->is_immutable = file->item.is_immutable;
	ref->mtime_nsec = file->item.mtime_nsec;
	refs->newest_leaf = MAX(refs->newest_leaf, file->leaf);
	return true;
}

static void note_unseen(ExtentRefs *refs, ExtentUnseen why, const ExtentRef *place)
{
	if (refs->unseen != EXTENT_UNSEEN_NONE)
		return;

	refs->unseen = why;
	refs->unseen_place = *place;
}

/*
 * Add the reference of @item, which belongs to the extent.  A deleted file or preallocated space only keeps
 * the extent: note that as unseen.
 */
static bool add_item(ExtentRefs *refs, uint64_t root, uint64_t inode, const BtrfsFileExtent *item,
		     uint64_t *ret_length, GError **error)
{
	ExtentRef ref = { .root = root, .inode = inode, .offset = item->logical };
	bool is_there;

	*ret_length = 0;
	ref.position = item->offset;
	ref.length = item->length;
	if (item->kind != BTRFS_FILE_EXTENT_IS_REGULAR) {
		note_unseen(refs, EXTENT_UNSEEN_RESERVED, &ref);
		return true;
	}

	refs->is_encoded = item->is_encoded;
	refs->ram_bytes = item->ram_bytes;
	refs->newest_leaf = MAX(refs->newest_leaf, item->transid);
	if (!read_inode(refs, &ref, &is_there, error))
		return false;
	if (!is_there) {
		note_unseen(refs, EXTENT_UNSEEN_DELETED, &ref);
		return true;
	}

	g_array_append_val(refs->list, ref);
	*ret_length = ref.length;
	return true;
}

/* True if a window has the item that the kernel named, and it references the extent. */
static bool find_in_window(ExtentRefs *refs, const BtrfsRef *found, const Object *extent,
			   BtrfsFileExtent *ret)
{
	BtrfsKey key = { found->inode, BTRFS_EXTENT_DATA_KEY, found->offset };
	BtrfsTreeItem item;
	bool is_known;

	return find_item(refs, found->root, &key, &item, &is_known, NULL) && is_known &&
	       btrfs_file_extent_take(&item, ret, NULL) && is_of(ret, extent);
}

bool extent_refs_add(ExtentRefs *refs, const BtrfsRef *found, const Object *extent,
		     uint64_t *ret_length, GError **error)
{
	g_autoptr(GError) unread = NULL;
	const BtrfsFileExtent *item;
	BtrfsFileExtent known;

	*ret_length = 0;
	if (find_in_window(refs, found, extent, &known))
		return add_item(refs, found->root, found->inode, &known, ret_length, error);

	btrfs_file_extents_start(refs->extents, refs->fd, found->root, found->inode, found->offset,
				 1);
	if (!btrfs_file_extents_next(refs->extents, &item, &unread)) {
		ExtentRef ref = { .root = found->root,
				  .inode = found->inode,
				  .offset = found->offset };

		note_unseen(refs, EXTENT_UNSEEN_DELETED, &ref);
		if (g_error_matches(unread, G_FILE_ERROR, G_FILE_ERROR_NOENT))
			return true;
		g_propagate_error(error, g_steal_pointer(&unread));
		return false;
	}

	return !item || !is_of(item, extent) ||
	       add_item(refs, found->root, found->inode, item, ret_length, error);
}

static const KnownFile *known_file(const ExtentRefs *refs, const ExtentRef *place)
{
	FileKey key = { place->root, place->inode };

	return g_hash_table_lookup(refs->files, &key);
}

bool extent_refs_is_unchanged(const ExtentRefs *refs, const ExtentRef *one, const ExtentRef *other)
{
	const KnownFile *file = known_file(refs, one);
	const KnownFile *other_file = known_file(refs, other);

	return file && other_file && file->item.transid == other_file->item.transid &&
	       file->item.generation == other_file->item.generation &&
	       file->item.size_bytes == other_file->item.size_bytes &&
	       file->item.ctime_nsec == other_file->item.ctime_nsec &&
	       one->offset == other->offset && one->position == other->position &&
	       one->length == other->length;
}

void extent_refs_add_like(ExtentRefs *refs, const ExtentRef *like, uint64_t root)
{
	ExtentRef place = *like;

	place.root = root;
	g_array_append_val(refs->list, place);
}

static void clear(ExtentRefs *refs)
{
	g_array_set_size(refs->list, 0);
	g_hash_table_remove_all(refs->files);
	refs->unseen = EXTENT_UNSEEN_NONE;
	refs->unseen_place = (ExtentRef){ 0 };
	refs->n_places = 0;
	refs->newest_leaf = 0;
}

uint64_t extent_refs_newest_leaf(const ExtentRefs *refs)
{
	return refs->newest_leaf;
}

/* Begin an empty list for a lookup with this outcome. */
static void begin(ExtentRefs *refs, BtrfsRefsOutcome outcome)
{
	clear(refs);
	if (outcome == BTRFS_REFS_TOO_MANY)
		refs->unseen = EXTENT_UNSEEN_MORE;
	if (outcome != BTRFS_REFS_GONE)
		refs->n_places = btrfs_refs_count(refs->found);
}

ExtentRefsOutcome extent_refs_outcome(const ExtentRefs *refs)
{
	if (refs->unseen != EXTENT_UNSEEN_NONE)
		return EXTENT_REFS_PARTIAL;
	return refs->list->len > 0 ? EXTENT_REFS_READ : EXTENT_REFS_GONE;
}

/* List the references that the kernel found. */
static bool list_places(ExtentRefs *refs, const Object *extent, BtrfsRefsOutcome outcome,
			size_t most, ExtentRefsOutcome *ret, GError **error)
{
	const BtrfsRef *found;
	uint64_t ignored;
	size_t n;

	begin(refs, outcome);
	*ret = EXTENT_REFS_GONE;
	if (outcome == BTRFS_REFS_GONE)
		return true;

	found = btrfs_refs_list(refs->found, &n);
	if (n > most)
		refs->unseen = EXTENT_UNSEEN_MORE;
	for (size_t i = 0; i < MIN(n, most); i++)
		if (!extent_refs_add(refs, &found[i], extent, &ignored, error))
			return false;

	*ret = extent_refs_outcome(refs);
	return true;
}

/* Begin without listing the references found. */
static void end_find(ExtentRefs *refs, BtrfsRefsOutcome outcome, ExtentRefsOutcome *ret)
{
	static const ExtentRefsOutcome outcomes[] = {
		[BTRFS_REFS_READ] = EXTENT_REFS_READ,
		[BTRFS_REFS_GONE] = EXTENT_REFS_GONE,
		[BTRFS_REFS_TOO_MANY] = EXTENT_REFS_PARTIAL,
	};

	begin(refs, outcome);
	*ret = outcomes[outcome];
}

/* True if the item, which was just read, allows a lookup of the references. */
static bool is_free(const ExtentRefs *refs, const Object *extent)
{
	return refs->bound && refs->named_bytenr == extent->inode && refs->named_refs > 0 &&
	       btrfs_ref_bound_is_free(refs->bound, refs->named_refs);
}

bool extent_refs_find(ExtentRefs *refs, const Object *extent, ExtentRefsOutcome *ret,
		      GError **error)
{
	BtrfsRefsOutcome outcome;
	bool done;

	btrfs_refs_set_most(refs->found, BTRFS_REFS_MAX);
	done = is_free(refs, extent)
		       ? btrfs_refs_read_allowed(refs->found, refs->fd, extent->inode, &outcome,
						 error)
		       : btrfs_refs_read(refs->found, refs->fd, extent->inode, &outcome, error);
	refs->named_bytenr = 0;
	if (!done)
		return false;

	end_find(refs, outcome, ret);
	return true;
}

bool extent_refs_find_byte(ExtentRefs *refs, const Object *extent, uint64_t position,
			   ExtentRefsOutcome *ret, GError **error)
{
	BtrfsRefsOutcome outcome;

	btrfs_refs_set_most(refs->found, BTRFS_REFS_MAX);
	if (!btrfs_refs_read_byte(refs->found, refs->fd, extent->inode, position, &outcome, error))
		return false;

	end_find(refs, outcome, ret);
	return true;
}

const BtrfsRef *extent_refs_found(const ExtentRefs *refs, size_t *ret_n)
{
	return btrfs_refs_list(refs->found, ret_n);
}

void extent_refs_remove_if(ExtentRefs *refs,
			   bool (*is_unwanted)(const ExtentRef *place, void *data), void *data)
{
	guint n = 0;

	for (guint i = 0; i < refs->list->len; i++) {
		ExtentRef place = g_array_index(refs->list, ExtentRef, i);

		if (!is_unwanted(&place, data))
			g_array_index(refs->list, ExtentRef, n++) = place;
	}
	g_array_set_size(refs->list, n);
	if (refs->unseen != EXTENT_UNSEEN_NONE && is_unwanted(&refs->unseen_place, data))
		refs->unseen = EXTENT_UNSEEN_NONE;
}

ExtentRefsOutcome extent_refs_leave(ExtentRefs *refs, const BtrfsRef *first)
{
	ExtentRef place = { .root = first->root, .inode = first->inode, .offset = first->offset };

	note_unseen(refs, EXTENT_UNSEEN_MORE, &place);
	return EXTENT_REFS_PARTIAL;
}

bool extent_refs_read(ExtentRefs *refs, const Object *extent, size_t most, ExtentRefsOutcome *ret,
		      GError **error)
{
	BtrfsRefsOutcome outcome;

	btrfs_refs_set_most(refs->found, most);
	return btrfs_refs_read(refs->found, refs->fd, extent->inode, &outcome, error) &&
	       list_places(refs, extent, outcome, most, ret, error);
}

/* List the references to the extent in the file of @named.  Reads at most *items_left items. */
static bool list_named(ExtentRefs *refs, const BtrfsExtentRef *named, const Object *extent,
		       size_t most, size_t *items_left, GError **error)
{
	uint64_t end = named->offset + MAX(extent->size_bytes, ENCODED_BYTES_MAX);
	/* The range begins before the file if the file begins with the middle of the extent. */
	uint64_t begin = end < named->offset ? 0 : named->offset;

	btrfs_file_extents_start(refs->extents, refs->fd, named->root, named->inode, begin,
				 end - begin);
	for (; *items_left > 0 && refs->list->len < most; --*items_left) {
		const BtrfsFileExtent *item;
		uint64_t ignored;

		if (!btrfs_file_extents_next_if_any(refs->extents, &item, error))
			return false;
		if (!item)
			break;
		if (is_of(item, extent) && item->logical - item->offset == named->offset &&
		    !add_item(refs, named->root, named->inode, item, &ignored, error))
			return false;
	}

	return true;
}

bool extent_refs_read_names(ExtentRefs *refs, const Object *extent, size_t most, ExtentNamed *ret,
			    GError **error)
{
	BtrfsNamedRefs named;

	clear(refs);
	*ret = (ExtentNamed){ 0 };
	if (!btrfs_named_refs_read(refs->fd, extent->inode, extent->size_bytes, most, &named,
				   error))
		return false;

	g_array_unref(refs->named);
	refs->named = named.refs;
	refs->named_bytenr = extent->inode;
	refs->named_refs = named.n_refs;
	ret->generation = named.generation;
	ret->is_all = named.is_all && !named.has_leaves;
	if (named.is_all && refs->named->len > 0)
		ret->root = g_array_index(refs->named, BtrfsExtentRef, 0).root;
	for (guint i = 0; i < refs->named->len && ret->root != 0; i++) {
		const BtrfsExtentRef *ref = &g_array_index(refs->named, BtrfsExtentRef, i);

		ret->n_items += ref->count;
		if (ref->root != ret->root)
			ret->root = 0;
	}
	return true;
}

bool extent_refs_list_named(ExtentRefs *refs, const Object *extent, size_t most, GError **error)
{
	/*
	 * A file may have blocks of the extent in any order: the range of each reference then contains the
	 * items of all.
	 */
	size_t items_left = 2 * most + OTHER_ITEMS_MAX;

	for (guint i = 0; i < refs->named->len && refs->list->len < most && items_left > 0; i++)
		if (!list_named(refs, &g_array_index(refs->named, BtrfsExtentRef, i), extent, most,
				&items_left, error))
			return false;

	refs->n_places = refs->list->len;
	return true;
}

bool extent_refs_shows(ExtentRefs *refs, uint64_t root, const ExtentRef *place,
		       const Object *extent, uint64_t *ret_length, GError **error)
{
	const BtrfsRef asked = { place->inode, place->offset, root };
	const BtrfsFileExtent *item;
	BtrfsFileExtent known;

	if (find_in_window(refs, &asked, extent, &known)) {
		*ret_length = known.length;
		return true;
	}

	btrfs_file_extents_start(refs->extents, refs->fd, root, place->inode, place->offset, 1);
	if (!btrfs_file_extents_next_if_any(refs->extents, &item, error))
		return false;
	*ret_length = item && is_of(item, extent) ? item->length : 0;
	return true;
}

const ExtentRef *extent_refs_list(const ExtentRefs *refs, size_t *ret_n)
{
	*ret_n = refs->list->len;
	return (const ExtentRef *)refs->list->data;
}

bool extent_refs_have_one_owner(const ExtentRefs *refs)
{
	const ExtentRef *places = (const ExtentRef *)refs->list->data;

	for (guint i = 1; i < refs->list->len; i++)
		if (places[i].owner != places[0].owner)
			return false;
	return true;
}

ExtentUnseen extent_refs_unseen(const ExtentRefs *refs, ExtentRef *ret_place, uint64_t *ret_places)
{
	*ret_place = refs->unseen_place;
	*ret_places = refs->n_places;
	return refs->unseen;
}

bool extent_refs_is_encoded(const ExtentRefs *refs)
{
	return refs->is_encoded;
}

uint64_t extent_refs_ram_bytes(const ExtentRefs *refs)
{
	return refs->ram_bytes;
}
