/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/fingerprint/fingerprint.h"

#include "common/content/zeros.h"
#include "common/files/special-files.h"
#include "daemon/context/object-skips.h"
#include "daemon/fingerprint/anchor-writer.h"
#include "daemon/fingerprint/extent-reads.h"
#include "daemon/fingerprint/read-ahead.h"
#include "hashstore/objects/equal-list.h"
#include "hashstore/objects/stand-note.h"

/* The stand-ins of earlier passes are loaded when so many blocks would get anchors once more. */
#define PRIME_BLOCKS 1024

/* Limit of the files that are remembered because others have them cached. */
#define HOT_FILES_MAX (UINT32_C(1) << 17)

typedef struct {
	Pass *pass;
	FileOpener *opener;
	const BlockSums *sums;
	ReadAhead *ahead;
	FileJob *job;       /* the present file */
	StandIns *stands;   /* NULL: all anchors are kept */
	ExtentReads *reads; /* NULL: no extents are objects */
	uint32_t first_object;
	uint64_t n_new_blocks; /* shared, and without a known stand-in of an earlier pass */
	bool is_primed;        /* the stand-ins of earlier passes are loaded */
	AnchorWriter anchors;
} Fingerprinter;

typedef enum {
	FINGERPRINT_DONE,
	FINGERPRINT_STOPPED,
	FINGERPRINT_SKIPPED, /* with a reason */
	FINGERPRINT_FAILED,  /* with an error */
} FingerprintOutcome;

static void count_skip_bytes(Fingerprinter *printer, const FileJob *job, SkipReason reason,
			     uint64_t bytes)
{
	SkipLedger *skips = &printer->pass->result->skips;
	NamedFile file = { job->file.id, job->file.parent, job->name };
	g_autofree char *path = NULL;

	if (skip_ledger_wants_example(skips, reason))
		path = object_skips_path(printer->pass, printer->opener, &file);
	skip_ledger_add(skips, reason, bytes, path);
}

static void count_skip(Fingerprinter *printer, const FileJob *job, SkipReason reason)
{
	count_skip_bytes(printer, job, reason, job->stamp.size_bytes);
}

/* Skip the file for as long as its stamp holds, or longer if the reason requires it. */
static FingerprintOutcome skip_for_good(Fingerprinter *printer, FileJob *job, SkipReason reason,
					GError **error)
{
	Object row;

	count_skip(printer, job, reason);
	if (!job->object && !hash_store_new_object(printer->pass->store, &job->object, error))
		return FINGERPRINT_FAILED;

	row = file_job_row(job);
	row.state = OBJECT_SKIPPED;
	row.skip_reason = reason;
	row.changes += reason == SKIP_CHANGED;
	printer->pass->result->files.set_aside++;
	return hash_store_put(printer->pass->store, &row, error) ? FINGERPRINT_SKIPPED
								 : FINGERPRINT_FAILED;
}

/* Skip the file in this pass. */
static FingerprintOutcome skip_for_now(Fingerprinter *printer, const FileJob *job,
				       SkipReason reason)
{
	count_skip(printer, job, reason);
	return FINGERPRINT_SKIPPED;
}

static ObjectSumsSink sink_of(Fingerprinter *printer)
{
	printer->anchors.object = printer->job->object;
	return anchor_writer_sink(&printer->anchors);
}

/*
 * The stand-in of each block of the part; NULL: none has one.  If there are many blocks without one of this pass,
 * the stand-ins of earlier passes are loaded.
 */
static bool look_up_stands(Fingerprinter *printer, const FilePart *part, uint32_t **ret,
			   GError **error)
{
	g_autofree uint32_t *stands = NULL;
	SumCache *cache;

	*ret = NULL;
	if (!printer->stands || !part->is_clone || printer->job->is_whole)
		return true;

	stands = g_new(uint32_t, part->n_blocks);
	stand_ins_look_up(printer->stands, part->piece.physical, part->n_blocks, stands);
	for (size_t i = 0; i < part->n_blocks; i++)
		printer->n_new_blocks += stands[i] == 0;
	if (printer->n_new_blocks > PRIME_BLOCKS && !printer->is_primed) {
		cache = read_ahead_cache(printer->ahead);
		printer->is_primed = true;
		if (printer->first_object > 1 &&
		    !stand_ins_load_earlier(printer->pass, printer->opener, cache,
					    printer->first_object, error))
			return false;
		stand_ins_look_up(printer->stands, part->piece.physical, part->n_blocks, stands);
	}

	stand_ins_add(printer->stands, part->piece.physical, part->n_blocks, stands);
	*ret = g_steal_pointer(&stands);
	return true;
}

static bool add_sums(Fingerprinter *printer, const FilePart *part, GError **error)
{
	FileJob *job = printer->job;
	ObjectSumsSink sink = sink_of(printer);
	uint64_t zeros = block_sums_of_zeros(printer->sums, job->has_checksums);
	g_autofree uint32_t *stands = NULL;

	if (!look_up_stands(printer, part, &stands, error))
		return false;
	for (size_t i = 0; i < part->n_blocks; i++) {
		if (printer->stands)
			stand_ins_next(printer->stands, object_sums_blocks(&job->learned.sums),
				       stands ? stands[i] : 0);
		if (part->sums[i] == zeros)
			object_sums_add_zeros(&job->learned.sums, 1, &sink);
		else
			object_sums_add(&job->learned.sums, part->sums[i], &sink);
	}

	return true;
}

static FingerprintOutcome after_read(Fingerprinter *printer, ReadOutcome outcome, GError **error)
{
	switch (outcome) {
	case READ_DONE:
		return FINGERPRINT_DONE;
	case READ_STOPPED:
		return FINGERPRINT_STOPPED;
	case READ_SHORT:
		return skip_for_good(printer, printer->job, SKIP_CHANGED, error);
	case READ_UNREADABLE:
		break;
	}

	return skip_for_good(printer, printer->job, SKIP_UNREADABLE, error);
}

/* Learn which file has stood in for blocks of the current one so far. */
static bool learn_stand(Fingerprinter *printer, GError **error)
{
	HashStore *store = printer->pass->store;
	uint64_t *known = &printer->job->learned.stand;
	uint32_t id = printer->stands ? stand_ins_stand(printer->stands) : 0;
	Object stand = { .inode = OBJECT_STAND_SEVERAL };
	bool found;

	if (id == 0)
		return true;
	if (!stand_note_expect(store, error) ||
	    (id != UINT32_MAX && !hash_store_peek(store, id, &stand, &found, error)))
		return false;

	*known = *known == 0 || *known == stand.inode ? stand.inode : OBJECT_STAND_SEVERAL;
	return true;
}

/* Keep how far a large file was read. */
static bool keep_half(Fingerprinter *printer, GError **error)
{
	FileJob *job = printer->job;
	HashStore *store = printer->pass->store;
	Object row = file_job_row(job);

	if (!learn_stand(printer, error))
		return false;
	row.state = OBJECT_HALF;
	row.stand = job->learned.stand;
	row.flags |= job->is_whole ? OBJECT_WHOLE : 0;
	job->next_half_bytes = object_sums_blocks(&job->learned.sums) * printer->pass->block_bytes +
			       FILE_JOB_HALF_BYTES;
	/* The sums stored with extents must not lag behind. */
	return (!printer->reads || extent_reads_flush(printer->reads, error)) &&
	       hash_store_put(store, &row, error) &&
	       hash_store_put_half(store, job->object, object_sums_blocks(&job->learned.sums),
				   &job->learned, sizeof(job->learned), error);
}

/* Record the progress of a file that takes long to read. */
static bool keep_half_when_due(Fingerprinter *printer, GError **error)
{
	const FileJob *job = printer->job;

	if (object_sums_blocks(&job->learned.sums) * printer->pass->block_bytes <
	    job->next_half_bytes)
		return true;

	return keep_half(printer, error) && pass_commit_when_due(printer->pass, error);
}

/* Store the sums with the extents, if the file is known by these. */
static bool add_to_extents(Fingerprinter *printer, const FilePart *part, GError **error)
{
	return !printer->job->is_by_extents || !part->is_addressed ||
	       extent_reads_add(printer->reads, part->piece.physical, part->sums, part->n_blocks,
				printer->job->attributes.is_no_cow, error);
}

/* Bytes of the part at @limit or behind it. */
static uint64_t bytes_beyond(const FilePart *part, uint64_t limit)
{
	return part->end > limit ? part->end - MAX(part->offset, limit) : 0;
}

static FingerprintOutcome add_data(Fingerprinter *printer, const FilePart *part, GError **error)
{
	FileJob *job = printer->job;
	Pass *pass = printer->pass;
	uint64_t length = part->end - part->offset;

	if (part->origin == SUMS_READ) {
		if (part->outcome != READ_DONE)
			return after_read(printer, part->outcome, error);
		if (part->is_special)
			return skip_for_good(printer, job, part->special, error);
		pass->result->finding_bytes += length;
	}

	job->learned.far_bytes += bytes_beyond(part, ANCHOR_BLOCKS * pass->block_bytes);
	if (part->is_shared)
		job->learned.shared_bytes += length;
	if (!add_sums(printer, part, error) || !add_to_extents(printer, part, error))
		return FINGERPRINT_FAILED;
	atomic_fetch_add(&pass->progress->done_bytes, length);
	return keep_half_when_due(printer, error) ? FINGERPRINT_DONE : FINGERPRINT_FAILED;
}

/* Add blocks up to @end that are in no extent. */
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

static FingerprintOutcome add_part(Fingerprinter *printer, const FilePart *part, GError **error)
{
	switch (part->kind) {
	case PART_HOLE:
	case PART_UNWRITTEN:
		add_gap(printer, part->end, part->kind == PART_UNWRITTEN);
		return FINGERPRINT_DONE;
	case PART_INLINE:
		return skip_for_good(printer, printer->job, SKIP_INLINE, error);
	case PART_UNREADABLE:
		return skip_for_good(printer, printer->job, SKIP_UNREADABLE, error);
	case PART_DATA:
		break;
	}

	return add_data(printer, part, error);
}

static FingerprintOutcome add_parts(Fingerprinter *printer, GError **error)
{
	FingerprintOutcome outcome;
	FilePart *part;

	do {
		if (!read_ahead_next_part(printer->ahead, &part, error))
			return FINGERPRINT_FAILED;
		if (!pass_checkpoint(printer->pass))
			return FINGERPRINT_STOPPED;
		outcome = part ? add_part(printer, part, error) : FINGERPRINT_DONE;
	} while (part && outcome == FINGERPRINT_DONE);

	return outcome;
}

/* All was read: put the digest over it, and the row. */
static FingerprintOutcome end_object(Fingerprinter *printer, GError **error)
{
	FileJob *job = printer->job;
	Pass *pass = printer->pass;
	ObjectSumsSink sink = sink_of(printer);
	ZerosEvidence evidence = { job->stamp.size_bytes, job->learned.has_hole,
				   job->learned.has_unwritten, job->name };
	Anchor whole = { .object = job->object, .block = ANCHOR_WHOLE_BLOCK };
	Object row;
	Stamp stamp;

	if (!file_job_stamp_now(job, &stamp) || stamp_compare(&job->stamp, &stamp) != STAMP_SAME)
		return skip_for_good(printer, job, SKIP_CHANGED, error);

	/* Others use the file.  On XFS, sharing drops the cached pages of the target. */
	if (pass->filesystem->identity.kind == FS_KIND_XFS && pass->hot->len < HOT_FILES_MAX &&
	    file_reader_hot_bytes(job->reader) >= (job->stamp.size_bytes + 1) / 2)
		g_array_append_val(pass->hot, job->object);

	row = file_job_row(job);
	row.state = OBJECT_DONE;
	row.flags |= job->is_immutable ? OBJECT_IMMUTABLE : 0;
	row.flags |= job->is_foreign ? OBJECT_FOREIGN : 0;
	row.flags |= job->is_plain ? OBJECT_PLAIN : 0;
	row.flags |= job->is_whole ? OBJECT_WHOLE : 0;
	row.flags |= job->head ? OBJECT_HAS_HEAD : 0;
	row.head = job->head;
	row.flags |= job->attributes.is_no_cow ? OBJECT_NO_COW : 0;
	row.flags |= job->learned.shared_bytes > job->stamp.size_bytes / 2 ? OBJECT_SHARED : 0;
	row.flags |= job->learned.shared_bytes > 0 ? OBJECT_CLONED : 0;
	row.flags |= zeros_look_provisioned(&evidence) ? OBJECT_KEEP_ZEROS : 0;
	row.digest = object_sums_finish(&job->learned.sums, job->stamp.size_bytes, &sink);
	if (!learn_stand(printer, error))
		return FINGERPRINT_FAILED;
	row.stand = job->learned.stand;

	whole.digest = row.digest;
	/* A file of zeros alone needs no digest: its zeros are shared with a hole. */
	if (!job->is_by_extents &&
	    !(job->is_whole || job->learned.sums.n_data > 0
		      ? hash_store_put_anchor(pass->store, &whole, error)
		      : hash_store_put_loose_object(pass->store, job->object, error)))
		return FINGERPRINT_FAILED;

	pass->result->files.read++;
	if (job->learned.far_bytes > 0 && !job->is_whole)
		count_skip_bytes(printer, job, SKIP_LARGE_OFFSET, job->learned.far_bytes);
	return hash_store_put(pass->store, &row, error) ? FINGERPRINT_DONE : FINGERPRINT_FAILED;
}

static FingerprintOutcome fingerprint_object(Fingerprinter *printer, GError **error)
{
	FileJob *job = printer->job;
	FingerprintOutcome outcome;
	SkipReason reason;

	if (job->outcome == OPEN_UNREADABLE)
		return skip_for_good(printer, job, SKIP_UNREADABLE, error);
	if (job->outcome != OPEN_OPENED)
		return skip_for_now(printer, job, file_opener_skip_reason(job->outcome));

	if (special_files_are_forbidden(printer->pass->settings, &job->attributes, &reason))
		return skip_for_good(printer, job, reason, error);

	if (job->has_no_room)
		return skip_for_now(printer, job, job->no_room);

	if (printer->stands)
		stand_ins_begin(printer->stands, job->object, job->owner);
	outcome = add_parts(printer, error);
	store_room_give_back(printer->pass->room, job->room_bytes);
	if (outcome == FINGERPRINT_DONE)
		outcome = end_object(printer, error);
	if (outcome == FINGERPRINT_STOPPED && job->stamp.size_bytes > FILE_JOB_HALF_BYTES &&
	    !keep_half(printer, error))
		return FINGERPRINT_FAILED;
	if (outcome == FINGERPRINT_SKIPPED)
		file_reader_keep_nothing(job->reader);
	if (printer->stands && outcome != FINGERPRINT_DONE)
		stand_ins_give_up(printer->stands);

	if (outcome == FINGERPRINT_FAILED) {
		g_clear_error(&printer->anchors.failed);
		return outcome;
	}
	return anchor_writer_take_error(&printer->anchors, error) ? outcome : FINGERPRINT_FAILED;
}

static bool fingerprint_files(Fingerprinter *printer, GError **error)
{
	while (pass_checkpoint(printer->pass)) {
		if (!read_ahead_next(printer->ahead, &printer->job, error))
			return false;
		if (!printer->job || !pass_checkpoint(printer->pass))
			break;
		if (fingerprint_object(printer, error) == FINGERPRINT_FAILED)
			return false;
		if (!pass_commit_when_due(printer->pass, error))
			return false;
	}

	return true;
}

bool fingerprint_all(Pass *pass, ReadList *to_read, ExtentSums *checksums, FileOpener *opener,
		     GError **error)
{
	const HashStoreAbout *about = hash_store_about(pass->store);
	g_autoptr(BlockSums) sums = NULL;
	g_autoptr(ReadAhead) ahead = NULL;
	g_autoptr(StandIns) stands = NULL;
	g_autoptr(ExtentReads) reads = checksums ? extent_reads_new(pass) : NULL;
	Fingerprinter printer = {
		.pass = pass,
		.opener = opener,
		.reads = reads,
		.anchors = { .store = pass->store, .anchor_blocks = about->anchor_blocks },
	};
	bool done;

	if (read_list_files(to_read) == 0)
		return true;

	progress_begin(pass->progress, STAGE_READ, read_list_bytes(to_read));
	sums = block_sums_new(about, checksums);
	ahead = read_ahead_new(pass, to_read, opener, sums, pass->parallelism.n_readers, error);
	if (!ahead)
		return false;

	printer.first_object = hash_store_next_object(pass->store);
	printer.sums = sums;
	printer.ahead = ahead;
	/* XFS frees single blocks, so all references to them are found without anchors. */
	if (pass->filesystem->identity.kind == FS_KIND_XFS)
		stands = stand_ins_new(read_ahead_cache(ahead), pass->block_bytes,
				       pass->settings->across_owners != ACROSS_OWNERS);
	printer.stands = stands;
	printer.anchors.stands = stands;
	done = fingerprint_files(&printer, error);
	pass->result->disk_bytes += read_ahead_end(ahead);
	return done && (!reads || extent_reads_flush(reads, error)) && pass_commit(pass, error);
}
