/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/stores/verifier.h"

#include "common/content/block-sums.h"
#include "common/content/object-sums.h"
#include "kernel-ioctl/btrfs/btrfs-items.h"
#include "kernel-ioctl/btrfs/btrfs-tree.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/extent-map.h"
#include "kernel-ioctl/file/file-stat.h"
#include "kernel-ioctl/file/open-file.h"
#include "kernel-ioctl/file/page-cache.h"

#include <errno.h>
#include <string.h>

#define PIECE_BYTES  (UINT64_C(1) << 20)
#define PIECE_BLOCKS 4096

struct Verifier {
	/* Set at creation, never changed. */
	HashStore *store; /* not owned */
	int fd;           /* not owned */
	FsKind kind;
	uint32_t block_bytes;
	uint64_t rate_bytes;
	ExtentSums *extents; /* NULL: not on btrfs */
	BlockSums *sums;

	BtrfsTree *tree;
	uint64_t read_bytes;
	int64_t began_usec;
	uint64_t piece_sums[PIECE_BLOCKS];
	uint8_t buffer[PIECE_BYTES];
};

static void ignore_anchor(uint64_t digest, uint64_t block, void *data)
{
}

static void ignore_zeros(uint64_t block, void *data)
{
}

static const ObjectSumsSink nowhere = { ignore_anchor, ignore_zeros, NULL };

Verifier *verifier_new(HashStore *store, int fd, FsKind kind, uint64_t rate_bytes, GError **error)
{
	g_autoptr(Verifier) verifier = g_new0(Verifier, 1);
	const HashStoreAbout *about = hash_store_about(store);
	BtrfsInfo info;

	verifier->store = store;
	verifier->fd = fd;
	verifier->kind = kind;
	verifier->block_bytes = about->block_bytes;
	verifier->rate_bytes = rate_bytes;
	verifier->began_usec = g_get_monotonic_time();
	if (!open_file_by_id_works(fd, kind)) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_PERM,
			    "files cannot be opened by number: that takes root");
		return NULL;
	}
	if (kind == FS_KIND_BTRFS) {
		if (!btrfs_info_read(fd, &info, error))
			return NULL;
		verifier->extents = extent_sums_new(fd, &info, about->secret);
		verifier->tree = btrfs_tree_new(BTRFS_TREE_BUFFER_BYTES_MIN);
	}
	verifier->sums = block_sums_new(about, verifier->extents);

	return g_steal_pointer(&verifier);
}

void verifier_free(Verifier *verifier)
{
	if (!verifier)
		return;

	g_clear_pointer(&verifier->sums, block_sums_free);
	g_clear_pointer(&verifier->extents, extent_sums_free);
	g_clear_pointer(&verifier->tree, btrfs_tree_free);
	g_free(verifier);
}

uint64_t verifier_read_bytes(const Verifier *verifier)
{
	return verifier->read_bytes;
}

static bool is_extent(const Verifier *verifier, const Object *object)
{
	return verifier->kind == FS_KIND_BTRFS && object->subvolume == OBJECT_EXTENTS;
}

bool verifier_takes(const Verifier *verifier, const Object *object)
{
	bool is_stretch = verifier->kind == FS_KIND_BTRFS && object->subvolume == OBJECT_STRETCHES;

	return object->state == OBJECT_DONE && !is_stretch && !(object->flags & OBJECT_RACY) &&
	       (is_extent(verifier, object) ? !(object->flags & OBJECT_READ_SUMS)
					    : object->generation != 0);
}

/* Wait until the rate allows the reads so far. */
static void keep_to_rate(const Verifier *verifier)
{
	if (verifier->rate_bytes == 0)
		return;

	double due_usec = (double)verifier->read_bytes / (double)verifier->rate_bytes *
			  (double)G_USEC_PER_SEC;
	double past_usec = (double)(g_get_monotonic_time() - verifier->began_usec);
	if (due_usec > past_usec)
		g_usleep((gulong)(due_usec - past_usec));
}

static void add_sum(ObjectSums *sums, uint64_t sum, uint64_t of_zeros)
{
	if (sum == of_zeros)
		object_sums_add_zeros(sums, 1, &nowhere);
	else
		object_sums_add(sums, sum, &nowhere);
}

/* The digests of a file, by its data and by the checksums of the data, since either may be stored. */
typedef struct {
	ObjectSums by_data;
	ObjectSums by_checksum;
	uint64_t data_bytes;
	uint64_t cached_bytes; /* of them, before they were read */
} FileSums;

static void add_blocks(Verifier *verifier, FileSums *sums, size_t n_blocks)
{
	uint64_t zeros = block_sums_of_zeros(verifier->sums, false);
	bool has_checksums = verifier->extents;

	for (size_t i = 0; i < n_blocks; i++) {
		const uint8_t *block = verifier->buffer + i * verifier->block_bytes;

		add_sum(&sums->by_data, block_sums_of_data(verifier->sums, block, false), zeros);
		if (has_checksums)
			add_sum(&sums->by_checksum, block_sums_of_data(verifier->sums, block, true),
				block_sums_of_zeros(verifier->sums, true));
	}
}

static void add_hole(Verifier *verifier, FileSums *sums, uint64_t length)
{
	uint64_t n_blocks = (length + verifier->block_bytes - 1) / verifier->block_bytes;

	object_sums_add_hole(&sums->by_data, n_blocks, &nowhere);
	if (verifier->extents)
		object_sums_add_hole(&sums->by_checksum, n_blocks, &nowhere);
}

/* Read the bytes from @offset to @end.  Returns false and sets errno on error. */
static bool read_data(Verifier *verifier, int fd, uint64_t offset, uint64_t end, FileSums *sums)
{
	for (; offset < end; offset += PIECE_BYTES) {
		size_t wanted = (size_t)MIN(end - offset, PIECE_BYTES);
		size_t n_blocks = (wanted + verifier->block_bytes - 1) / verifier->block_bytes;
		ssize_t got = pread(fd, verifier->buffer, wanted, (off_t)offset);

		if (got < 0)
			return false;
		/* The missing end was truncated meanwhile, which the stamp will show. */
		memset(verifier->buffer + got, 0, n_blocks * verifier->block_bytes - (size_t)got);
		add_blocks(verifier, sums, n_blocks);
		verifier->read_bytes += wanted;
		keep_to_rate(verifier);
	}

	return true;
}

/* The end of the data that begins at @start, in whole blocks, or of the file. */
static uint64_t data_end(const Verifier *verifier, int fd, uint64_t start, uint64_t size_bytes)
{
	uint64_t block_bytes = verifier->block_bytes;
	uint64_t hole = extent_map_skip_data(fd, start);
	uint64_t end = MIN(hole, size_bytes);

	/* A file truncated meanwhile has no data at @start any more. */
	end = MAX((end + block_bytes - 1) / block_bytes * block_bytes, start + block_bytes);
	return MIN(end, size_bytes);
}

/* Read the data of the file, and no holes: a sparse file can have 8 EiB of these.  False with errno. */
static bool read_file(Verifier *verifier, int fd, uint64_t size_bytes, FileSums *sums)
{
	uint64_t offset = 0;

	while (offset < size_bytes) {
		uint64_t data = extent_map_skip_hole(fd, offset);
		uint64_t start =
			data < size_bytes ? data - data % verifier->block_bytes : size_bytes;
		uint64_t end =
			start < size_bytes ? data_end(verifier, fd, start, size_bytes) : start;

		add_hole(verifier, sums, start - offset);
		sums->cached_bytes += page_cache_resident_bytes(fd, start, end - start);
		sums->data_bytes += end - start;
		if (!read_data(verifier, fd, start, end, sums))
			return false;
		offset = end;
	}

	return true;
}

/* Whether the open file is the version that was stored. */
static bool has_stamp(int fd, const Object *object)
{
	FileStat stat;

	return file_stat_at(fd, "", &stat) == 0 && stat.size_bytes == object->size_bytes &&
	       stat.btime_nsec == object->btime_nsec && stat.mtime_nsec == object->mtime_nsec &&
	       stat.ctime_nsec == object->ctime_nsec;
}

static Verified look_into_file(Verifier *verifier, int fd, const Object *object)
{
	const HashStoreAbout *about = hash_store_about(verifier->store);
	g_autofree FileSums *sums = g_new0(FileSums, 1);

	object_sums_init(&sums->by_data, about->anchor_blocks, 0, UINT64_MAX);
	object_sums_init(&sums->by_checksum, about->anchor_blocks, 0, UINT64_MAX);
	bool was_read = read_file(verifier, fd, object->size_bytes, sums);
	if (sums->cached_bytes <= sums->data_bytes / 2)
		page_cache_drop(fd, 0, object->size_bytes);
	if (!was_read)
		return VERIFIED_UNREADABLE;
	if (object_sums_finish(&sums->by_data, object->size_bytes, &nowhere) == object->digest ||
	    (verifier->extents && object_sums_finish(&sums->by_checksum, object->size_bytes,
						     &nowhere) == object->digest))
		return VERIFIED_RIGHT;

	return has_stamp(fd, object) ? VERIFIED_WRONG : VERIFIED_STALE;
}

static Verified look_at_file(Verifier *verifier, const Object *object)
{
	const FileId id = { object->subvolume, object->inode, object->generation };
	g_auto(Fd) fd = -1;
	int cause;

	switch (open_file_by_id(verifier->fd, verifier->kind, &id, &fd, &cause)) {
	case OPEN_OPENED:
		break;
	case OPEN_GONE:
	case OPEN_NOT_REGULAR:
		return VERIFIED_STALE;
	default:
		return VERIFIED_UNREADABLE;
	}

	/* Writes in memory show in the times after they are written out. */
	if (fdatasync(fd) != 0)
		return VERIFIED_UNREADABLE;
	return has_stamp(fd, object) ? look_into_file(verifier, fd, object) : VERIFIED_STALE;
}

/* Whether the extent is the one that was stored. */
static bool find_extent(Verifier *verifier, const Object *object, bool *ret, GError **error)
{
	const BtrfsTreeRange range = {
		.tree = BTRFS_EXTENT_TREE_OBJECTID,
		.first = { object->inode, BTRFS_EXTENT_ITEM_KEY, object->size_bytes },
		.last = { object->inode, BTRFS_EXTENT_ITEM_KEY, object->size_bytes },
	};
	const BtrfsTreeItem *item;
	BtrfsExtentItem extent;

	btrfs_tree_start(verifier->tree, verifier->fd, &range);
	if (!btrfs_tree_next(verifier->tree, &item, error))
		return false;

	*ret = item && btrfs_extent_item_read(item->data, item->length, &extent) &&
	       extent.generation == object_extent_generation(object);
	return true;
}

/* Add the sums of blocks that have any, and count these. */
static uint64_t add_checksums(Verifier *verifier, ObjectSums *sums, size_t n_blocks)
{
	uint64_t zeros = extent_sums_of_zeros(verifier->extents);
	uint64_t n_known = 0;

	for (size_t i = 0; i < n_blocks; i++) {
		uint64_t sum = verifier->piece_sums[i];

		n_known += sum != EXTENT_SUM_NONE;
		if (sum == EXTENT_SUM_NONE)
			object_sums_add_hole(sums, 1, &nowhere);
		else
			add_sum(sums, sum, zeros);
	}
	return n_known;
}

static bool look_at_extent(Verifier *verifier, const Object *object, Verified *ret, GError **error)
{
	uint64_t n_blocks = object->size_bytes / verifier->block_bytes;
	uint64_t n_known = 0;
	bool is_there;
	ObjectSums sums;

	*ret = VERIFIED_STALE;
	if (!find_extent(verifier, object, &is_there, error))
		return false;
	if (!is_there)
		return true;

	object_sums_init(&sums, hash_store_about(verifier->store)->anchor_blocks, 0, UINT64_MAX);
	for (uint64_t first = 0; first < n_blocks; first += PIECE_BLOCKS) {
		size_t n = (size_t)MIN(n_blocks - first, PIECE_BLOCKS);

		if (!extent_sums_read(verifier->extents,
				      object->inode + first * verifier->block_bytes, n,
				      verifier->piece_sums, error))
			return false;
		n_known += add_checksums(verifier, &sums, n);
	}

	if (object_sums_finish(&sums, object->size_bytes, &nowhere) == object->digest) {
		*ret = VERIFIED_RIGHT;
		return true;
	}
	/* The extent may have been freed and its address reused meanwhile. */
	if (!find_extent(verifier, object, &is_there, error))
		return false;
	if (is_there && n_known == object_extent_summed_blocks(object))
		*ret = VERIFIED_WRONG;
	return true;
}

bool verifier_look(Verifier *verifier, const Object *object, Verified *ret, GError **error)
{
	if (is_extent(verifier, object))
		return look_at_extent(verifier, object, ret, error);

	*ret = look_at_file(verifier, object);
	return true;
}
