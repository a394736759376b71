/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/content/extent-sums.h"

#include "hashstore/objects/read-sums.h"
#include "kernel-ioctl/btrfs/btrfs-items.h"
#include "kernel-ioctl/btrfs/btrfs-tree.h"

#include <linux/btrfs_tree.h>
#include <string.h>
#include <xxhash.h>

/* Up to this distance reading on is cheaper than a new search: 64 MiB have 64 KiB of CRC-32C. */
#define READ_ON_BYTES (UINT64_C(64) << 20)

/*
 * A search returns only the sums that are wanted, since sources are scattered.  One that continues the search before
 * it goes twice as far ahead, up to this distance.
 */
#define AHEAD_BYTES_MAX (UINT64_C(1) << 30)

/*
 * The cache holds windows of sums.  The extents of one file are scattered, and a search reads all items of a
 * leaf before the one it needs.  64 MiB of data have 128 KiB of sums.
 */
#define WINDOW_BLOCKS 2048
#define WINDOWS_MAX   128

typedef struct {
	uint64_t address;
	GList *link; /* in the list of windows */
	uint64_t sums[WINDOW_BLOCKS];
} Window;

struct ExtentSums {
	int fd;
	BtrfsInfo info;
	uint8_t secret[HASH_STORE_SECRET_BYTES];
	uint64_t zeros;
	uint64_t read_zeros; /* see BlockSums */
	HashStore *store;    /* or NULL */
	GHashTable *windows; /* Window by address; the table owns the windows */
	GQueue used;         /* Window, most recently used first */
	BtrfsTree *tree;
	uint64_t low;  /* no item before the current one reaches this address */
	uint64_t high; /* the search ends here, this far ahead of what was wanted: */
	uint64_t ahead_bytes;
	/* The current item; n_sums is 0 before the first one and at the end. */
	uint64_t start; /* address of its first block */
	BtrfsCsumItem item;
	bool is_started;
	bool is_at_end;
};

static uint64_t sum_of(const ExtentSums *sums, const uint8_t *checksum)
{
	uint64_t sum = XXH3_64bits_withSecret(checksum, sums->info.sum_bytes, sums->secret,
					      HASH_STORE_SECRET_BYTES);

	return sum == EXTENT_SUM_NONE ? 1 : sum;
}

ExtentSums *extent_sums_new(int fd, const BtrfsInfo *info, const uint8_t *secret)
{
	ExtentSums *sums = g_new0(ExtentSums, 1);
	uint8_t zeros[BTRFS_SUM_BYTES_MAX];
	g_autofree uint8_t *block = NULL;

	sums->fd = fd;
	sums->info = *info;
	memcpy(sums->secret, secret, sizeof(sums->secret));
	sums->tree = btrfs_tree_new(BTRFS_TREE_BUFFER_BYTES);
	sums->windows = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
	g_queue_init(&sums->used);
	block = g_malloc0(info->sector_bytes);
	sums->read_zeros = XXH3_64bits_withSecret(block, info->sector_bytes, sums->secret,
						  HASH_STORE_SECRET_BYTES);
	if (btrfs_checksum_of_zeros(info->checksum, info->sector_bytes, zeros))
		sums->zeros = sum_of(sums, zeros);
	return sums;
}

void extent_sums_use_store(ExtentSums *sums, HashStore *store)
{
	sums->store = store;
}

void extent_sums_free(ExtentSums *sums)
{
	if (!sums)
		return;

	extent_sums_forget(sums);
	g_hash_table_unref(sums->windows);
	btrfs_tree_free(sums->tree);
	g_free(sums);
}

uint32_t extent_sums_bytes(const ExtentSums *sums)
{
	return sums->info.sum_bytes;
}

void extent_sums_forget(ExtentSums *sums)
{
	g_queue_clear(&sums->used);
	g_hash_table_remove_all(sums->windows);
	sums->is_started = false;
}

uint64_t extent_sums_of_zeros(const ExtentSums *sums)
{
	return sums->zeros;
}

bool extent_sums_are_read_zeros(const ExtentSums *sums, uint64_t sum)
{
	return sum == sums->read_zeros || sum == ~sums->read_zeros;
}

uint64_t extent_sums_of_data(const ExtentSums *sums, const uint8_t *block)
{
	uint8_t checksum[BTRFS_SUM_BYTES_MAX];

	if (!btrfs_checksum_compute(sums->info.checksum, block, sums->info.sector_bytes, checksum))
		return EXTENT_SUM_NONE;
	return sum_of(sums, checksum);
}

static uint64_t item_end(const ExtentSums *sums)
{
	return sums->start + (uint64_t)sums->item.n_sums * sums->info.sector_bytes;
}

/* The search that follows goes further ahead if it continues the present one. */
static void choose_ahead(ExtentSums *sums, uint64_t bytenr)
{
	bool continues = sums->is_started && bytenr >= sums->low &&
			 bytenr - sums->low <= sums->ahead_bytes + READ_ON_BYTES;
	uint64_t window_bytes = (uint64_t)WINDOW_BLOCKS * sums->info.sector_bytes;

	sums->ahead_bytes =
		continues ? CLAMP(2 * sums->ahead_bytes, window_bytes, AHEAD_BYTES_MAX) : 0;
}

/*
 * Search for the sums of [@bytenr, @end).  An item with the first of them begins at most a leaf of sums before it.
 */
static void search(ExtentSums *sums, uint64_t bytenr, uint64_t end)
{
	uint64_t leaf_span =
		(uint64_t)sums->info.node_bytes / sums->info.sum_bytes * sums->info.sector_bytes;
	BtrfsTreeRange range;

	choose_ahead(sums, bytenr);
	sums->high = end + MIN(sums->ahead_bytes, UINT64_MAX - end);
	range = (BtrfsTreeRange){
		.tree = BTRFS_CSUM_TREE_OBJECTID,
		.first = { BTRFS_EXTENT_CSUM_OBJECTID, BTRFS_EXTENT_CSUM_KEY,
			   bytenr - MIN(bytenr, leaf_span) },
		.last = { BTRFS_EXTENT_CSUM_OBJECTID, BTRFS_EXTENT_CSUM_KEY, sums->high - 1 },
	};

	btrfs_tree_start(sums->tree, sums->fd, &range);
	/* Items that begin before the range may reach into it. */
	sums->low = bytenr;
	sums->start = bytenr;
	sums->item.n_sums = 0;
	sums->is_started = true;
	sums->is_at_end = false;
}

static bool next_item(ExtentSums *sums, GError **error)
{
	const BtrfsTreeItem *found;

	if (!btrfs_tree_next(sums->tree, &found, error)) {
		sums->is_started = false;
		return false;
	}
	sums->low = MAX(sums->low, item_end(sums));
	if (!found) {
		/* The last item is gone with the tree's buffer. */
		sums->start = sums->low;
		sums->item.n_sums = 0;
		sums->is_at_end = true;
		return true;
	}

	sums->start = found->key.offset;
	if (btrfs_csum_item_read(found->data, found->length, sums->info.sum_bytes, &sums->item))
		return true;

	sums->is_started = false;
	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
		    "the checksum item at %" G_GUINT64_FORMAT " is not valid", found->key.offset);
	return false;
}

/* The current item and those behind it, which begin not far away, have the sums of [@bytenr, @end). */
static bool can_read_on(const ExtentSums *sums, uint64_t bytenr, uint64_t end)
{
	return sums->is_started && bytenr >= sums->low && end <= sums->high &&
	       (sums->is_at_end || bytenr <= item_end(sums) + READ_ON_BYTES);
}

/* Copy the sums of the current item that lie in the range. */
static void take_sums(const ExtentSums *sums, uint64_t bytenr, size_t n_blocks, uint64_t *ret)
{
	uint32_t sector_bytes = sums->info.sector_bytes;
	uint64_t end = MIN(bytenr + n_blocks * sector_bytes, item_end(sums));

	for (uint64_t at = MAX(bytenr, sums->start); at < end; at += sector_bytes)
		ret[(at - bytenr) / sector_bytes] =
			sum_of(sums, sums->item.sums + (at - sums->start) / sector_bytes *
							       sums->info.sum_bytes);
}

/* Read the sums of the @n_blocks blocks at the address @bytenr from the tree. */
static bool read_range(ExtentSums *sums, uint64_t bytenr, size_t n_blocks, uint64_t *ret,
		       GError **error)
{
	uint64_t end = bytenr + n_blocks * sums->info.sector_bytes;

	memset(ret, 0, n_blocks * sizeof(*ret));
	if (!can_read_on(sums, bytenr, end))
		search(sums, bytenr, end);

	for (;;) {
		if (sums->item.n_sums > 0)
			take_sums(sums, bytenr, n_blocks, ret);
		if (sums->is_at_end || sums->start >= end ||
		    (sums->item.n_sums > 0 && item_end(sums) >= end))
			return true;
		if (!next_item(sums, error))
			return false;
	}
}

/*
 * Copy the sums of one extent from reading, which begins at @start, to those blocks of @ret that have none.
 */
static void take_read_sums(const ExtentSums *sums, uint64_t start, GBytes *read, uint64_t bytenr,
			   size_t n_blocks, uint64_t *ret)
{
	uint32_t sector_bytes = sums->info.sector_bytes;
	gsize bytes;
	const uint64_t *from = g_bytes_get_data(read, &bytes);
	uint64_t n_read = bytes / sizeof(*from);

	for (size_t i = 0; i < n_blocks; i++) {
		uint64_t at = bytenr + i * sector_bytes;
		uint64_t block = (at - start) / sector_bytes;

		if (ret[i] == EXTENT_SUM_NONE && at >= start && block < n_read)
			ret[i] = from[block];
	}
}

/* Add sums from reading to blocks without a checksum, extent by extent, from the last one back. */
static bool read_rest(const ExtentSums *sums, uint64_t bytenr, size_t n_blocks, uint64_t *ret,
		      GError **error)
{
	uint64_t from = bytenr + n_blocks * sums->info.sector_bytes;
	size_t n_known = 0;

	while (n_known < n_blocks && ret[n_known] != EXTENT_SUM_NONE)
		n_known++;
	if (!sums->store || n_known == n_blocks)
		return true;

	while (from > bytenr) {
		g_autoptr(GBytes) read = NULL;

		if (!hash_store_get_read_sums(sums->store, from - 1, &from, &read, error))
			return false;
		if (!read)
			break;
		take_read_sums(sums, from, read, bytenr, n_blocks, ret);
	}

	return true;
}

static void use(ExtentSums *sums, Window *window)
{
	g_queue_unlink(&sums->used, window->link);
	g_queue_push_head_link(&sums->used, window->link);
}

/* The window that begins at @address, from the cache or the tree; valid until the next call. */
static const Window *find_window(ExtentSums *sums, uint64_t address, GError **error)
{
	g_autofree Window *made = NULL;
	Window *window = g_hash_table_lookup(sums->windows, &address);

	if (window) {
		use(sums, window);
		return window;
	}

	made = g_new(Window, 1);
	made->address = address;
	if (!read_range(sums, address, WINDOW_BLOCKS, made->sums, error) ||
	    !read_rest(sums, address, WINDOW_BLOCKS, made->sums, error))
		return NULL;

	if (g_queue_get_length(&sums->used) >= WINDOWS_MAX) {
		Window *last = g_queue_pop_tail(&sums->used);

		g_hash_table_remove(sums->windows, &last->address);
	}
	window = g_steal_pointer(&made);
	g_queue_push_head(&sums->used, window);
	window->link = sums->used.head;
	g_hash_table_insert(sums->windows, &window->address, window);
	return window;
}

bool extent_sums_read(ExtentSums *sums, uint64_t bytenr, size_t n_blocks, uint64_t *ret,
		      GError **error)
{
	uint32_t sector_bytes = sums->info.sector_bytes;
	uint64_t block = bytenr / sector_bytes;
	size_t n;

	for (size_t done = 0; done < n_blocks; done += n) {
		size_t first = (block + done) % WINDOW_BLOCKS;
		const Window *window =
			find_window(sums, (block + done - first) * sector_bytes, error);

		if (!window)
			return false;
		n = MIN(n_blocks - done, WINDOW_BLOCKS - first);
		memcpy(ret + done, window->sums + first, n * sizeof(*ret));
	}

	return true;
}
