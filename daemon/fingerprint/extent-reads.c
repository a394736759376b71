/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/fingerprint/extent-reads.h"

#include "hashstore/objects/objects.h"
#include "hashstore/objects/read-sums.h"
#include "kernel-ioctl/btrfs/btrfs-file-extent.h"

#include <string.h>

#define MEMORY_SHARE 8

typedef struct {
	uint64_t bytenr;
	uint64_t sum;
} ReadBlock;

struct ExtentReads {
	Pass *pass;
	GArray *blocks; /* ReadBlock */
	guint most;
	/* The present extent. */
	GArray *sums; /* uint64_t, of all its blocks */
	uint64_t bytenr;
	bool is_changed;
};

ExtentReads *extent_reads_new(Pass *pass)
{
	ExtentReads *reads = g_new0(ExtentReads, 1);

	reads->pass = pass;
	reads->blocks = g_array_new(false, false, sizeof(ReadBlock));
	reads->most = (guint)CLAMP(pass->settings->memory_bytes / MEMORY_SHARE / sizeof(ReadBlock),
				   1, G_MAXINT32);
	reads->sums = g_array_new(false, true, sizeof(uint64_t));
	return reads;
}

void extent_reads_free(ExtentReads *reads)
{
	if (!reads)
		return;

	g_array_unref(reads->blocks);
	g_array_unref(reads->sums);
	g_free(reads);
}

/* The sum of a block as extents have it: it depends on the class of the file. */
static uint64_t of_class(uint64_t sum, bool is_no_cow)
{
	if (is_no_cow)
		sum = ~sum;
	return sum != EXTENT_SUM_NONE ? sum : 1;
}

bool extent_reads_add(ExtentReads *reads, uint64_t bytenr, const uint64_t *sums, size_t n_blocks,
		      bool is_no_cow, GError **error)
{
	for (size_t i = 0; i < n_blocks; i++) {
		ReadBlock block = { bytenr + i * reads->pass->block_bytes,
				    of_class(sums[i], is_no_cow) };

		g_array_append_val(reads->blocks, block);
	}

	return reads->blocks->len < reads->most || extent_reads_flush(reads, error);
}

static int compare_blocks(const void *a, const void *b)
{
	const ReadBlock *one = a;
	const ReadBlock *other = b;

	if (one->bytenr != other->bytenr)
		return one->bytenr < other->bytenr ? -1 : 1;
	return (one->sum > other->sum) - (one->sum < other->sum);
}

/* Begin with the extent at the address @bytenr.  It has no sums if the store knows no extent there. */
static bool begin_extent(ExtentReads *reads, uint64_t bytenr, GError **error)
{
	HashStore *store = reads->pass->store;
	g_autoptr(GBytes) known = NULL;
	const Object *extent;
	uint64_t address;
	gsize bytes;
	const void *sums;

	g_array_set_size(reads->sums, 0);
	reads->is_changed = false;
	if (!hash_store_find_before(store, OBJECT_EXTENTS, bytenr, &extent, error))
		return false;
	if (!extent || bytenr - extent->inode >= extent->size_bytes)
		return true;

	reads->bytenr = extent->inode;
	g_array_set_size(reads->sums, (guint)(extent->size_bytes / reads->pass->block_bytes));
	if (!hash_store_get_read_sums(store, reads->bytenr, &address, &known, error))
		return false;
	if (!known || address != reads->bytenr)
		return true;

	sums = g_bytes_get_data(known, &bytes);
	memcpy(reads->sums->data, sums, MIN(bytes, reads->sums->len * sizeof(uint64_t)));
	return true;
}

static bool end_extent(const ExtentReads *reads, GError **error)
{
	return !reads->is_changed ||
	       hash_store_put_read_sums(reads->pass->store, reads->bytenr,
					(const uint64_t *)(const void *)reads->sums->data,
					reads->sums->len, error);
}

/* Whether the present extent has the block; *ret is its number there. */
static bool is_in_hand(const ExtentReads *reads, uint64_t bytenr, guint *ret)
{
	uint64_t block = (bytenr - reads->bytenr) / reads->pass->block_bytes;

	*ret = (guint)block;
	return bytenr >= reads->bytenr && block < reads->sums->len;
}

bool extent_reads_flush(ExtentReads *reads, GError **error)
{
	guint at;

	g_array_sort(reads->blocks, compare_blocks);
	g_array_set_size(reads->sums, 0);
	reads->is_changed = false;
	for (guint i = 0; i < reads->blocks->len; i++) {
		const ReadBlock *block = &g_array_index(reads->blocks, ReadBlock, i);
		uint64_t *sum;

		if (!is_in_hand(reads, block->bytenr, &at) &&
		    (!end_extent(reads, error) || !begin_extent(reads, block->bytenr, error)))
			return false;
		if (!is_in_hand(reads, block->bytenr, &at))
			continue;
		sum = &g_array_index(reads->sums, uint64_t, at);
		reads->is_changed |= *sum != block->sum;
		*sum = block->sum;
	}

	g_array_set_size(reads->blocks, 0);
	return end_extent(reads, error);
}

static bool forget_extent(Pass *pass, uint64_t bytenr, GError **error)
{
	g_autoptr(GBytes) known = NULL;
	uint64_t address;

	return hash_store_get_read_sums(pass->store, bytenr, &address, &known, error) &&
	       (!known || address != bytenr || g_bytes_get_size(known) == 0 ||
		hash_store_put_read_sums(pass->store, bytenr, NULL, 0, error));
}

bool extent_reads_forget_file(Pass *pass, uint64_t root, uint64_t inode, uint64_t size_bytes,
			      GError **error)
{
	g_autoptr(BtrfsFileExtents) extents = btrfs_file_extents_new();
	const BtrfsFileExtent *item;

	btrfs_file_extents_start(extents, pass->filesystem->fd, root, inode, 0, size_bytes);
	do {
		/* The subvolume may be deleted by now. */
		if (!btrfs_file_extents_next_if_any(extents, &item, error))
			return false;
		if (item && item->bytenr != 0 && !forget_extent(pass, item->bytenr, error))
			return false;
	} while (item && pass_checkpoint(pass));

	return true;
}
