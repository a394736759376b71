/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/fuzz/hostile-btrfs.h"

#include "kernel-ioctl/btrfs/btrfs-checksum.h"
#include "kernel-ioctl/btrfs/btrfs-refs.h"

#include <errno.h>
#include <linux/btrfs.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

/* A search that never ends is a fault. */
#define CALLS_MAX 300000

#define EXTENTS_MAX 20
#define CONTENTS    4

#define ITEM_BYTES_MAX 4096

const uint64_t hostile_subvolumes[HOSTILE_SUBVOLUMES] = { 5, 256, 258 };

typedef struct {
	uint64_t tree;
	BtrfsKey key;
	uint64_t transid;
	uint32_t length;
	uint8_t data[];
} Item;

typedef struct {
	uint64_t root;
	uint64_t inode;
	uint64_t size;
} File;

static struct {
	Choices *choices;
	uint64_t generation;
	GPtrArray *items; /* Item */
	File files[HOSTILE_FILES_MAX];
	unsigned n_files;
	unsigned n_calls;
	/* How replies are damaged. */
	uint32_t most_items; /* that a reply has; 0: any number */
	uint32_t extra_items;
	uint32_t extra_bytes; /* that an item says to have */
	uint32_t extra_refs;  /* that a list of references says to have */
	uint32_t missing_bytes;
	bool is_in_disorder;
	bool repeats_itself;
} kernel;

static uint64_t number(uint64_t valid)
{
	return choices_number(kernel.choices, valid);
}

static uint64_t number_le(uint64_t valid)
{
	return GUINT64_TO_LE(number(valid));
}

/* Add an item, whose key and bytes may be damaged. */
static void add(uint64_t tree, uint64_t objectid, uint8_t type, uint64_t offset, const void *data,
		uint32_t length)
{
	uint64_t wanted = number(length);
	uint32_t said = (uint32_t)MIN(wanted, ITEM_BYTES_MAX);
	Item *item = g_malloc0(sizeof(*item) + said);

	item->tree = tree;
	item->key = (BtrfsKey){ number(objectid), (uint8_t)number(type), number(offset) };
	item->transid = number(kernel.generation - choices_below(kernel.choices, 3));
	item->length = said;
	memcpy(item->data, data, MIN(said, length));
	choices_bytes(kernel.choices, item->data, said);
	g_ptr_array_add(kernel.items, item);
}

static int compare_items(const void *a, const void *b)
{
	const Item *one = *(Item *const *)a, *other = *(Item *const *)b;

	if (one->tree != other->tree)
		return one->tree < other->tree ? -1 : 1;
	return btrfs_key_compare(&one->key, &other->key);
}

static void add_name(uint64_t tree, uint64_t inode, uint64_t parent, uint64_t n)
{
	struct {
		struct btrfs_inode_ref ref;
		char name[8];
	} __attribute__((packed)) item = { .ref.index = n };

	g_snprintf(item.name, sizeof(item.name), "n%u", (unsigned)(n % 1000000));
	item.ref.name_len = GUINT16_TO_LE((uint16_t)number(strlen(item.name)));
	add(tree, inode, BTRFS_INODE_REF_KEY, parent, &item,
	    (uint32_t)(sizeof(item.ref) + strlen(item.name)));
}

static void add_inode(uint64_t tree, uint64_t inode, uint64_t size, uint32_t mode, uint64_t flags)
{
	struct btrfs_inode_item item = {
		.generation = number_le(7),
		.transid = number_le(kernel.generation),
		.size = number_le(size),
		.nbytes = number_le(size),
		.nlink = GUINT32_TO_LE((uint32_t)number(1)),
		.uid = GUINT32_TO_LE((uint32_t)choices_below(kernel.choices, 2)),
		.mode = GUINT32_TO_LE((uint32_t)number(mode)),
		.flags = GUINT64_TO_LE(flags),
	};

	add(tree, inode, BTRFS_INODE_ITEM_KEY, 0, &item, sizeof(item));
}

static void add_subvolume(uint64_t id)
{
	struct btrfs_root_item root = {
		.generation = number_le(kernel.generation),
		.generation_v2 = GUINT64_TO_LE(kernel.generation),
		.refs = GUINT32_TO_LE((uint32_t)number(1)),
		.flags = number_le(0),
	};
	struct {
		struct btrfs_root_ref ref;
		char name[3];
	} __attribute__((packed)) ref = { .ref.dirid = number_le(256), .name = "sub" };

	ref.ref.name_len = GUINT16_TO_LE((uint16_t)number(sizeof(ref.name)));
	add(BTRFS_ROOT_TREE_OBJECTID, id, BTRFS_ROOT_ITEM_KEY, 0, &root, sizeof(root));
	if (id != hostile_subvolumes[0])
		add(BTRFS_ROOT_TREE_OBJECTID, id, BTRFS_ROOT_BACKREF_KEY, hostile_subvolumes[0],
		    &ref, sizeof(ref));
	add_inode(id, 256, 0, S_IFDIR | 0755, 0);
}

/* A place of an extent in a file, behind what the file has. */
static void add_place(File *file, uint64_t bytenr, uint64_t bytes)
{
	Choices *choices = kernel.choices;
	uint64_t hidden = choices_below(choices, 4) == 0 ? bytes / HOSTILE_BLOCK_BYTES / 2 : 0;
	uint64_t shown = bytes - hidden * HOSTILE_BLOCK_BYTES;
	struct btrfs_file_extent_item item = {
		.generation = number_le(kernel.generation),
		.ram_bytes = number_le(bytes),
		.compression = choices_below(choices, 12) == 11,
		.type = (uint8_t)number(BTRFS_FILE_EXTENT_REG),
		.disk_bytenr = number_le(bytenr),
		.disk_num_bytes = number_le(bytes),
		.offset = number_le(hidden * HOSTILE_BLOCK_BYTES),
		.num_bytes = number_le(shown),
	};

	add(file->root, file->inode, BTRFS_EXTENT_DATA_KEY, file->size, &item, sizeof(item));
	file->size =
		number(file->size + shown + choices_below(choices, 4) / 3 * HOSTILE_BLOCK_BYTES);
}

static void add_sums(uint64_t bytenr, uint64_t blocks)
{
	Choices *choices = kernel.choices;
	uint32_t content = (uint32_t)choices_below(choices, CONTENTS);
	uint32_t first = (uint32_t)choices_below(choices, 4);
	uint32_t sums[ITEM_BYTES_MAX / sizeof(uint32_t)];
	uint8_t zeros[BTRFS_SUM_BYTES_MAX];
	uint32_t n = (uint32_t)MIN(blocks, G_N_ELEMENTS(sums));

	btrfs_checksum_of_zeros(BTRFS_CHECKSUM_CRC32C, HOSTILE_BLOCK_BYTES, zeros);
	for (uint32_t i = 0; i < n; i++) {
		sums[i] = content * 10000 + first + i;
		if (content == CONTENTS - 1 && i > n / 2)
			memcpy(&sums[i], zeros, sizeof(sums[i]));
	}
	add(BTRFS_CSUM_TREE_OBJECTID, BTRFS_EXTENT_CSUM_OBJECTID, BTRFS_EXTENT_CSUM_KEY, bytenr,
	    sums, (uint32_t)(n * sizeof(*sums)));
}

static void add_extent_item(const File *file, uint64_t bytenr, uint64_t bytes, uint64_t offset)
{
	struct {
		struct btrfs_extent_item extent;
		uint8_t type;
		struct btrfs_extent_data_ref ref;
	} __attribute__((packed)) item = {
		.extent = { number_le(1), number_le(kernel.generation),
			    number_le(BTRFS_EXTENT_FLAG_DATA) },
		.type = (uint8_t)number(BTRFS_EXTENT_DATA_REF_KEY),
		.ref = { GUINT64_TO_LE(file->root), GUINT64_TO_LE(file->inode), number_le(offset),
			 GUINT32_TO_LE(1) },
	};

	/* With no reference inline it has to be asked for. */
	add(BTRFS_EXTENT_TREE_OBJECTID, bytenr, BTRFS_EXTENT_ITEM_KEY, bytes, &item,
	    choices_below(kernel.choices, 4) ? sizeof(item) : sizeof(item.extent));
}

static void add_extents(void)
{
	Choices *choices = kernel.choices;
	unsigned n = 1 + (unsigned)choices_below(choices, EXTENTS_MAX);
	uint64_t bytenr = HOSTILE_ADDRESS;

	for (unsigned i = 0; i < n && choices_are_left(choices); i++) {
		uint64_t blocks = 1 + choices_below(choices, choices_below(choices, 4) ? 40 : 600);
		uint64_t bytes = blocks * HOSTILE_BLOCK_BYTES;
		File *file = &kernel.files[choices_below(choices, kernel.n_files)];

		add_extent_item(file, bytenr, bytes, file->size);
		add_place(file, bytenr, bytes);
		if (choices_below(choices, 6) == 0)
			add_place(&kernel.files[choices_below(choices, kernel.n_files)], bytenr,
				  bytes);
		if (choices_below(choices, 8))
			add_sums(bytenr, blocks);
		bytenr = number(bytenr + bytes + choices_below(choices, 3) * HOSTILE_BLOCK_BYTES);
	}
}

/* A directory for the file @number: the top one, one of the files before it, or in a circle. */
static uint64_t any_directory(const File *file, unsigned number)
{
	const File *other = &kernel.files[choices_below(kernel.choices, number + UINT64_C(1))];

	if (choices_damage(kernel.choices))
		return file->inode;
	return other != file && other->size == 0 && other->root == file->root ? other->inode : 256;
}

static void add_files(void)
{
	Choices *choices = kernel.choices;

	kernel.n_files = 1 + (unsigned)choices_below(choices, HOSTILE_FILES_MAX);
	for (unsigned i = 0; i < kernel.n_files; i++) {
		kernel.files[i] = (File){
			.root = hostile_subvolumes[choices_below(choices, HOSTILE_SUBVOLUMES)],
			.inode = HOSTILE_FIRST_INODE + i,
		};
	}
	add_extents();
	for (unsigned i = 0; i < kernel.n_files; i++) {
		File *file = &kernel.files[i];
		bool is_directory = file->size == 0;
		uint64_t n_names = 1 + choices_below(choices, 3) / 2;

		add_inode(file->root, file->inode, file->size,
			  (is_directory ? S_IFDIR : S_IFREG) | 0644,
			  choices_below(choices, 8) == 7 ? 3 : 0);
		for (uint64_t name = 0; name < n_names; name++)
			add_name(file->root, file->inode, any_directory(file, i), i + 10 * name);
	}
}

void hostile_btrfs_make(Choices *choices, uint64_t generation)
{
	hostile_btrfs_clear();
	kernel.choices = choices;
	kernel.generation = generation;
	kernel.items = g_ptr_array_new_with_free_func(g_free);
	kernel.n_calls = 0;
	kernel.most_items = (uint32_t)choices_below(choices, 4) % 3 * 2;
	kernel.extra_items = choices_damage(choices) ? (uint32_t)choices_edge(choices) : 0;
	kernel.extra_bytes = choices_damage(choices) ? (uint32_t)choices_edge(choices) : 0;
	kernel.extra_refs = choices_damage(choices) ? (uint32_t)choices_edge(choices) : 0;
	kernel.missing_bytes = choices_damage(choices) ? (uint32_t)choices_edge(choices) : 0;
	kernel.is_in_disorder = choices_damage(choices);
	kernel.repeats_itself = choices_damage(choices);

	for (size_t i = 0; i < HOSTILE_SUBVOLUMES; i++)
		add_subvolume(hostile_subvolumes[i]);
	add_files();
	g_ptr_array_sort(kernel.items, compare_items);
}

void hostile_btrfs_clear(void)
{
	g_clear_pointer(&kernel.items, g_ptr_array_unref);
}

unsigned hostile_btrfs_calls(void)
{
	return kernel.n_calls;
}

static int fail(int error)
{
	errno = error;
	return -1;
}

static bool is_in_range(const Item *item, const struct btrfs_ioctl_search_key *range)
{
	BtrfsKey first = { range->min_objectid, (uint8_t)range->min_type, range->min_offset };
	BtrfsKey last = { range->max_objectid, (uint8_t)range->max_type, range->max_offset };

	if (item->tree != (range->tree_id ? range->tree_id : hostile_subvolumes[0]) ||
	    item->transid < range->min_transid)
		return false;
	return (kernel.repeats_itself || btrfs_key_compare(&item->key, &first) >= 0) &&
	       btrfs_key_compare(&item->key, &last) <= 0;
}

static void put_item(const Item *item, uint8_t *at, uint32_t extra_bytes)
{
	struct btrfs_ioctl_search_header header = {
		.transid = item->transid,
		.objectid = item->key.objectid,
		.offset = item->key.offset,
		.type = item->key.type,
		.len = item->length + extra_bytes,
	};

	memcpy(at, &header, sizeof(header));
	memcpy(at + sizeof(header), item->data, item->length);
}

static bool has_tree(uint64_t id)
{
	for (guint i = 0; i < kernel.items->len; i++)
		if (((const Item *)kernel.items->pdata[i])->tree == id)
			return true;
	return id == 0 || id <= BTRFS_CSUM_TREE_OBJECTID;
}

static int search(struct btrfs_ioctl_search_args_v2 *arguments)
{
	struct btrfs_ioctl_search_key *range = &arguments->key;
	uint32_t most =
		kernel.most_items ? MIN(kernel.most_items, range->nr_items) : range->nr_items;
	uint8_t *to = (uint8_t *)arguments->buf;
	size_t n_bytes = 0;
	uint32_t n_found = 0;

	if (!has_tree(range->tree_id))
		return fail(ENOENT);
	for (guint i = 0; i < kernel.items->len; i++) {
		guint n = kernel.is_in_disorder ? i ^ 1u : i;
		const Item *item = kernel.items->pdata[MIN(n, kernel.items->len - 1)];
		size_t needed = sizeof(struct btrfs_ioctl_search_header) + item->length;

		if (!is_in_range(item, range))
			continue;
		if (n_found == 0 && needed > arguments->buf_size) {
			arguments->buf_size = needed;
			return fail(EOVERFLOW);
		}
		if (needed > arguments->buf_size - n_bytes || n_found == most)
			break;
		put_item(item, to + n_bytes, n_found == 1 ? kernel.extra_bytes : 0);
		n_bytes += needed;
		n_found++;
	}

	range->nr_items = n_found + (n_found > 0 ? kernel.extra_items : 0);
	return 0;
}

/* Whether the item shows a part of the extent at @address. */
static bool shows(const Item *item, uint64_t address)
{
	struct btrfs_file_extent_item extent;
	uint64_t bytenr;

	if (item->key.type != BTRFS_EXTENT_DATA_KEY || item->length < sizeof(extent))
		return false;
	memcpy(&extent, item->data, sizeof(extent));
	bytenr = GUINT64_FROM_LE(extent.disk_bytenr);
	return extent.type != BTRFS_FILE_EXTENT_INLINE && bytenr != 0 && address >= bytenr &&
	       address - bytenr < GUINT64_FROM_LE(extent.disk_num_bytes);
}

static int find_refs(const struct btrfs_ioctl_logical_ino_args *arguments)
{
	struct btrfs_data_container *container =
		(struct btrfs_data_container *)(uintptr_t)arguments->inodes;
	uint64_t left = arguments->size - sizeof(*container);

	*container = (struct btrfs_data_container){ 0 };
	for (guint i = 0; i < kernel.items->len; i++) {
		const Item *item = kernel.items->pdata[i];
		const BtrfsRef ref = { item->key.objectid, item->key.offset, item->tree };

		if (!shows(item, arguments->logical))
			continue;
		if (left < sizeof(ref)) {
			container->bytes_missing += (uint32_t)sizeof(ref);
			container->elem_missed += 3;
			continue;
		}
		memcpy(container->val + container->elem_cnt, &ref, sizeof(ref));
		container->elem_cnt += 3;
		left -= sizeof(ref);
	}
	if (container->elem_cnt == 0)
		return fail(ENOENT);
	container->bytes_left = (uint32_t)left;
	container->elem_cnt += kernel.extra_refs;
	container->bytes_missing += kernel.missing_bytes;
	return 0;
}

static int tell_info(struct btrfs_ioctl_fs_info_args *info)
{
	info->num_devices = 1;
	info->max_id = 1;
	info->nodesize = 16384;
	info->sectorsize = HOSTILE_BLOCK_BYTES;
	info->clone_alignment = HOSTILE_BLOCK_BYTES;
	info->csum_type = BTRFS_CSUM_TYPE_CRC32;
	info->csum_size = 4;
	info->generation = kernel.generation;
	return 0;
}

static int tell_space(struct btrfs_ioctl_space_args *arguments)
{
	const uint64_t flags[] = { BTRFS_BLOCK_GROUP_DATA, BTRFS_BLOCK_GROUP_METADATA };

	arguments->total_spaces = G_N_ELEMENTS(flags);
	for (size_t i = 0; i < MIN(arguments->space_slots, G_N_ELEMENTS(flags)); i++)
		arguments->spaces[i] =
			(struct btrfs_ioctl_space_info){ flags[i], UINT64_C(8) << 30, 1 << 20 };
	return 0;
}

static int tell_device(struct btrfs_ioctl_dev_info_args *device)
{
	device->total_bytes = UINT64_C(64) << 30;
	device->bytes_used = UINT64_C(16) << 30;
	return 0;
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list arguments;
	void *argument;

	va_start(arguments, request);
	argument = va_arg(arguments, void *);
	va_end(arguments);

	if (!kernel.items)
		return fail(ENOTTY);
	kernel.n_calls++;
	g_assert_cmpuint(kernel.n_calls, <, CALLS_MAX);
	switch (request) {
	case BTRFS_IOC_TREE_SEARCH_V2:
		return search(argument);
	case BTRFS_IOC_LOGICAL_INO_V2:
		return find_refs(argument);
	case BTRFS_IOC_FS_INFO:
		return tell_info(argument);
	case BTRFS_IOC_SPACE_INFO:
		return tell_space(argument);
	case BTRFS_IOC_DEV_INFO:
		return tell_device(argument);
	default:
		return fail(ENOTTY);
	}
}
