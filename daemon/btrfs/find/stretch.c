/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/find/stretch.h"

#include "daemon/context/compare-uint64.h"

Object stretch_object(const Stretch *stretch)
{
	const StretchPart *first = &stretch->parts[0];
	const StretchPart *last = &stretch->parts[stretch->n_parts - 1];

	return (Object){
		.id = stretch->key,
		.subvolume = OBJECT_STRETCHES,
		.inode = stretch->key,
		.parent = stretch->inode,
		.ctime_nsec = (int64_t)stretch->root,
		.mtime_nsec = (int64_t)first->offset,
		.size_bytes = last->offset + last->length - first->offset,
		.generation = stretch->rank_bytes,
		.flags = stretch->is_shared ? OBJECT_SHARED : 0,
		.state = OBJECT_DONE,
	};
}

StretchPlace stretch_place(const Object *stretch)
{
	return (StretchPlace){
		.root = (uint64_t)stretch->ctime_nsec,
		.inode = stretch->parent,
		.offset = (uint64_t)stretch->mtime_nsec,
		.length = stretch->size_bytes,
	};
}

/* The end of @length bytes from @offset on; at most UINT64_MAX. */
static uint64_t end_of(uint64_t offset, uint64_t length)
{
	return length > UINT64_MAX - offset ? UINT64_MAX : offset + length;
}

/*
 * Add the part of @item that lies in @place, after the parts so far.  Items overlap if the file was written between
 * two reads of its tree, or if the tree is damaged.
 */
static void add_part(GArray *parts, const BtrfsFileExtent *item, const StretchPlace *place)
{
	const StretchPart *last =
		parts->len > 0 ? &g_array_index(parts, StretchPart, parts->len - 1) : NULL;
	uint64_t from = last ? last->offset + last->length : place->offset;
	uint64_t first = MAX(item->logical, from);
	uint64_t end =
		MIN(end_of(item->logical, item->length), end_of(place->offset, place->length));
	StretchPart part = {
		.offset = first,
		.length = end - first,
		.bytenr = item->bytenr,
		.disk_bytes = item->disk_bytes,
		.position = item->offset + (first - item->logical),
	};

	if (first < end)
		g_array_append_val(parts, part);
}

bool stretch_read_parts(BtrfsFileExtents *extents, int fd, const StretchPlace *place, GArray *ret,
			GError **error)
{
	g_array_set_size(ret, 0);
	btrfs_file_extents_start(extents, fd, place->root, place->inode, place->offset,
				 place->length);
	for (;;) {
		const BtrfsFileExtent *item;

		if (!btrfs_file_extents_next_if_any(extents, &item, error))
			return false;
		if (!item)
			return true;
		if (item->kind == BTRFS_FILE_EXTENT_IS_REGULAR && item->bytenr != 0 &&
		    !item->is_encoded)
			add_part(ret, item, place);
	}
}

static int compare_addresses(const void *a, const void *b)
{
	const StretchPart *one = *(const StretchPart *const *)a;
	const StretchPart *other = *(const StretchPart *const *)b;

	return compare_uint64(one->bytenr + one->position, other->bytenr + other->position);
}

bool stretch_read_sums(ExtentSums *sums, uint64_t start, const StretchPart *parts, size_t n_parts,
		       uint32_t block_bytes, GArray *ret, GError **error)
{
	g_autofree const StretchPart **sorted = g_new(const StretchPart *, n_parts);
	const StretchPart *last = n_parts > 0 ? &parts[n_parts - 1] : NULL;
	uint64_t bytes = last ? last->offset + last->length - start : 0;

	/* In the order of addresses: the checksum tree is read forwards. */
	for (size_t i = 0; i < n_parts; i++)
		sorted[i] = &parts[i];
	if (n_parts > 0)
		qsort(sorted, n_parts, sizeof(*sorted), compare_addresses);

	g_array_set_size(ret, 0);
	g_array_set_size(ret, (guint)(bytes / block_bytes));
	for (size_t i = 0; i < n_parts; i++) {
		uint64_t block = (sorted[i]->offset - start) / block_bytes;
		uint64_t n = sorted[i]->length / block_bytes;

		if (n > 0 && !extent_sums_read(sums, sorted[i]->bytenr + sorted[i]->position, n,
					       &g_array_index(ret, uint64_t, block), error))
			return false;
	}

	return true;
}

bool stretch_part_is_small(const StretchPart *part, uint32_t block_bytes)
{
	return part->disk_bytes < (uint64_t)STRETCH_EXTENT_BLOCKS * block_bytes;
}

size_t stretch_count_joined(const StretchPart *parts, size_t n_parts, uint32_t block_bytes)
{
	size_t n = 0;

	while (n < n_parts && stretch_part_is_small(&parts[n], block_bytes) &&
	       (n == 0 || parts[n].offset == parts[n - 1].offset + parts[n - 1].length))
		n++;

	return n;
}
