/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/btrfs/btrfs-item-windows.h"

#define WINDOWS_MAX  256
#define WINDOW_BYTES ((size_t)16 << 10)
#define STALE_USEC   G_USEC_PER_SEC

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
	GArray *items;    /* WindowItem, in order */
	GByteArray *data; /* the payloads of the items */
} Window;

struct BtrfsItemWindows {
	int fd;
	BtrfsTree *tree;
	GPtrArray *windows; /* Window */
	guint oldest;       /* the one to replace next, once there are WINDOWS_MAX */
};

static void window_free(void *data)
{
	Window *window = data;

	g_array_unref(window->items);
	g_byte_array_unref(window->data);
	g_free(window);
}

BtrfsItemWindows *btrfs_item_windows_new(int fd)
{
	BtrfsItemWindows *windows = g_new0(BtrfsItemWindows, 1);

	windows->fd = fd;
	windows->tree = btrfs_tree_new(WINDOW_BYTES);
	windows->windows = g_ptr_array_new_with_free_func(window_free);
	return windows;
}

void btrfs_item_windows_free(BtrfsItemWindows *windows)
{
	if (!windows)
		return;

	btrfs_tree_free(windows->tree);
	g_ptr_array_unref(windows->windows);
	g_free(windows);
}

void btrfs_item_windows_clear(BtrfsItemWindows *windows)
{
	g_ptr_array_set_size(windows->windows, 0);
	windows->oldest = 0;
}

static const WindowItem *item_at(const Window *window, guint i)
{
	return &g_array_index(window->items, WindowItem, i);
}

static bool window_find(const Window *window, const BtrfsKey *key, BtrfsTreeItem *ret)
{
	guint low = 0, high = window->items->len;

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

	for (guint i = 0; i < windows->windows->len; i++) {
		const Window *window = g_ptr_array_index(windows->windows, i);

		if (window->root == root && window->read_usec > since_usec &&
		    window_find(window, key, ret))
			return true;
	}

	return false;
}

/* Add an empty window; it replaces the oldest one once there are WINDOWS_MAX. */
static Window *add_window(BtrfsItemWindows *windows, uint64_t root)
{
	Window *window;

	if (windows->windows->len < WINDOWS_MAX) {
		window = g_new0(Window, 1);
		window->items = g_array_new(false, false, sizeof(WindowItem));
		window->data = g_byte_array_new();
		g_ptr_array_add(windows->windows, window);
	} else {
		window = g_ptr_array_index(windows->windows, windows->oldest);
		windows->oldest = (windows->oldest + 1) % WINDOWS_MAX;
	}

	window->root = root;
	window->read_usec = g_get_monotonic_time();
	g_array_set_size(window->items, 0);
	g_byte_array_set_size(window->data, 0);
	return window;
}

static void add_item(Window *window, const BtrfsTreeItem *item)
{
	WindowItem added = { item->key, item->transid, window->data->len, item->length };

	g_byte_array_append(window->data, item->data, item->length);
	g_array_append_val(window->items, added);
}

/* Fill the window with one answer of the kernel, from @first on. */
static bool fill(BtrfsItemWindows *windows, Window *window, const BtrfsKey *first, GError **error)
{
	const BtrfsTreeRange range = {
		.tree = window->root,
		.first = *first,
		.last = { UINT64_MAX, UINT8_MAX, UINT64_MAX },
	};
	const BtrfsTreeItem *item;

	btrfs_tree_start(windows->tree, windows->fd, &range);
	do {
		if (!btrfs_tree_next(windows->tree, &item, error))
			return false;
		if (item)
			add_item(window, item);
	} while (item && btrfs_tree_is_at_hand(windows->tree));

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
	window = add_window(windows, root);
	if (!fill(windows, window, &first, error))
		return false;

	*ret_found = window_find(window, key, ret);
	return true;
}
