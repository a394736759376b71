/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/extent-refs.h"

#include "kernel-ioctl/btrfs-file-extent.h"
#include "kernel-ioctl/btrfs-inode.h"
#include "kernel-ioctl/btrfs-refs.h"

struct ExtentRefs {
	int fd;
	BtrfsRefs *found;
	BtrfsFileExtents *extents;
	GArray *list; /* ExtentRef */
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
	return refs;
}

void extent_refs_free(ExtentRefs *refs)
{
	if (!refs)
		return;

	btrfs_refs_free(refs->found);
	btrfs_file_extents_free(refs->extents);
	g_array_unref(refs->list);
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

/* Size and generation of the file; the same file often comes several times in a row. */
static bool read_inode(const ExtentRefs *refs, ExtentRef *ref, bool *ret_found, GError **error)
{
	BtrfsInodeItem inode;

	if (refs->list->len > 0) {
		const ExtentRef *last = &g_array_index(refs->list, ExtentRef, refs->list->len - 1);

		if (last->root == ref->root && last->inode == ref->inode) {
			ref->size_bytes = last->size_bytes;
			ref->owner = last->owner;
			ref->generation = last->generation;
			ref->is_deleted = last->is_deleted;
			*ret_found = true;
			return true;
		}
	}

	if (!btrfs_inode_read(refs->fd, ref->root, ref->inode, &inode, ret_found, error))
		return false;
	if (*ret_found) {
		ref->size_bytes = inode.size_bytes;
		ref->owner = inode.uid;
		ref->generation = (uint32_t)inode.generation;
		ref->is_deleted = inode.nlink == 0;
	}
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
static bool add(ExtentRefs *refs, const BtrfsRef *found, const Object *extent, GError **error)
{
	g_autoptr(GError) unread = NULL;
	const BtrfsFileExtent *item;
	ExtentRef ref = { .root = found->root, .inode = found->inode, .offset = found->offset };
	bool is_there;

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
	if (is_there)
		g_array_append_val(refs->list, ref);
	else
		note_unseen(refs, EXTENT_UNSEEN_DELETED, &ref);
	return true;
}

/* List what the kernel found. */
static bool list_places(ExtentRefs *refs, const Object *extent, BtrfsRefsOutcome outcome,
			size_t most, ExtentRefsOutcome *ret, GError **error)
{
	const BtrfsRef *found;
	size_t n;

	g_array_set_size(refs->list, 0);
	refs->unseen = EXTENT_UNSEEN_NONE;
	refs->n_places = 0;
	*ret = EXTENT_REFS_GONE;
	if (outcome == BTRFS_REFS_GONE)
		return true;

	found = btrfs_refs_list(refs->found, &n);
	refs->n_places = btrfs_refs_count(refs->found);
	if (outcome == BTRFS_REFS_TOO_MANY || n > most)
		refs->unseen = EXTENT_UNSEEN_MORE;
	for (size_t i = 0; i < MIN(n, most); i++)
		if (!add(refs, &found[i], extent, error))
			return false;

	if (refs->unseen != EXTENT_UNSEEN_NONE)
		*ret = EXTENT_REFS_PARTIAL;
	else if (refs->list->len > 0)
		*ret = EXTENT_REFS_READ;
	return true;
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
