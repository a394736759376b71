/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/btrfs/btrfs-names.h"

#include "kernel-ioctl/btrfs/btrfs-items.h"
#include "kernel-ioctl/btrfs/btrfs-tree.h"
#include "kernel-ioctl/call/file-key.h"

/* The cache of directories is emptied when it has this many. */
#define DIRECTORIES_MAX 16384

/* A directory and its name; directory 0: it has no name. */
typedef struct {
	FileKey key;
	BtrfsName name;
	char text[];
} NamedDirectory;

struct BtrfsNames {
	int fd;
	/* The file whose names are listed. */
	uint64_t root;
	uint64_t inode;
	BtrfsTree *tree;
	BtrfsInodeNames refs;
	GString *text;
	BtrfsName current;
	/* Directories. */
	BtrfsTree *above;
	GHashTable *directories; /* NamedDirectory by its key */
};

BtrfsNames *btrfs_names_new(int fd)
{
	BtrfsNames *names = g_new0(BtrfsNames, 1);

	names->fd = fd;
	names->tree = btrfs_tree_new(BTRFS_TREE_BUFFER_BYTES_MIN);
	names->above = btrfs_tree_new(BTRFS_TREE_BUFFER_BYTES_MIN);
	names->text = g_string_new(NULL);
	names->directories = g_hash_table_new_full(file_key_hash, file_key_equal, NULL, g_free);
	return names;
}

void btrfs_names_free(BtrfsNames *names)
{
	if (!names)
		return;

	btrfs_tree_free(names->tree);
	btrfs_tree_free(names->above);
	g_string_free(names->text, true);
	g_hash_table_unref(names->directories);
	g_free(names);
}

static bool damaged(uint64_t root, uint64_t inode, GError **error)
{
	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_IO,
		    "cannot read the names of inode %" G_GUINT64_FORMAT
		    " of subvolume %" G_GUINT64_FORMAT ": their item is damaged",
		    inode, root);
	return false;
}

static void search_refs(BtrfsTree *tree, int fd, uint64_t root, uint64_t inode)
{
	const BtrfsTreeRange range = {
		.tree = root,
		.first = { inode, BTRFS_INODE_REF_KEY, 0 },
		.last = { inode, BTRFS_INODE_EXTREF_KEY, UINT64_MAX },
	};

	btrfs_tree_start(tree, fd, &range);
}

void btrfs_names_start(BtrfsNames *names, uint64_t root, uint64_t inode)
{
	names->root = root;
	names->inode = inode;
	names->refs = (BtrfsInodeNames){ 0 };
	search_refs(names->tree, names->fd, root, inode);
}

bool btrfs_names_next(BtrfsNames *names, const BtrfsName **ret, GError **error)
{
	for (;;) {
		const BtrfsTreeItem *item;
		const BtrfsInodeName *ref;

		*ret = NULL;
		if (!btrfs_inode_names_next(&names->refs, &ref))
			return damaged(names->root, names->inode, error);
		if (ref) {
			g_string_truncate(names->text, 0);
			g_string_append_len(names->text, (const char *)ref->name, ref->name_bytes);
			names->current =
				(BtrfsName){ names->root, ref->directory, names->text->str };
			*ret = &names->current;
			return true;
		}

		if (!btrfs_tree_next_if_any(names->tree, &item, error))
			return false;
		if (!item)
			return true;
		btrfs_inode_names_start(&names->refs, item->key.type, item->key.offset, item->data,
					item->length);
	}
}

static NamedDirectory *remember(BtrfsNames *names, const FileKey *key, uint64_t root,
				uint64_t directory, const uint8_t *name, size_t name_bytes)
{
	NamedDirectory *named = g_malloc(sizeof(*named) + name_bytes + 1);

	if (g_hash_table_size(names->directories) >= DIRECTORIES_MAX)
		g_hash_table_remove_all(names->directories);
	named->key = *key;
	named->name = (BtrfsName){ root, directory, named->text };
	if (name_bytes > 0)
		memcpy(named->text, name, name_bytes);
	named->text[name_bytes] = '\0';
	g_hash_table_insert(names->directories, &named->key, named);
	return named;
}

/* Find the name of the subvolume in the one that contains it. */
static bool read_subvolume(BtrfsNames *names, const FileKey *key, NamedDirectory **ret,
			   GError **error)
{
	const BtrfsTreeRange range = {
		.tree = BTRFS_ROOT_TREE_OBJECTID,
		.first = { key->root, BTRFS_ROOT_BACKREF_KEY, 0 },
		.last = { key->root, BTRFS_ROOT_BACKREF_KEY, UINT64_MAX },
	};
	const BtrfsTreeItem *item;
	BtrfsRootRef ref;

	btrfs_tree_start(names->above, names->fd, &range);
	if (!btrfs_tree_next_if_any(names->above, &item, error))
		return false;
	if (!item) {
		*ret = remember(names, key, 0, 0, NULL, 0);
		return true;
	}

	if (!btrfs_root_ref_read(item->data, item->length, &ref))
		return damaged(key->root, key->inode, error);
	*ret = remember(names, key, item->key.offset, ref.directory, ref.name, ref.name_bytes);
	return true;
}

static bool read_directory(BtrfsNames *names, const FileKey *key, NamedDirectory **ret,
			   GError **error)
{
	const BtrfsTreeItem *item;
	const BtrfsInodeName *ref;
	BtrfsInodeNames refs;

	if (key->inode == BTRFS_NAMES_TOP_INODE)
		return read_subvolume(names, key, ret, error);

	search_refs(names->above, names->fd, key->root, key->inode);
	if (!btrfs_tree_next_if_any(names->above, &item, error))
		return false;
	if (!item) {
		*ret = remember(names, key, 0, 0, NULL, 0);
		return true;
	}

	btrfs_inode_names_start(&refs, item->key.type, item->key.offset, item->data, item->length);
	if (!btrfs_inode_names_next(&refs, &ref) || !ref)
		return damaged(key->root, key->inode, error);
	*ret = remember(names, key, key->root, ref->directory, ref->name, ref->name_bytes);
	return true;
}

bool btrfs_names_of_directory(BtrfsNames *names, uint64_t root, uint64_t inode,
			      const BtrfsName **ret, GError **error)
{
	const FileKey key = { root, inode };
	NamedDirectory *named = g_hash_table_lookup(names->directories, &key);

	*ret = NULL;
	if (!named && !read_directory(names, &key, &named, error))
		return false;
	if (named->name.directory != 0)
		*ret = &named->name;
	return true;
}
