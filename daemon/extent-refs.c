/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/extent-refs.h"

#include "daemon/file-key.h"
#include "kernel-ioctl/btrfs-file-extent.h"
#include "kernel-ioctl/btrfs-inode.h"

/* What is known of a file that shows the extent in hand. */
typedef struct {
	FileKey key;
	BtrfsInodeItem item;
	bool is_there;
} KnownFile;

struct ExtentRefs {
	int fd;
	BtrfsRefs *found;
	BtrfsFileExtents *extents;
	GArray *list;      /* ExtentRef */
	GHashTable *files; /* KnownFile by its key */
	ExtentUnseen unseen;
	ExtentRef unseen_place; /* the first one */
	uint64_t n_places;
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
	refs->found = btrfs_refs_new();
	btrfs_refs_set_bound(refs->found, bound);
	refs->extents = btrfs_file_extents_new();
	refs->list = g_array_new(false, false, sizeof(ExtentRef));
	refs->files = g_hash_table_new_full(file_key_hash, file_key_equal, NULL, g_free);
	return refs;
}

void extent_refs_free(ExtentRefs *refs)
{
	if (!refs)
		return;

	btrfs_refs_free(refs->found);
	btrfs_file_extents_free(refs->extents);
	g_array_unref(refs->list);
	g_hash_table_unref(refs->files);
	g_free(refs);
}

/*
 * Whether the item belongs to the extent.  Its generation does not tell: it is later than the
 * extent's where preallocated space was written, and earlier where a balance moved the extent.
 */
static bool is_of(const BtrfsFileExtent *item, const Object *extent)
{
	return item->bytenr == extent->inode && item->disk_bytes == extent->size_bytes;
}

/* The inode of the place's file, which mostly shows the extent in several places; NULL: error. */
static const KnownFile *know_file(ExtentRefs *refs, const ExtentRef *ref, GError **error)
{
	FileKey key = { ref->root, ref->inode };
	KnownFile *file = g_hash_table_lookup(refs->files, &key);

	if (file)
		return file;

	file = g_new0(KnownFile, 1);
	file->key = key;
	if (!btrfs_inode_read(refs->fd, ref->root, ref->inode, &file->item, &file->is_there,
			      error)) {
		g_free(file);
		return NULL;
	}
	g_hash_table_insert(refs->files, &file->key, file);
	return file;
}

/* Size, owner and the like of the file. */
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
 * Add the place at @found, if it still shows @extent.  If it keeps the extent without showing it, out of
 * sight, or reserved and not written, that is noted.
 */
bool extent_refs_add(ExtentRefs *refs, const BtrfsRef *found, const Object *extent,
		     uint64_t *ret_length, GError **error)
{
	g_autoptr(GError) unread = NULL;
	const BtrfsFileExtent *item;
	ExtentRef ref = { .root = found->root, .inode = found->inode, .offset = found->offset };
	bool is_there;

	*ret_length = 0;
	btrfs_file_extents_start(refs->extents, refs->fd, found->root, found->inode, found->offset,
				 1);
	if (!btrfs_file_extents_next(refs->extents, &item, &unread)) {
		note_unseen(refs, EXTENT_UNSEEN_DELETED, &ref);
		if (g_error_matches(unread, G_FILE_ERROR, G_FILE_ERROR_NOENT))
			return true;
		g_propagate_error(error, g_steal_pointer(&unread));
		return false;
	}
	if (!item || !is_of(item, extent))
		return true;
	ref.offset = item->logical;
	ref.position = item->offset;
	ref.length = item->length;
	if (item->kind != BTRFS_FILE_EXTENT_IS_REGULAR) {
		note_unseen(refs, EXTENT_UNSEEN_RESERVED, &ref);
		return true;
	}

	refs->is_encoded = item->is_encoded;
	refs->ram_bytes = item->ram_bytes;
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

/* Nothing is listed yet of what the kernel found. */
static void begin(ExtentRefs *refs, BtrfsRefsOutcome outcome)
{
	g_array_set_size(refs->list, 0);
	g_hash_table_remove_all(refs->files);
	refs->unseen = outcome == BTRFS_REFS_TOO_MANY ? EXTENT_UNSEEN_MORE : EXTENT_UNSEEN_NONE;
	refs->unseen_place = (ExtentRef){ 0 };
	refs->n_places = outcome == BTRFS_REFS_GONE ? 0 : btrfs_refs_count(refs->found);
}

ExtentRefsOutcome extent_refs_outcome(const ExtentRefs *refs)
{
	if (refs->unseen != EXTENT_UNSEEN_NONE)
		return EXTENT_REFS_PARTIAL;
	return refs->list->len > 0 ? EXTENT_REFS_READ : EXTENT_REFS_GONE;
}

/* List what the kernel found. */
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

bool extent_refs_find(ExtentRefs *refs, const Object *extent, ExtentRefsOutcome *ret,
		      GError **error)
{
	static const ExtentRefsOutcome outcomes[] = {
		[BTRFS_REFS_READ] = EXTENT_REFS_READ,
		[BTRFS_REFS_GONE] = EXTENT_REFS_GONE,
		[BTRFS_REFS_TOO_MANY] = EXTENT_REFS_PARTIAL,
	};
	BtrfsRefsOutcome outcome;

	btrfs_refs_set_most(refs->found, BTRFS_REFS_MAX);
	if (!btrfs_refs_read(refs->found, refs->fd, extent->inode, &outcome, error))
		return false;

	begin(refs, outcome);
	*ret = outcomes[outcome];
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

bool extent_refs_read_byte(ExtentRefs *refs, const Object *extent, uint64_t position, size_t most,
			   ExtentRefsOutcome *ret, GError **error)
{
	BtrfsRefsOutcome outcome;

	btrfs_refs_set_most(refs->found, most);
	return btrfs_refs_read_byte(refs->found, refs->fd, extent->inode, position, &outcome,
				    error) &&
	       list_places(refs, extent, outcome, most, ret, error);
}

const ExtentRef *extent_refs_list(const ExtentRefs *refs, size_t *ret_n)
{
	*ret_n = refs->list->len;
	return (const ExtentRef *)refs->list->data;
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
