/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/btrfs/btrfs-tree.h"

#include "kernel-ioctl/call/system-call.h"

#include <linux/btrfs.h>
#include <string.h>

/* The limit of the kernel. */
#define BUFFER_BYTES_MAX ((size_t)16 << 20)

/* An item lies in one node, which is at most this long. */
#define ITEM_BYTES_MAX ((size_t)64 << 10)

struct BtrfsTree {
	/* The search. */
	int fd;
	BtrfsTreeRange range;
	BtrfsKey position; /* all items before it were returned */
	bool is_at_end;    /* all items up to the last key were returned */

	/* The kernel's answer. */
	uint32_t most_items; /* requested of the kernel */
	uint32_t n_items;    /* in the answer; 0: no answer yet */
	uint32_t n_left;     /* items of the answer not yet returned */
	size_t next;         /* offset of these in the buffer */
	size_t buffer_bytes;
	struct btrfs_ioctl_search_args_v2 *arguments;
	BtrfsTreeItem current;
};

int btrfs_key_compare(const BtrfsKey *a, const BtrfsKey *b)
{
	if (a->objectid != b->objectid)
		return a->objectid < b->objectid ? -1 : 1;
	if (a->type != b->type)
		return a->type < b->type ? -1 : 1;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

/* Make @key the next key; false if it is the last one. */
static bool key_advance(BtrfsKey *key)
{
	if (++key->offset != 0)
		return true;
	if (++key->type != 0)
		return true;
	return ++key->objectid != 0;
}

static void set_buffer(BtrfsTree *tree, size_t bytes)
{
	g_free(tree->arguments);
	tree->arguments = g_malloc(sizeof(*tree->arguments) + bytes);
	tree->buffer_bytes = bytes;
}

BtrfsTree *btrfs_tree_new(size_t buffer_bytes)
{
	BtrfsTree *tree = g_new0(BtrfsTree, 1);

	tree->fd = -1;
	tree->is_at_end = true;
	tree->most_items = UINT32_MAX;
	set_buffer(tree, CLAMP(buffer_bytes, BTRFS_TREE_BUFFER_BYTES_MIN, BUFFER_BYTES_MAX));
	return tree;
}

void btrfs_tree_free(BtrfsTree *tree)
{
	if (!tree)
		return;
	g_free(tree->arguments);
	g_free(tree);
}

void btrfs_tree_start(BtrfsTree *tree, int fd, const BtrfsTreeRange *range)
{
	tree->fd = fd;
	tree->range = *range;
	tree->position = range->first;
	tree->is_at_end = btrfs_key_compare(&range->first, &range->last) > 0;
	tree->n_items = tree->n_left = 0;
}

void btrfs_tree_set_most_items(BtrfsTree *tree, uint32_t most)
{
	/* With room for one more item, an answer with fewer items than requested is complete, not cut off. */
	tree->most_items = most;
	if (tree->buffer_bytes < BTRFS_TREE_BUFFER_BYTES_MIN + ITEM_BYTES_MAX)
		set_buffer(tree, BTRFS_TREE_BUFFER_BYTES_MIN + ITEM_BYTES_MAX);
}

static char *describe(uint64_t tree)
{
	switch (tree) {
	case 0:
		return g_strdup("tree of the subvolume");
	case BTRFS_ROOT_TREE_OBJECTID:
		return g_strdup("root tree");
	case BTRFS_EXTENT_TREE_OBJECTID:
		return g_strdup("extent tree");
	case BTRFS_CSUM_TREE_OBJECTID:
		return g_strdup("checksum tree");
	default:
		return g_strdup_printf("tree of subvolume %" G_GUINT64_FORMAT, tree);
	}
}

static bool search_failed(const BtrfsTree *tree, int cause, GError **error)
{
	g_autofree char *name = describe(tree->range.tree);
	g_autofree char *what = g_strdup_printf("search the %s of the btrfs", name);

	errno = cause;
	return system_call_failed(error, what);
}

static bool answer_is_unusable(const BtrfsTree *tree, const char *how, GError **error)
{
	g_autofree char *name = describe(tree->range.tree);

	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_IO,
		    "cannot search the %s of the btrfs: the kernel's answer %s", name, how);
	return false;
}

static int search(BtrfsTree *tree)
{
	const BtrfsTreeRange *range = &tree->range;
	/* If one item is wanted, ask for one: else the kernel looks through the rest of the leaf. */
	bool is_one = btrfs_key_compare(&tree->position, &range->last) == 0;

	tree->arguments->key = (struct btrfs_ioctl_search_key){
		.tree_id = range->tree,
		.min_objectid = tree->position.objectid,
		.min_type = tree->position.type,
		.min_offset = tree->position.offset,
		.max_objectid = range->last.objectid,
		.max_type = range->last.type,
		.max_offset = range->last.offset,
		.min_transid = range->min_transid,
		.max_transid = UINT64_MAX,
		.nr_items = is_one ? 1 : tree->most_items,
	};
	tree->arguments->buf_size = tree->buffer_bytes;
	return system_call_ioctl(tree->fd, BTRFS_IOC_TREE_SEARCH_V2, tree->arguments);
}

/* Ask for items from the position on, with a buffer that holds at least one. */
static bool btrfs_tree_fill(BtrfsTree *tree, GError **error)
{
	while (search(tree) < 0) {
		int cause = errno;
		uint64_t needed = tree->arguments->buf_size;

		if (cause != EOVERFLOW)
			return search_failed(tree, cause, error);
		if (needed <= tree->buffer_bytes || needed > BUFFER_BYTES_MAX)
			return answer_is_unusable(tree, "fits no buffer", error);
		set_buffer(tree, needed);
	}

	tree->n_items = tree->n_left = tree->arguments->key.nr_items;
	tree->next = 0;
	return true;
}

/* Newer kernel headers declare the buffer as bytes, older ones as 64-bit numbers. */
static const uint8_t *answer_bytes(const BtrfsTree *tree)
{
	return (const uint8_t *)tree->arguments->buf;
}

/* Make the next item of the answer the current one, and advance the position behind it. */
static bool btrfs_tree_take(BtrfsTree *tree, GError **error)
{
	struct btrfs_ioctl_search_header header;
	BtrfsKey key;

	if (tree->buffer_bytes - tree->next < sizeof(header))
		return answer_is_unusable(tree, "is longer than its buffer", error);
	memcpy(&header, answer_bytes(tree) + tree->next, sizeof(header));
	tree->next += sizeof(header);
	if (tree->buffer_bytes - tree->next < header.len)
		return answer_is_unusable(tree, "is longer than its buffer", error);

	key = (BtrfsKey){ header.objectid, (uint8_t)header.type, header.offset };
	if (btrfs_key_compare(&key, &tree->position) < 0 ||
	    btrfs_key_compare(&key, &tree->range.last) > 0)
		return answer_is_unusable(tree, "is not in order", error);

	tree->current = (BtrfsTreeItem){
		.key = key,
		.transid = header.transid,
		.length = header.len,
		.data = answer_bytes(tree) + tree->next,
	};
	tree->next += header.len;
	tree->n_left--;
	tree->position = key;
	tree->is_at_end = !key_advance(&tree->position) ||
			  btrfs_key_compare(&tree->position, &tree->range.last) > 0;
	return true;
}

static bool is_wanted(const BtrfsTreeRange *range, uint8_t type)
{
	const uint8_t *wanted = range->types;

	if (!*wanted)
		return true;
	while (*wanted && *wanted != type)
		wanted++;
	return *wanted;
}

/* The kernel stopped at the end of the range, not because the buffer or the number of items was reached. */
static bool is_complete(const BtrfsTree *tree)
{
	return tree->n_items > 0 && tree->n_items < tree->most_items &&
	       tree->buffer_bytes - tree->next >=
		       sizeof(struct btrfs_ioctl_search_header) + ITEM_BYTES_MAX;
}

/* Advance to the next item of any type; false at the end or after an error. */
static bool btrfs_tree_step(BtrfsTree *tree, GError **error)
{
	if (tree->is_at_end)
		return false;
	if (tree->n_left == 0 && (is_complete(tree) || !btrfs_tree_fill(tree, error)))
		return false;

	return tree->n_left > 0 && btrfs_tree_take(tree, error);
}

bool btrfs_tree_next(BtrfsTree *tree, const BtrfsTreeItem **ret, GError **error)
{
	g_autoptr(GError) cause = NULL;

	*ret = NULL;
	while (btrfs_tree_step(tree, &cause)) {
		if (is_wanted(&tree->range, tree->current.key.type)) {
			*ret = &tree->current;
			return true;
		}
	}

	tree->is_at_end = true;
	if (!cause)
		return true;
	g_propagate_error(error, g_steal_pointer(&cause));
	return false;
}

bool btrfs_tree_is_at_hand(const BtrfsTree *tree)
{
	return !tree->is_at_end && tree->n_left > 0;
}

bool btrfs_tree_next_if_any(BtrfsTree *tree, const BtrfsTreeItem **ret, GError **error)
{
	g_autoptr(GError) cause = NULL;

	if (btrfs_tree_next(tree, ret, &cause) ||
	    g_error_matches(cause, G_FILE_ERROR, G_FILE_ERROR_NOENT))
		return true;

	g_propagate_error(error, g_steal_pointer(&cause));
	return false;
}
