/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/fingerprint.h"

#include "daemon/anchor-sink.h"
#include "daemon/block-sums.h"
#include "daemon/file-reader.h"
#include "daemon/object-skips.h"
#include "daemon/object-sums.h"
#include "daemon/special-files.h"
#include "daemon/sum-cache.h"
#include "daemon/zeros.h"
#include "hashstore/objects.h"
#include "kernel-ioctl/extent-map.h"
#include "kernel-ioctl/fd.h"
#include "kernel-ioctl/file-attributes.h"
#include "kernel-ioctl/file-stat.h"

#include <string.h>

#define HALF_FILE_BYTES (UINT64_C(1) << 30)
#define AHEAD_FILES     16
#define AHEAD_BYTES     (UINT64_C(256) << 10)

/* What was learned of a file so far; kept as it is for one that is half read. */
typedef struct {
	uint64_t shared_bytes;
	bool has_hole;
	bool has_unwritten;
	ObjectSums sums;
} Learned;

/* A file on its way through. */
typedef struct {
	NamedFile file;
	char *name;
	uint32_t half_object;
	OpenOutcome outcome;
	FileReader *reader;
	Stamp stamp;
	int64_t seen_nsec; /* when the stamp was taken */
	FileAttributes attributes;
	bool is_immutable;
	bool is_foreign;
	bool has_checksums;
	bool is_plain;
	bool is_whole;
	uint64_t head;
	uint32_t object;
	uint64_t next_half_bytes; /* of the file: where to keep the state next */
	Learned learned;
} Job;

typedef struct {
	Pass *pass;
	ReadList *to_read;
	FileOpener *opener;
	ExtentMap *extents;
	SumCache *cache;
	const HashStoreAbout *about;
	const BlockSums *sums;
	uint8_t *buffer;      /* one piece */
	uint64_t *piece_sums; /* of one piece */
	GQueue jobs;          /* opened, in the order to be read */
	Job *job;             /* the one being read */
	AnchorSink anchors;
} Fingerprinter;

typedef enum {
	FINGERPRINT_DONE,
	FINGERPRINT_STOPPED,
	FINGERPRINT_SKIPPED, /* with a reason */
	FINGERPRINT_FAILED,  /* with an error */
} FingerprintOutcome;

static void job_free(Job *job)
{
	if (!job)
		return;

	file_reader_free(job->reader);
	g_free(job->name);
	g_free(job);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Job, job_free)

static int64_t now_nsec(void)
{
	return g_get_real_time() * 1000;
}

static Stamp stamp_of(const FileStat *stat)
{
	return (Stamp){ stat->size_bytes, stat->btime_nsec, stat->mtime_nsec, stat->ctime_nsec };
}

/* Fetch the file's beginning, unless it may have been read for another file. */
static void fetch_beginning(Fingerprinter *printer, Job *job)
{
	uint64_t wanted = MIN(job->stamp.size_bytes, AHEAD_BYTES);
	g_autoptr(GError) ignored = NULL;
	const MappedExtent *extent = NULL;

	extent_map_start(printer->extents, file_reader_fd(job->reader), 0, wanted, false);
	if (!job->half_object && extent_map_next(printer->extents, &extent, &ignored) && extent &&
	    extent->logical == 0 && extent->flags == 0)
		file_reader_fetch(job->reader, 0, MIN(wanted, extent->length));
}

/* Open the file and fetch its beginning. */
static Job *job_open(Fingerprinter *printer, const ReadItem *item)
{
	Pass *pass = printer->pass;
	Job *job = g_new0(Job, 1);
	g_autoptr(GError) ignored = NULL;
	g_auto(Fd) fd = -1;
	FileStat stat;
	int failed;

	job->name = g_strdup(item->name);
	job->file = (NamedFile){ item->id, item->parent, job->name };
	job->half_object = item->half_object;
	job->is_foreign = item->is_foreign;
	job->has_checksums = item->has_checksums;
	job->is_plain = item->is_plain;
	job->is_whole = item->is_whole;
	job->head = item->head;
	job->stamp = item->stamp;
	job->outcome = file_opener_open(printer->opener, &job->file, &fd, &failed);
	if (job->outcome != OPEN_OPENED)
		return job;

	if (file_stat_at(fd, "", &stat) != 0 || stat.inode != item->id.inode ||
	    !file_attributes_read(fd, pass->filesystem->identity.kind, &job->attributes,
				  &ignored)) {
		job->outcome = OPEN_GONE;
		return job;
	}

	job->seen_nsec = now_nsec();
	job->stamp = stamp_of(&stat);
	if (stamp_compare(&item->stamp, &job->stamp) != STAMP_SAME) {
		job->half_object = 0;
		job->head = 0;
	}
	job->file.id.generation = job->attributes.generation;
	job->is_immutable = stat.is_immutable || job->attributes.is_immutable;
	job->reader =
		file_reader_new_take(fd_steal(&fd), stat.size_bytes, pass->throttle, pass->stop);
	if (!job->has_checksums)
		fetch_beginning(printer, job);
	return job;
}

/* The row of the job's object, as far as it is known. */
static Object row_of(const Job *job)
{
	return (Object){
		.id = job->object,
		.subvolume = job->file.id.subvolume,
		.inode = job->file.id.inode,
		.generation = job->file.id.generation,
		.size_bytes = job->stamp.size_bytes,
		.btime_nsec = job->stamp.btime_nsec,
		.mtime_nsec = job->stamp.mtime_nsec,
		.ctime_nsec = job->stamp.ctime_nsec,
		.flags = stamp_is_racy(&job->stamp, job->seen_nsec) ? OBJECT_RACY : 0,
		.parent = job->file.parent,
		.name = (const uint8_t *)job->name,
		.name_bytes = strlen(job->name),
	};
}

static void count_skip(Fingerprinter *printer, const Job *job, SkipReason reason)
{
	SkipLedger *skips = &printer->pass->result->skips;
	NamedFile file = { job->file.id, job->file.parent, job->name };
	g_autofree char *path = NULL;

	if (skip_ledger_wants_example(skips, reason))
		path = object_skips_path(printer->pass, printer->opener, &file);
	skip_ledger_add(skips, reason, job->stamp.size_bytes, path);
}

/* Leave the file alone for as long as its stamp holds. */
static FingerprintOutcome skip_for_good(Fingerprinter *printer, Job *job, SkipReason reason,
					GError **error)
{
	Object row;

	count_skip(printer, job, reason);
	if (!job->object && !hash_store_new_object(printer->pass->store, &job->object, error))
		return FINGERPRINT_FAILED;

	row = row_of(job);
	row.state = OBJECT_SKIPPED;
	row.skip_reason = reason;
	printer->pass->result->files.set_aside++;
	return hash_store_put(printer->pass->store, &row, error) ? FINGERPRINT_SKIPPED
								 : FINGERPRINT_FAILED;
}

/* Leave the file alone this time. */
static FingerprintOutcome skip_for_now(Fingerprinter *printer, const Job *job, SkipReason reason)
{
	count_skip(printer, job, reason);
	return FINGERPRINT_SKIPPED;
}

static ObjectSumsSink sink_of(Fingerprinter *printer)
{
	printer->anchors.object = printer->job->object;
	return anchor_sink(&printer->anchors);
}

static void add_sums(Fingerprinter *printer, size_t n_blocks)
{
	ObjectSumsSink sink = sink_of(printer);
	uint64_t zeros = block_sums_of_zeros(printer->sums, printer->job->has_checksums);

	for (size_t i = 0; i < n_blocks; i++) {
		if (printer->piece_sums[i] == zeros)
			object_sums_add_zeros(&printer->job->learned.sums, 1, &sink);
		else
			object_sums_add(&printer->job->learned.sums, printer->piece_sums[i], &sink);
	}
}

static FingerprintOutcome after_read(Fingerprinter *printer, ReadOutcome outcome, GError **error)
{
	switch (outcome) {
	case READ_DONE:
		return FINGERPRINT_DONE;
	case READ_STOPPED:
		return FINGERPRINT_STOPPED;
	case READ_SHORT:
		return skip_for_now(printer, printer->job, SKIP_CHANGED);
	case READ_UNREADABLE:
		break;
	}

	return skip_for_good(printer, printer->job, SKIP_UNREADABLE, error);
}

/*
 * Read blocks of one extent, at most a piece, and hash them.  The block at the end of file is
 * padded with zeros, as it is on the disk.
 */
static FingerprintOutcome read_piece(Fingerprinter *printer, uint64_t offset, size_t n_blocks,
				     uint64_t fetch_bytes, GError **error)
{
	Job *job = printer->job;
	Pass *pass = printer->pass;
	size_t padded = n_blocks * pass->block_bytes;
	size_t length = MIN(padded, job->stamp.size_bytes - offset);
	ReadOutcome outcome = file_reader_read(job->reader, offset, length, printer->buffer);
	SkipReason reason;

	if (outcome != READ_DONE)
		return after_read(printer, outcome, error);
	if (offset == 0 && special_files_match(printer->buffer, length, &reason))
		return skip_for_good(printer, job, reason, error);

	if (fetch_bytes)
		file_reader_fetch(job->reader, offset + length, fetch_bytes);
	memset(printer->buffer + length, 0, padded - length);
	for (size_t i = 0; i < n_blocks; i++)
		printer->piece_sums[i] = block_sums_of_data(
			printer->sums, printer->buffer + i * pass->block_bytes, job->has_checksums);

	pass->result->finding_bytes += length;
	return FINGERPRINT_DONE;
}

/* Keep how far a large file was read. */
static bool keep_half(Fingerprinter *printer, GError **error)
{
	Job *job = printer->job;
	HashStore *store = printer->pass->store;
	Object row = row_of(job);

	row.state = OBJECT_HALF;
	row.flags |= job->is_whole ? OBJECT_WHOLE : 0;
	job->next_half_bytes = object_sums_blocks(&job->learned.sums) * printer->pass->block_bytes +
			       HALF_FILE_BYTES;
	return hash_store_put(store, &row, error) &&
	       hash_store_put_half(store, job->object, object_sums_blocks(&job->learned.sums),
				   &job->learned, sizeof(job->learned), error);
}

/* Of a file that takes long to read, keep now and then how far it is. */
static bool keep_half_when_due(Fingerprinter *printer, GError **error)
{
	const Job *job = printer->job;

	if (object_sums_blocks(&job->learned.sums) * printer->pass->block_bytes <
	    job->next_half_bytes)
		return true;

	return keep_half(printer, error) && pass_commit_when_due(printer->pass, error);
}

/* Fingerprint the part of @extent that lies in the file. */
static FingerprintOutcome add_extent(Fingerprinter *printer, const MappedExtent *extent,
				     GError **error)
{
	uint32_t block_bytes = printer->pass->block_bytes;
	uint64_t size = printer->job->stamp.size_bytes;
	uint64_t end = MIN(extent->logical + extent->length, size);
	bool is_addressed = mapped_extent_is_addressed(extent);
	bool has_checksums = printer->job->has_checksums && is_addressed;
	bool is_cached =
		extent->flags & EXTENT_SHARED && !printer->job->has_checksums && is_addressed;

	if (extent->flags & EXTENT_SHARED)
		printer->job->learned.shared_bytes += end - extent->logical;

	for (uint64_t offset = extent->logical; offset < end;) {
		uint64_t length = MIN(end - offset, FILE_READER_PIECE_BYTES);
		uint64_t physical = extent->physical + (offset - extent->logical);
		size_t n_blocks = (length + block_bytes - 1) / block_bytes;

		bool is_known = has_checksums ? block_sums_read(printer->sums, physical, n_blocks,
								printer->piece_sums)
				: is_cached   ? sum_cache_get(printer->cache, physical,
							      printer->piece_sums, n_blocks)
					      : false;

		if (!is_known) {
			uint64_t rest = is_cached ? 0 : end - offset - length;
			FingerprintOutcome outcome =
				read_piece(printer, offset, n_blocks,
					   MIN(rest, FILE_READER_PIECE_BYTES), error);

			if (outcome != FINGERPRINT_DONE)
				return outcome;
			if (is_cached)
				sum_cache_put(printer->cache, physical, printer->piece_sums,
					      n_blocks);
		}

		add_sums(printer, n_blocks);
		atomic_fetch_add(&printer->pass->progress->done_bytes, length);
		offset += length;
		if (!keep_half_when_due(printer, error))
			return FINGERPRINT_FAILED;
	}

	return FINGERPRINT_DONE;
}

/* Blocks up to @end that no extent holds. */
static void add_gap(Fingerprinter *printer, uint64_t end, bool is_unwritten)
{
	uint32_t block_bytes = printer->pass->block_bytes;
	uint64_t end_block =
		(MIN(end, printer->job->stamp.size_bytes) + block_bytes - 1) / block_bytes;
	uint64_t position = object_sums_blocks(&printer->job->learned.sums);
	ObjectSumsSink sink = sink_of(printer);

	if (end_block <= position)
		return;

	printer->job->learned.has_unwritten |= is_unwritten;
	printer->job->learned.has_hole |= !is_unwritten;
	object_sums_add_hole(&printer->job->learned.sums, end_block - position, &sink);
	atomic_fetch_add(&printer->pass->progress->done_bytes,
			 (end_block - position) * block_bytes);
}

/* Begin a new object, or go on with the half-read one. */
static bool begin_object(Fingerprinter *printer, GError **error)
{
	Job *job = printer->job;
	HashStore *store = printer->pass->store;
	g_autoptr(GBytes) state = NULL;
	uint64_t done_blocks;

	job->next_half_bytes = HALF_FILE_BYTES;
	if (job->half_object) {
		if (!hash_store_get_half(store, job->half_object, &done_blocks, &state, error))
			return false;
		if (state && g_bytes_get_size(state) == sizeof(job->learned)) {
			memcpy(&job->learned, g_bytes_get_data(state, NULL), sizeof(job->learned));
			job->object = job->half_object;
			job->is_whole = !object_sums_have_anchors(&job->learned.sums);
			job->next_half_bytes += done_blocks * printer->pass->block_bytes;
			atomic_fetch_add(&printer->pass->progress->done_bytes,
					 done_blocks * printer->pass->block_bytes);
			return true;
		}
	}

	object_sums_init(&job->learned.sums, printer->about->anchor_blocks,
			 job->is_whole ? 0 : printer->about->window_anchors,
			 MAX(ZEROS_RUN_BYTES / printer->pass->block_bytes, 1));
	return hash_store_new_object(store, &job->object, error);
}

static FingerprintOutcome add_extents(Fingerprinter *printer, GError **error)
{
	Job *job = printer->job;
	uint64_t start = object_sums_blocks(&job->learned.sums) * printer->pass->block_bytes;
	uint64_t size = job->stamp.size_bytes;
	g_autoptr(GError) unmapped = NULL;

	extent_map_start(printer->extents, file_reader_fd(job->reader), start,
			 size > start ? size - start : 0, true);

	for (;;) {
		FingerprintOutcome outcome = FINGERPRINT_DONE;
		const MappedExtent *extent;

		if (!extent_map_next(printer->extents, &extent, &unmapped))
			return skip_for_good(printer, job, SKIP_UNREADABLE, error);
		if (!extent)
			break;
		if (extent->flags & EXTENT_INLINE)
			return skip_for_good(printer, job, SKIP_INLINE, error);

		add_gap(printer, extent->logical, false);
		if (extent->flags & EXTENT_UNWRITTEN)
			add_gap(printer, extent->logical + extent->length, true);
		else
			outcome = add_extent(printer, extent, error);
		if (outcome != FINGERPRINT_DONE)
			return outcome;
	}

	add_gap(printer, size, false);
	return FINGERPRINT_DONE;
}

/* All was read: the digest over it, and the row. */
static FingerprintOutcome end_object(Fingerprinter *printer, GError **error)
{
	Job *job = printer->job;
	Pass *pass = printer->pass;
	ObjectSumsSink sink = sink_of(printer);
	ZerosEvidence evidence = { job->stamp.size_bytes, job->learned.has_hole,
				   job->learned.has_unwritten, job->name };
	Anchor whole = { .object = job->object, .block = ANCHOR_WHOLE_BLOCK };
	Object row;
	FileStat stat;
	Stamp stamp;

	if (file_stat_at(file_reader_fd(job->reader), "", &stat) != 0)
		return skip_for_now(printer, job, SKIP_CHANGED);
	stamp = stamp_of(&stat);
	if (stamp_compare(&job->stamp, &stamp) != STAMP_SAME)
		return skip_for_now(printer, job, SKIP_CHANGED);

	/* On XFS, where what is shared onto is thrown out of the page cache. */
	if (pass->filesystem->identity.kind == FS_KIND_XFS &&
	    file_reader_hot_bytes(job->reader) >= (job->stamp.size_bytes + 1) / 2)
		hot_objects_add(pass->hot, job->object);

	row = row_of(job);
	row.state = OBJECT_DONE;
	row.flags |= job->is_immutable ? OBJECT_IMMUTABLE : 0;
	row.flags |= job->is_foreign ? OBJECT_FOREIGN : 0;
	row.flags |= job->is_plain ? OBJECT_PLAIN : 0;
	row.flags |= job->is_whole ? OBJECT_WHOLE : 0;
	row.flags |= job->head ? OBJECT_HAS_HEAD : 0;
	row.head = job->head;
	row.flags |= job->attributes.is_no_cow ? OBJECT_NO_COW : 0;
	row.flags |= job->learned.shared_bytes > job->stamp.size_bytes / 2 ? OBJECT_SHARED : 0;
	row.flags |= zeros_look_provisioned(&evidence) ? OBJECT_KEEP_ZEROS : 0;
	row.digest = object_sums_finish(&job->learned.sums, job->stamp.size_bytes, &sink);

	whole.digest = row.digest;
	/* Zeros are shared with a hole where they are looked for. */
	if ((job->is_whole || job->learned.sums.n_data > 0) &&
	    !hash_store_put_anchor(pass->store, &whole, error))
		return FINGERPRINT_FAILED;

	pass->result->files.read++;
	return hash_store_put(pass->store, &row, error) ? FINGERPRINT_DONE : FINGERPRINT_FAILED;
}

static FingerprintOutcome fingerprint_object(Fingerprinter *printer, GError **error)
{
	Job *job = printer->job;
	FingerprintOutcome outcome;
	SkipReason reason;

	if (job->outcome == OPEN_UNREADABLE)
		return skip_for_good(printer, job, SKIP_UNREADABLE, error);
	if (job->outcome != OPEN_OPENED)
		return skip_for_now(printer, job, file_opener_skip_reason(job->outcome));

	if (special_files_are_forbidden(printer->pass->settings, &job->attributes, &reason))
		return skip_for_good(printer, job, reason, error);
	if (!begin_object(printer, error))
		return FINGERPRINT_FAILED;

	file_reader_keep(job->reader, printer->pass->kept, job->object);
	outcome = add_extents(printer, error);
	if (outcome == FINGERPRINT_DONE)
		outcome = end_object(printer, error);
	if (outcome == FINGERPRINT_STOPPED && job->stamp.size_bytes > HALF_FILE_BYTES &&
	    !keep_half(printer, error))
		return FINGERPRINT_FAILED;
	if (outcome == FINGERPRINT_SKIPPED)
		file_reader_keep_nothing(job->reader);

	if (outcome == FINGERPRINT_FAILED) {
		g_clear_error(&printer->anchors.failed);
		return outcome;
	}
	return anchor_sink_take_error(&printer->anchors, error) ? outcome : FINGERPRINT_FAILED;
}

/* Open files ahead of the one to be read next. */
static bool fill_jobs(Fingerprinter *printer, GError **error)
{
	while (g_queue_get_length(&printer->jobs) < AHEAD_FILES) {
		const ReadItem *item;

		if (!read_list_next(printer->to_read, &item, error))
			return false;
		if (!item)
			break;
		g_queue_push_tail(&printer->jobs, job_open(printer, item));
	}

	return true;
}

static bool read_all(Fingerprinter *printer, GError **error)
{
	while (pass_may_continue(printer->pass)) {
		g_autoptr(Job) job = NULL;

		if (!fill_jobs(printer, error))
			return false;
		job = g_queue_pop_head(&printer->jobs);
		if (!job)
			break;

		printer->job = job;
		if (fingerprint_object(printer, error) == FINGERPRINT_FAILED)
			return false;
		if (!pass_commit_when_due(printer->pass, error))
			return false;
	}

	return true;
}

static bool fingerprint_files(Pass *pass, ReadList *to_read, ExtentSums *checksums,
			      FileOpener *opener, GError **error)
{
	size_t piece_blocks = FILE_READER_PIECE_BYTES / pass->block_bytes;
	g_autofree uint8_t *buffer = g_malloc(FILE_READER_PIECE_BYTES);
	g_autofree uint64_t *piece_sums = g_new(uint64_t, piece_blocks);
	g_autoptr(ExtentMap) extents = extent_map_new();
	g_autoptr(BlockSums) sums =
		block_sums_new(hash_store_about(pass->store)->secret, pass->block_bytes, checksums);
	g_autoptr(SumCache) cache =
		sum_cache_new(pass->settings->state_directory, pass->block_bytes);
	Fingerprinter printer = {
		.pass = pass,
		.to_read = to_read,
		.opener = opener,
		.extents = extents,
		.cache = cache,
		.about = hash_store_about(pass->store),
		.buffer = buffer,
		.piece_sums = piece_sums,
		.jobs = G_QUEUE_INIT,
		.anchors = { .store = pass->store },
	};
	bool done;

	printer.sums = sums;
	done = read_all(&printer, error);
	g_queue_clear_full(&printer.jobs, (GDestroyNotify)job_free);
	return done && hash_store_commit(pass->store, error);
}

bool fingerprint_all(Pass *pass, ReadList *to_read, ExtentSums *checksums, FileOpener *opener,
		     GError **error)
{
	if (read_list_files(to_read) == 0)
		return true;

	progress_begin(pass->progress, STAGE_READ, read_list_bytes(to_read));
	return fingerprint_files(pass, to_read, checksums, opener, error);
}
