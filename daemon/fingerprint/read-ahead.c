/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/fingerprint/read-ahead.h"

#include "common/files/special-files.h"
#include "daemon/context/compare-uint64.h"
#include "kernel-ioctl/file/extent-map.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* Readers of direct pieces, on each disk: it needs several requests at a time, and nothing is fetched ahead. */
#define DIRECT_READERS 4

/* Of a page that the kernel can pin at once.  For a buffer in small pages, a direct read takes five times as long. */
#define HUGE_PAGE_BYTES (UINT64_C(2) << 20)

/* The window. */
#define WINDOW_FILES 128
#define WINDOW_PARTS 4096
#define WINDOW_BYTES (UINT64_C(32) << 20)

/* An extent of at least this length is read as a stream. */
#define STREAM_BYTES (UINT64_C(8) << 20)

struct ReadAhead {
	/* Set at creation, never changed.  Readers see only the const parts. */
	Pass *pass;
	ReadList *list;
	FileOpener *opener;
	BlockSums *sums;
	SumCache *cache;
	ExtentMap *extents;
	ReaderPool *pool;
	uint8_t *buffers;      /* one piece to a reader */
	void *buffers_mapping; /* around them */
	size_t buffers_mapping_bytes;

	/* Thread: the worker. */
	GQueue files;      /* FileJob, opened, in the order of the list; the first is given out */
	FileJob *mapping;  /* whose extents come from the map; NULL: none */
	MappedExtent rest; /* the rest of its extent, which is no part yet; length 0: nothing */
	uint64_t position; /* up to here the file was mapped */
	uint64_t extent_start;
	bool is_stream; /* the extent is left to the kernel's readahead */
	bool is_at_end; /* of the list */
	FilePart *part; /* given out */
	unsigned n_parts;
	uint64_t window_bytes;
	GTree *in_flight; /* set of FilePart whose sums will be cached, by address */
};

static int compare_addresses(const void *a, const void *b, void *data)
{
	return compare_uint64(((const FilePart *)a)->piece.physical,
			      ((const FilePart *)b)->piece.physical);
}

/* Thread: a reader. */
static void hash_blocks(const ReadAhead *ahead, FilePart *part, uint8_t *buffer, size_t length)
{
	uint32_t block_bytes = ahead->pass->block_bytes;

	memset(buffer + length, 0, part->n_blocks * block_bytes - length);
	for (size_t i = 0; i < part->n_blocks; i++)
		part->sums[i] = block_sums_of_data(ahead->sums, buffer + i * block_bytes,
						   part->job->has_checksums);
}

/* Thread: a reader. */
static void read_part(Piece *piece, unsigned reader, void *data)
{
	const ReadAhead *ahead = data;
	FilePart *part = (FilePart *)piece;
	uint8_t *buffer = ahead->buffers + reader * FILE_READER_PIECE_BYTES;
	size_t length = (size_t)(part->end - part->offset);

	if (piece->is_direct)
		part->outcome =
			file_reader_read_directly(part->job->reader, part->offset, length, buffer);
	else
		part->outcome =
			file_reader_read_held(part->job->reader, part->offset, length, buffer);
	if (part->outcome != READ_DONE)
		return;

	part->is_special = part->offset == 0 && special_files_match(buffer, length, &part->special);
	if (!part->is_special)
		hash_blocks(ahead, part, buffer, length);
}

/* Thread: a reader. */
static void fetch_part(const Piece *piece, void *data)
{
	const FilePart *part = (const FilePart *)piece;

	file_reader_fetch_held(part->job->reader, part->offset, part->end - part->offset);
}

/* In a mapping of their own: in the heap, what is allocated there later would take huge pages, and keep them. */
static bool make_buffers(ReadAhead *ahead, unsigned n_readers, GError **error)
{
	size_t bytes = (n_readers * FILE_READER_PIECE_BYTES + HUGE_PAGE_BYTES - 1) /
		       HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
	void *mapping = mmap(NULL, bytes + HUGE_PAGE_BYTES, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (mapping == MAP_FAILED) {
		g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(errno),
			    "cannot get memory to read files: %s", g_strerror(errno));
		return false;
	}

	ahead->buffers_mapping = mapping;
	ahead->buffers_mapping_bytes = bytes + HUGE_PAGE_BYTES;
	ahead->buffers = (uint8_t *)mapping + (-(uintptr_t)mapping % HUGE_PAGE_BYTES);
	/* Without huge pages it works, too.  For a page that is not in memory, btrfs would use the page cache. */
	madvise(ahead->buffers, bytes, MADV_HUGEPAGE);
	memset(ahead->buffers, 0, bytes);
	return true;
}

ReadAhead *read_ahead_new(Pass *pass, ReadList *list, FileOpener *opener, BlockSums *sums,
			  unsigned n_readers, GError **error)
{
	g_autoptr(ReadAhead) ahead = g_new0(ReadAhead, 1);
	ReaderPoolWork work = { read_part, fetch_part, ahead, n_readers, pass->throttle };
	unsigned n_threads = MAX(n_readers, DIRECT_READERS);

	ahead->pass = pass;
	ahead->list = list;
	ahead->opener = opener;
	ahead->sums = sums;
	ahead->cache = sum_cache_new(pass->settings->state_directory, pass->block_bytes,
				     pass->settings->memory_bytes * SUM_CACHE_MEMORIES);
	ahead->extents = extent_map_new();
	ahead->in_flight = g_tree_new_full(compare_addresses, NULL, NULL, NULL);
	if (!make_buffers(ahead, n_threads, error))
		return NULL;

	ahead->pool = reader_pool_new(n_threads, &work, error);
	return ahead->pool ? g_steal_pointer(&ahead) : NULL;
}

static void part_free(ReadAhead *ahead, FilePart *part)
{
	if (!part)
		return;

	if (part->kind == PART_DATA) {
		ahead->window_bytes -= part->end - part->offset;
		if (part->origin == SUMS_READ) {
			reader_pool_withdraw(ahead->pool, &part->piece);
			file_reader_release(part->job->reader, part->offset,
					    part->end - part->offset);
			if (part->is_cached)
				g_tree_remove(ahead->in_flight, part);
		}
	}
	ahead->n_parts--;
	g_free(part->sums);
	g_free(part);
}

static void close_file(ReadAhead *ahead)
{
	FileJob *job = g_queue_pop_head(&ahead->files);
	FilePart *part;

	if (!job)
		return;

	part_free(ahead, g_steal_pointer(&ahead->part));
	while ((part = g_queue_pop_head(&job->parts)))
		part_free(ahead, part);
	if (ahead->mapping == job)
		ahead->mapping = NULL;
	file_job_free(job);
}

void read_ahead_free(ReadAhead *ahead)
{
	if (!ahead)
		return;

	while (!g_queue_is_empty(&ahead->files))
		close_file(ahead);
	reader_pool_free(ahead->pool);
	if (ahead->buffers_mapping)
		munmap(ahead->buffers_mapping, ahead->buffers_mapping_bytes);
	g_tree_unref(ahead->in_flight);
	extent_map_free(ahead->extents);
	sum_cache_free(ahead->cache);
	g_free(ahead);
}

SumCache *read_ahead_cache(ReadAhead *ahead)
{
	return ahead->cache;
}

uint64_t read_ahead_end(ReadAhead *ahead)
{
	while (!g_queue_is_empty(&ahead->files))
		close_file(ahead);
	return reader_pool_end(ahead->pool);
}

static FilePart *add_part(ReadAhead *ahead, FilePartKind kind, uint64_t offset, uint64_t end)
{
	FilePart *part = g_new0(FilePart, 1);

	part->kind = kind;
	part->job = ahead->mapping;
	part->offset = offset;
	part->end = end;
	g_queue_push_tail(&ahead->mapping->parts, part);
	ahead->n_parts++;
	return part;
}

/*
 * How many of @n_blocks blocks from @physical are alike; *ret: their sums are going to be cached for another part.
 */
static size_t look_in_flight(const ReadAhead *ahead, uint64_t physical, size_t n_blocks, bool *ret)
{
	uint32_t block_bytes = ahead->pass->block_bytes;
	FilePart key = { .piece.physical = physical };
	GTreeNode *after = g_tree_upper_bound(ahead->in_flight, &key);
	GTreeNode *before =
		after ? g_tree_node_previous(after) : g_tree_node_last(ahead->in_flight);
	const FilePart *part = before ? g_tree_node_key(before) : NULL;
	uint64_t end = part ? part->piece.physical + part->n_blocks * block_bytes : 0;

	*ret = end > physical;
	if (*ret)
		return MIN(n_blocks, (end - physical) / block_bytes);
	if (!after)
		return n_blocks;

	part = g_tree_node_key(after);
	return MIN(n_blocks, (part->piece.physical - physical) / block_bytes);
}

/* Find where the sums of @part come from, and cut it off where another case begins. */
static void find_sums(ReadAhead *ahead, FilePart *part)
{
	uint64_t physical = part->piece.physical;
	bool is_known = false;

	part->origin = SUMS_READ;
	if (part->job->has_checksums) {
		if (block_sums_read(ahead->sums, physical, part->n_blocks, part->sums))
			part->origin = SUMS_KNOWN;
		return;
	}
	if (!part->is_cached)
		return;

	part->n_blocks =
		sum_cache_get(ahead->cache, physical, part->sums, part->n_blocks, &is_known);
	if (is_known) {
		part->origin = SUMS_KNOWN;
		return;
	}
	part->n_blocks = look_in_flight(ahead, physical, part->n_blocks, &is_known);
	if (is_known)
		part->origin = SUMS_CACHED;
	else
		g_tree_insert(ahead->in_flight, part, part);
}

/* Have the part read. */
static void begin_reading(ReadAhead *ahead, FilePart *part)
{
	part->piece.file = part->job;
	part->piece.length = part->end - part->offset;
	file_reader_hold(part->job->reader, part->offset, part->piece.length);
	/* The kernel reads compressed data, which has no address, through the page cache. */
	part->piece.is_direct = file_reader_choose_direct(part->job->reader, part->offset,
							  part->piece.length, part->is_addressed);
	part->piece.is_cached =
		file_reader_was_cached(part->job->reader, part->offset, part->piece.length);
	reader_pool_put(ahead->pool, &part->piece);
}

/* Make the first piece of the rest of the extent a part. */
static void add_data(ReadAhead *ahead)
{
	MappedExtent *rest = &ahead->rest;
	uint32_t block_bytes = ahead->pass->block_bytes;
	uint64_t size = ahead->mapping->stamp.size_bytes;
	uint64_t piece_end = MIN(rest->length, FILE_READER_PIECE_BYTES) + rest->logical;
	FilePart *part = add_part(ahead, PART_DATA, rest->logical, MIN(piece_end, size));
	bool is_addressed = mapped_extent_is_addressed(rest);

	part->n_blocks = (size_t)((part->end - part->offset + block_bytes - 1) / block_bytes);
	part->sums = g_new(uint64_t, part->n_blocks);
	part->piece.physical = rest->physical;
	part->piece.goes_on = ahead->is_stream && part->offset > ahead->extent_start;
	part->is_addressed = is_addressed;
	part->is_shared = rest->flags & EXTENT_SHARED;
	part->is_clone = part->is_shared && is_addressed && !part->job->has_checksums;
	part->is_cached = part->is_clone;
	if (is_addressed)
		find_sums(ahead, part);
	else
		part->origin = SUMS_READ;

	part->end = MIN(part->end, part->offset + part->n_blocks * block_bytes);
	ahead->window_bytes += part->end - part->offset;
	rest->length -= MIN(rest->length, part->n_blocks * block_bytes);
	rest->physical += is_addressed ? part->n_blocks * block_bytes : 0;
	rest->logical += part->n_blocks * block_bytes;
	if (rest->logical >= size)
		rest->length = 0;
	if (part->origin == SUMS_READ)
		begin_reading(ahead, part);
}

/* A large extent that is read whole is left to the kernel's readahead. */
static void begin_extent(ReadAhead *ahead, const MappedExtent *extent)
{
	FileJob *job = ahead->mapping;
	bool is_last = extent->logical + extent->length >= job->stamp.size_bytes;

	ahead->is_stream = !(extent->flags & EXTENT_SHARED) && !job->has_checksums &&
			   (extent->length >= STREAM_BYTES || is_last);
	file_reader_expect_all(job->reader, ahead->is_stream);
	ahead->extent_start = extent->logical;
	ahead->rest = *extent;
}

static void end_mapping(ReadAhead *ahead, FilePartKind kind)
{
	if (kind != PART_DATA)
		add_part(ahead, kind, 0, 0);
	ahead->mapping = NULL;
}

/* Map the next extent of the present file. */
static void map_extent(ReadAhead *ahead)
{
	g_autoptr(GError) unmapped = NULL;
	const MappedExtent *extent;

	if (!extent_map_next(ahead->extents, &extent, &unmapped)) {
		end_mapping(ahead, PART_UNREADABLE);
		return;
	}
	if (!extent) {
		add_part(ahead, PART_HOLE, ahead->position, ahead->mapping->stamp.size_bytes);
		end_mapping(ahead, PART_DATA);
		return;
	}
	if (extent->flags & EXTENT_INLINE) {
		end_mapping(ahead, PART_INLINE);
		return;
	}

	if (extent->logical > ahead->position)
		add_part(ahead, PART_HOLE, ahead->position, extent->logical);
	ahead->position = extent->logical + extent->length;
	if (extent->flags & EXTENT_UNWRITTEN)
		add_part(ahead, PART_UNWRITTEN, extent->logical, ahead->position);
	else
		begin_extent(ahead, extent);
}

/* Whether any of the file's data is shared. */
static bool shares_data(ReadAhead *ahead, const FileJob *job)
{
	const MappedExtent *extent;

	extent_map_start(ahead->extents, file_reader_fd(job->reader), 0, job->stamp.size_bytes,
			 false);
	do {
		/* A file that cannot be mapped is skipped when it is read. */
		if (!extent_map_next(ahead->extents, &extent, NULL))
			return false;
	} while (extent && !(extent->flags & EXTENT_SHARED));

	return extent;
}

/* The sums of all blocks take so many times the room of anchors. */
#define BY_EXTENTS_ROOM 7

/*
 * Take room in the store for @job, or note that there is none.  On XFS the store has the anchors of a block once,
 * however many files show it.
 */
static void take_room(ReadAhead *ahead, FileJob *job)
{
	Pass *pass = ahead->pass;
	uint64_t bytes = job->is_by_extents ? job->data_bytes * BY_EXTENTS_ROOM : job->data_bytes;

	job->has_no_room = !store_room_take(pass->room, bytes, !job->is_whole, &job->room_bytes,
					    &job->no_room);
	if (job->has_no_room || job->is_whole || job->is_by_extents ||
	    pass->filesystem->identity.kind == FS_KIND_XFS ||
	    store_room_is_for_clones(pass->room, job->room_bytes, &job->no_room) ||
	    !shares_data(ahead, job))
		return;

	store_room_give_back(pass->room, job->room_bytes);
	job->has_no_room = true;
}

/* Begin to map @job, unless it will be skipped. */
static bool begin_mapping(ReadAhead *ahead, FileJob *job, GError **error)
{
	Pass *pass = ahead->pass;
	uint64_t size = job->stamp.size_bytes;
	SkipReason reason;
	uint64_t start;

	if (job->outcome != OPEN_OPENED ||
	    special_files_are_forbidden(pass->settings, &job->attributes, &reason))
		return true;
	take_room(ahead, job);
	if (job->has_no_room)
		return true;
	if (!file_job_begin(job, pass, error))
		return false;

	start = object_sums_blocks(&job->learned.sums) * pass->block_bytes;
	extent_map_start(ahead->extents, file_reader_fd(job->reader), start,
			 size > start ? size - start : 0, true);
	ahead->rest.length = 0;
	ahead->position = start;
	ahead->mapping = job;
	return true;
}

static bool open_next(ReadAhead *ahead, GError **error)
{
	const ReadItem *item;
	FileJob *job;

	if (!read_list_next(ahead->list, &item, error))
		return false;
	if (!item) {
		ahead->is_at_end = true;
		return true;
	}

	job = file_job_open(ahead->pass, ahead->opener, item);
	g_queue_push_tail(&ahead->files, job);
	return begin_mapping(ahead, job, error);
}

static bool has_room(const ReadAhead *ahead)
{
	return ahead->n_parts < WINDOW_PARTS && ahead->window_bytes < WINDOW_BYTES &&
	       (ahead->mapping ||
		(!ahead->is_at_end && g_queue_get_length((GQueue *)&ahead->files) < WINDOW_FILES));
}

/* Whether at least half of the window was given out. */
static bool is_half_empty(const ReadAhead *ahead)
{
	return ahead->n_parts <= WINDOW_PARTS / 2 && ahead->window_bytes <= WINDOW_BYTES / 2 &&
	       g_queue_get_length((GQueue *)&ahead->files) <= WINDOW_FILES / 2;
}

/* Open and map until the window is full. */
static bool fill_window(ReadAhead *ahead, GError **error)
{
	while (has_room(ahead) && pass_checkpoint(ahead->pass)) {
		if (!ahead->mapping) {
			if (!open_next(ahead, error))
				return false;
		} else if (ahead->rest.length > 0) {
			add_data(ahead);
		} else {
			map_extent(ahead);
		}
	}

	return true;
}

/*
 * With one reader, on a rotating disk, the worker and the reader take turns on the disk.  The reader gets many
 * pieces at a time: if they came one by one, it would often read them in the order in which they come.
 */
static bool fill(ReadAhead *ahead, GError **error)
{
	bool filled;

	if (ahead->pass->parallelism.n_readers > 1)
		return fill_window(ahead, error);
	if (!is_half_empty(ahead))
		return true;

	reader_pool_plug(ahead->pool);
	filled = fill_window(ahead, error);
	reader_pool_unplug(ahead->pool);
	return filled;
}

bool read_ahead_next(ReadAhead *ahead, FileJob **ret, GError **error)
{
	close_file(ahead);
	if (!fill(ahead, error))
		return false;

	*ret = g_queue_peek_head(&ahead->files);
	return true;
}

/* Read again sums that should be in the cache and are not: the first reader failed, or they were evicted. */
static void find_cached(ReadAhead *ahead, FilePart *part)
{
	bool is_known;

	part->origin = SUMS_KNOWN;
	if (sum_cache_get(ahead->cache, part->piece.physical, part->sums, part->n_blocks,
			  &is_known) == part->n_blocks &&
	    is_known)
		return;

	part->origin = SUMS_READ;
	part->is_cached = false;
	begin_reading(ahead, part);
}

static void await_sums(ReadAhead *ahead, FilePart *part)
{
	if (part->origin == SUMS_CACHED)
		find_cached(ahead, part);
	if (part->origin != SUMS_READ)
		return;

	reader_pool_wait(ahead->pool, &part->piece);
	if (part->is_cached && part->outcome == READ_DONE && !part->is_special)
		sum_cache_put(ahead->cache, part->piece.physical, part->sums, part->n_blocks);
}

bool read_ahead_next_part(ReadAhead *ahead, FilePart **ret, GError **error)
{
	FileJob *job = g_queue_peek_head(&ahead->files);

	*ret = NULL;
	part_free(ahead, g_steal_pointer(&ahead->part));
	if (!fill(ahead, error))
		return false;
	if (!pass_checkpoint(ahead->pass))
		return true;

	ahead->part = g_queue_pop_head(&job->parts);
	if (ahead->part && ahead->part->kind == PART_DATA)
		await_sums(ahead, ahead->part);
	*ret = ahead->part;
	return true;
}
