/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/share/freed-extents.h"

#include "common/files/extent-refs.h"
#include "daemon/context/compare-uint64.h"
#include "kernel-ioctl/btrfs/btrfs-file-extent.h"

typedef struct {
	uint64_t bytenr;
	uint64_t bytes; /* on the disk */
} ShownExtent;

struct FreedExtents {
	const Pass *pass;
	uint64_t subvolume;
	uint64_t inode;
	uint64_t size_bytes;
	BtrfsFileExtents *items;
	ExtentRefs *refs;
	GArray *shown;    /* ShownExtent, before; by address, each once */
	GHashTable *left; /* for estimates: references gone, by the address of the extent */
};

FreedExtents *freed_extents_new(const Pass *pass)
{
	FreedExtents *extents = g_new0(FreedExtents, 1);

	extents->pass = pass;
	extents->items = btrfs_file_extents_new();
	extents->refs = extent_refs_new(pass->filesystem->fd, pass->btrfs.ref_bound);
	extents->shown = g_array_new(false, false, sizeof(ShownExtent));
	extents->left = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	return extents;
}

void freed_extents_free(FreedExtents *extents)
{
	if (!extents)
		return;

	btrfs_file_extents_free(extents->items);
	extent_refs_free(extents->refs);
	g_array_unref(extents->shown);
	g_hash_table_unref(extents->left);
	g_free(extents);
}

static int compare_addresses(const void *a, const void *b)
{
	return compare_uint64(((const ShownExtent *)a)->bytenr, ((const ShownExtent *)b)->bytenr);
}

/* Sort, and drop duplicates. */
static void make_unique(GArray *shown)
{
	guint n = 0;

	g_array_sort(shown, compare_addresses);
	for (guint i = 0; i < shown->len; i++) {
		const ShownExtent *next = &g_array_index(shown, ShownExtent, i);

		if (n == 0 || g_array_index(shown, ShownExtent, n - 1).bytenr != next->bytenr)
			g_array_index(shown, ShownExtent, n++) = *next;
	}
	g_array_set_size(shown, n);
}

/* List the extents that the file references; unreadable ones are left out. */
static void list_shown(FreedExtents *extents, GArray *ret)
{
	g_autoptr(GError) unread = NULL;
	const BtrfsFileExtent *item;

	g_array_set_size(ret, 0);
	btrfs_file_extents_start(extents->items, extents->pass->filesystem->fd, extents->subvolume,
				 extents->inode, 0, extents->size_bytes);
	while (pass_pay(extents->pass) && btrfs_file_extents_next(extents->items, &item, &unread) &&
	       item) {
		ShownExtent shown = { item->bytenr, item->disk_bytes };

		/* Parts of one extent mostly come one after another. */
		if (shown.bytenr != 0 &&
		    (ret->len == 0 ||
		     g_array_index(ret, ShownExtent, ret->len - 1).bytenr != shown.bytenr))
			g_array_append_val(ret, shown);
	}
	make_unique(ret);
}

void freed_extents_begin(FreedExtents *extents, const OpenObject *file)
{
	extents->subvolume = file->subvolume;
	extents->inode = file->inode;
	extents->size_bytes = file->size_bytes;
	list_shown(extents, extents->shown);
}

static bool is_gone(FreedExtents *extents, const ShownExtent *shown)
{
	g_autoptr(GError) unread = NULL;
	Object extent = { .inode = shown->bytenr, .size_bytes = shown->bytes };
	ExtentRefsOutcome outcome;

	return extent_refs_read(extents->refs, &extent, 1, &outcome, &unread) &&
	       outcome == EXTENT_REFS_GONE;
}

uint64_t freed_extents_end(FreedExtents *extents)
{
	g_autoptr(GArray) now = g_array_new(false, false, sizeof(ShownExtent));
	uint64_t bytes = 0;

	if (extents->shown->len > 0)
		list_shown(extents, now);
	for (guint i = 0; i < extents->shown->len && pass_pay(extents->pass); i++) {
		const ShownExtent *shown = &g_array_index(extents->shown, ShownExtent, i);

		/* Finding all references to an extent costs much more than a look at one file. */
		if (!g_array_binary_search(now, shown, compare_addresses, NULL) &&
		    is_gone(extents, shown))
			bytes += shown->bytes;
	}
	g_array_set_size(extents->shown, 0);
	return bytes;
}

/* Whether all that @item references would be shared away. */
static bool is_left(const BtrfsFileExtent *item, const OpenObject *file, const BlockSet *shared,
		    uint32_t block_bytes)
{
	uint64_t end = MIN(item->logical + item->length, file->size_bytes);
	uint64_t gap_first, gap_end;

	return item->bytenr != 0 && item->logical < end &&
	       !block_set_gap(shared, item->logical / block_bytes,
			      (end + block_bytes - 1) / block_bytes, &gap_first, &gap_end);
}

/* Count a reference to the extent as gone; returns whether it was the last. */
static bool leave(FreedExtents *extents, const BtrfsFileExtent *item)
{
	Object extent = { .inode = item->bytenr, .size_bytes = item->disk_bytes };
	gpointer known = g_hash_table_lookup(extents->left, &item->bytenr);
	size_t n_left = GPOINTER_TO_SIZE(known) + 1;
	g_autoptr(GError) unread = NULL;
	ExtentRefsOutcome outcome;
	size_t n_places;

	if (extent_refs_read(extents->refs, &extent, n_left + 1, &outcome, &unread) &&
	    outcome == EXTENT_REFS_READ) {
		extent_refs_list(extents->refs, &n_places);
		if (n_places <= n_left) {
			g_hash_table_remove(extents->left, &item->bytenr);
			return true;
		}
	}
	g_hash_table_insert(extents->left, g_memdup2(&item->bytenr, sizeof(item->bytenr)),
			    GSIZE_TO_POINTER(n_left));
	return false;
}

uint64_t freed_extents_estimate(FreedExtents *extents, const OpenObject *file,
				const BlockSet *shared)
{
	g_autoptr(GError) unread = NULL;
	const BtrfsFileExtent *item;
	uint64_t bytes = 0;

	btrfs_file_extents_start(extents->items, extents->pass->filesystem->fd, file->subvolume,
				 file->inode, 0, file->size_bytes);
	while (pass_pay(extents->pass) && btrfs_file_extents_next(extents->items, &item, &unread) &&
	       item)
		if (is_left(item, file, shared, extents->pass->block_bytes) && leave(extents, item))
			bytes += item->disk_bytes;
	return bytes;
}
