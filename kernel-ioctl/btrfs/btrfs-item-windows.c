/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/btrfs/btrfs-item-windows.h"

#define WINDOWS_MAX  256
#define WINDOW_BYTES ((size_t)16 << 10)
#define STALE_USEC   G_USEC_PER_SEC

/*
 * Items of a window that continues no other one: an inode, its names, and its first extents.  A window that
 * continues another one has twice as many, up to what fits: files that are not visited in order would pay for
 * neighbours that nobody needs.
 */
#define ITEMS_MIN 8
#define ITEMS_MAX 128

/* A window continues another one if it begins at most so many inodes behind it. */
#define CONTINUES_INODES 32

/* A window begins with the inode if the extent begins at most this far into the file. */
#define NEAR_BYTES (UINT64_C(1) << 20)

typedef struct {
	BtrfsKey key;
	uint64_t transid;
	guint first; /* index of its first byte in data */
	uint32_t length;
} WindowItem;

typedef struct {
	uint64_t root;
	gint64 read_usec;
	BtrfsKey first, last; /* of the items */
	uint32_t most_items;  /* requested */
	GArray *items;        /* WindowItem, in order */
	GByteArray *data;     /* the payloads of the items */
} Window;

struct BtrfsItemWindows {
	int fd;
	BtrfsTree *tree;
	guint n_windows;
	guint oldest; /* the one to replace next, once there are WINDOWS_MAX */
	Window windows[WINDOWS_MAX];
};

BtrfsItemWindows *btrfs_item_windows_new(int fd)
{
	BtrfsItemWindows *windows = g_new0(BtrfsItemWindows, 1);

	windows->fd = fd;
	windows->tree = btrfs_tree_new(WINDOW_BYTES);
	return windows;
}

void btrfs_item_windows_free(BtrfsItemWindows *windows)
{
	if (!windows)
		return;

	btrfs_tree_free(windows->tree);
	for (guint i = 0; i < WINDOWS_MAX; i++) {
		g_clear_pointer(&windows->windows[i].items, g_array_unref);
		g_clear_pointer(&windows->windows[i].data, g_byte_array_unref);
	}
	g_free(windows);
}

void btrfs_item_windows_clear(BtrfsItemWindows *windows)
{
	windows->n_windows = 0;
	windows->oldest = 0;
}

static const WindowItem *item_at(const Window *window, guint i)
{
	return &g_array_index(window->items, WindowItem, i);
}

static bool window_find(const Window *window, const BtrfsKey *key, BtrfsTreeItem *ret)
{
	guint low = 0, high = window->items->len;

	if (btrfs_key_compare(key, &window->first) < 0 || btrfs_key_compare(key, &window->last) > 0)
		return false;

	while (low < high) {
		guint middle = low + (high - low) / 2;
		const WindowItem *item = item_at(window, middle);
		int order = btrfs_key_compare(&item->key, key);

		if (order == 0) {
			*ret = (BtrfsTreeItem){ item->key, item->transid, item->length,
						window->data->data + item->first };
			return true;
		}
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}

	return false;
}

/* Find the item with @key in any window that is not stale. */
static bool find_known(const BtrfsItemWindows *windows, uint64_t root, const BtrfsKey *key,
		       BtrfsTreeItem *ret)
{
	gint64 since_usec = g_get_monotonic_time() - STALE_USEC;

	for (guint i = 0; i < windows->n_windows; i++) {
		const Window *window = &windows->windows[i];

		if (window->root == root && window->read_usec > since_usec &&
		    window_find(window, key, ret))
			return true;
	}

	return false;
}

/* The number of items for a window that begins with @first. */
static uint32_t items_wanted(const BtrfsItemWindows *windows, uint64_t root, const BtrfsKey *first)
{
	uint32_t most = ITEMS_MIN;

	for (guint i = 0; i < windows->n_windows; i++) {
		const Window *window = &windows->windows[i];

		if (window->root == root && first->objectid >= window->last.objectid &&
		    first->objectid - window->last.objectid <= CONTINUES_INODES)
			most = MAX(most, MIN(window->most_items * 2, ITEMS_MAX));
	}

	return most;
}

/* Add an empty window; it replaces the oldest one once there are WINDOWS_MAX. */
static Window *add_window(BtrfsItemWindows *windows, uint64_t root, const BtrfsKey *first)
{
	uint32_t most_items = items_wanted(windows, root, first);
	Window *window;

	if (windows->n_windows < WINDOWS_MAX) {
		window = &windows->windows[windows->n_windows++];
	} else {
		window = &windows->windows[windows->oldest];
		windows->oldest = (windows->oldest + 1) % WINDOWS_MAX;
	}

	if (!window->items) {
		window->items = g_array_new(false, false, sizeof(WindowItem));
		window->data = g_byte_array_new();
	}
	window->root = root;
	window->read_usec = g_get_monotonic_time();
	window->first = window->last = *first;
	window->most_items = most_items;
	g_array_set_size(window->items, 0);
	g_byte_array_set_size(window->data, 0);
	return window;
}

static void add_item(Window *window, const BtrfsTreeItem *item)
{
	WindowItem added = { item->key, item->transid, window->data->len, item->length };

	g_byte_array_append(window->data, item->data, item->length);
	g_array_append_val(window->items, added);
	window->last = item->key;
}

/* Fill the window with one answer of the kernel. */
static bool fill(BtrfsItemWindows *windows, Window *window, GError **error)
{
	const BtrfsTreeRange range = {
		.tree = window->root,
		.first = window->first,
		.last = { UINT64_MAX, UINT8_MAX, UINT64_MAX },
	};
	const BtrfsTreeItem *item;

	btrfs_tree_set_most_items(windows->tree, window->most_items);
	btrfs_tree_start(windows->tree, windows->fd, &range);
	do {
		if (!btrfs_tree_next(windows->tree, &item, error))
			return false;
		if (item)
			add_item(window, item);
	} while (item && window->data->len < WINDOW_BYTES && btrfs_tree_is_at_hand(windows->tree));

	return true;
}

bool btrfs_item_windows_find(BtrfsItemWindows *windows, uint64_t root, const BtrfsKey *key,
			     BtrfsTreeItem *ret, bool *ret_found, GError **error)
{
	BtrfsKey first = *key;
	Window *window;

	*ret_found = find_known(windows, root, key, ret);
	if (*ret_found)
		return true;

	if (key->type == BTRFS_EXTENT_DATA_KEY && key->offset < NEAR_BYTES)
		first = (BtrfsKey){ key->objectid, BTRFS_INODE_ITEM_KEY, 0 };
	window = add_window(windows, root, &first);
	if (!fill(windows, window, error))
		return false;

	*ret_found = window_find(window, key, ret);
	return true;
}
