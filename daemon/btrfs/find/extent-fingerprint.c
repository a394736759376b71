/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/find/extent-fingerprint.h"

#include "common/content/zeros.h"
#include "daemon/btrfs/find/unsummed-extents.h"
#include "daemon/fingerprint/anchor-writer.h"
#include "hashstore/objects/equal-list.h"
#include "hashstore/objects/open-extents.h"
#include "hashstore/objects/read-sums.h"

#define PIECE_BLOCKS 4096

struct ExtentFingerprinter {
	Pass *pass;
	ExtentSums *sums;
	UnsummedExtents *unsummed;
	uint32_t block_bytes;
	AnchorWriter anchors;
	GArray *joined; /* uint64_t: the sums of a stretch */
	uint64_t piece[PIECE_BLOCKS];
};

ExtentFingerprinter *extent_fingerprinter_new(Pass *pass, const BtrfsInfo *info, ExtentSums *sums)
{
	ExtentFingerprinter *fingerprinter = g_new0(ExtentFingerprinter, 1);

	fingerprinter->pass = pass;
	fingerprinter->sums = sums;
	fingerprinter->unsummed = unsummed_extents_new(pass);
	fingerprinter->block_bytes = info->sector_bytes;
	fingerprinter->anchors.store = pass->store;
	fingerprinter->joined = g_array_new(false, true, sizeof(uint64_t));
	return fingerprinter;
}

void extent_fingerprinter_free(ExtentFingerprinter *fingerprinter)
{
	if (!fingerprinter)
		return;

	unsummed_extents_free(fingerprinter->unsummed);
	g_array_unref(fingerprinter->joined);
	g_free(fingerprinter);
}

/* Read the sums of the extent's blocks from @first on, a piece at most; *ret_n is how many. */
static bool read_piece(ExtentFingerprinter *fingerprinter, const DataExtent *extent, uint64_t first,
		       size_t *ret_n, GError **error)
{
	uint32_t block_bytes = fingerprinter->block_bytes;

	*ret_n = MIN(extent->length / block_bytes - first, PIECE_BLOCKS);
	return extent_sums_read(fingerprinter->sums, extent->bytenr + first * block_bytes, *ret_n,
				fingerprinter->piece, error);
}

/* Counts of an extent's blocks. */
typedef struct {
	uint64_t known; /* they have a sum */
	uint64_t zeros; /* it is that of zeros */
} BlockCounts;

/* Give ObjectSums @n sums, and count them. */
static void add_sums(const ExtentFingerprinter *fingerprinter, const uint64_t *sums, size_t n,
		     ObjectSums *to, const ObjectSumsSink *sink, BlockCounts *counts)
{
	uint64_t zeros = extent_sums_of_zeros(fingerprinter->sums);

	for (size_t i = 0; i < n; i++) {
		bool is_known = sums[i] != EXTENT_SUM_NONE;
		bool is_zeros = is_known && sums[i] == zeros;

		counts->known += is_known;
		counts->zeros += is_zeros;
		if (!is_known || extent_sums_are_read_zeros(fingerprinter->sums, sums[i]))
			object_sums_add_hole(to, 1, sink);
		else if (is_zeros)
			object_sums_add_zeros(to, 1, sink);
		else
			object_sums_add(to, sums[i], sink);
	}
}

static void begin_sums(const ExtentFingerprinter *fingerprinter, ObjectSums *sums)
{
	const HashStoreAbout *about = hash_store_about(fingerprinter->pass->store);

	object_sums_init(sums, about->anchor_blocks, about->window_anchors,
			 MAX(ZEROS_RUN_BYTES / fingerprinter->block_bytes, 1));
}

/* Note whether the extent is open: some of its blocks may still get checksums, and with them a fingerprint. */
static bool note_open(ExtentFingerprinter *fingerprinter, const DataExtent *extent, uint64_t known,
		      GError **error)
{
	HashStore *store = fingerprinter->pass->store;
	uint64_t open;

	if (known < extent->length / fingerprinter->block_bytes)
		return hash_store_put_open_extent(store, extent->bytenr, error);
	if (!hash_store_next_open_extent(store, extent->bytenr, &open, error))
		return false;
	return open != extent->bytenr || hash_store_drop_open_extent(store, open, error);
}

/* Count an extent without sums as skipped.  *ret: it is not, because it belongs to files without checksums. */
static bool leave(ExtentFingerprinter *fingerprinter, const DataExtent *extent, bool *ret,
		  GError **error)
{
	SkipLedger *skips = &fingerprinter->pass->result->skips;
	const Object shown = { .inode = extent->bytenr, .size_bytes = extent->length };
	g_autofree char *path = NULL;

	if (!unsummed_extents_are_of_files(fingerprinter->unsummed, extent->bytenr, ret, error))
		return false;
	if (*ret)
		return true;

	if (skip_ledger_wants_example(skips, SKIP_NO_SUMS))
		path = extent_scope_example(fingerprinter->pass->btrfs.scope, &shown);
	skip_ledger_add(skips, SKIP_NO_SUMS, extent->length, path);
	return true;
}

bool extent_leave_unknown(ExtentFingerprinter *fingerprinter, const DataExtent *extent,
			  GError **error)
{
	bool is_of_file;

	return leave(fingerprinter, extent, &is_of_file, error);
}

/* The same for a new extent.  The pass's own copies are too small to read files again for them. */
static bool leave_new(ExtentFingerprinter *fingerprinter, const DataExtent *extent, GError **error)
{
	bool is_of_file;

	return leave(fingerprinter, extent, &is_of_file, error) &&
	       (!is_of_file || fingerprinter->pass->result->rewritten.extents > 0 ||
		unsummed_extents_read_again(fingerprinter->unsummed, error));
}

/* Whether the extent has no checksums, but sums from reading; they are not new from here on. */
static bool take_read_sums(ExtentFingerprinter *fingerprinter, uint64_t bytenr, bool *ret,
			   GError **error)
{
	HashStore *store = fingerprinter->pass->store;
	g_autoptr(GBytes) read = NULL;
	uint64_t address;

	if (!hash_store_get_read_sums(store, bytenr, &address, &read, error))
		return false;
	*ret = read && address == bytenr;
	return !*ret || hash_store_take_read_sums(store, bytenr, error);
}

static bool put_extent(ExtentFingerprinter *fingerprinter, const DataExtent *extent,
		       const Stretch *stretch, const BlockCounts *counts, uint64_t digest,
		       GError **error)
{
	Pass *pass = fingerprinter->pass;
	uint64_t known = counts->known;
	Object row = {
		.id = fingerprinter->anchors.object,
		.subvolume = OBJECT_EXTENTS,
		.inode = extent->bytenr,
		.size_bytes = extent->length,
		.ctime_nsec = (int64_t)extent->generation,
		.mtime_nsec = (int64_t)known,
		.btime_nsec = (int64_t)(counts->zeros * fingerprinter->block_bytes),
		.parent = stretch ? stretch->key : 0,
		.generation = stretch ? stretch->rank_bytes : 0,
		.state = known > 0 ? OBJECT_DONE : OBJECT_SKIPPED,
		.flags = (stretch ? stretch->is_shared : extent->is_shared) ? OBJECT_SHARED : 0,
		.skip_reason = SKIP_NO_SUMS,
		.digest = digest,
	};

	bool is_read;

	if (!take_read_sums(fingerprinter, extent->bytenr, &is_read, error))
		return false;
	if (is_read)
		row.flags |= OBJECT_READ_SUMS;
	/* Extents that were read count as files. */
	if (known == 0)
		pass->result->files.set_aside++;
	else if (!is_read)
		pass->result->files.read++;

	return (known > 0 || is_read || leave_new(fingerprinter, extent, error)) &&
	       hash_store_put(pass->store, &row, error) &&
	       note_open(fingerprinter, extent, known, error);
}

/* All sums are given: put the digest over the whole object, unless it has no data. */
static bool put_whole(ExtentFingerprinter *fingerprinter, ObjectSums *sums, uint64_t size_bytes,
		      const ObjectSumsSink *sink, uint64_t *ret_digest, GError **error)
{
	Anchor whole = { 0, fingerprinter->anchors.object, ANCHOR_WHOLE_BLOCK };

	whole.digest = object_sums_finish(sums, size_bytes, sink);
	*ret_digest = whole.digest;
	return anchor_writer_take_error(&fingerprinter->anchors, error) &&
	       (sums->n_data == 0 ||
		hash_store_put_anchor(fingerprinter->pass->store, &whole, error));
}

static void ignore_anchor(uint64_t digest, uint64_t block, void *data)
{
}

static void ignore_zeros(uint64_t block, void *data)
{
}

/* For a digest without anchors. */
static const ObjectSumsSink no_sink = { ignore_anchor, ignore_zeros, NULL };

/* Give ObjectSums the sums of the whole extent, and count them. */
static bool add_extent(ExtentFingerprinter *fingerprinter, const DataExtent *extent,
		       ObjectSums *sums, const ObjectSumsSink *sink, BlockCounts *counts,
		       GError **error)
{
	uint64_t blocks = extent->length / fingerprinter->block_bytes;
	size_t n;

	begin_sums(fingerprinter, sums);
	for (uint64_t first = 0; first < blocks; first += n) {
		if (!read_piece(fingerprinter, extent, first, &n, error))
			return false;
		add_sums(fingerprinter, fingerprinter->piece, n, sums, sink, counts);
	}

	return true;
}

bool extent_digest(ExtentFingerprinter *fingerprinter, const DataExtent *extent,
		   uint64_t *ret_known, uint64_t *ret_digest, GError **error)
{
	BlockCounts counts = { 0 };
	ObjectSums sums;

	if (!add_extent(fingerprinter, extent, &sums, &no_sink, &counts, error))
		return false;

	*ret_known = counts.known;
	*ret_digest = object_sums_finish(&sums, extent->length, &no_sink);
	return true;
}

bool extent_fingerprint(ExtentFingerprinter *fingerprinter, const DataExtent *extent,
			const Stretch *stretch, GError **error)
{
	Pass *pass = fingerprinter->pass;
	ObjectSumsSink sink = stretch ? no_sink : anchor_writer_sink(&fingerprinter->anchors);
	BlockCounts counts = { 0 };
	uint64_t digest;
	ObjectSums sums;

	if (!hash_store_new_object(pass->store, &fingerprinter->anchors.object, error) ||
	    !add_extent(fingerprinter, extent, &sums, &sink, &counts, error))
		return false;
	if (!put_whole(fingerprinter, &sums, extent->length, &sink, &digest, error))
		return false;
	if (counts.known > 0 && sums.n_data == 0 &&
	    !hash_store_put_loose_object(pass->store, fingerprinter->anchors.object, error))
		return false;

	atomic_fetch_add(&pass->progress->done_bytes, extent->length);
	return put_extent(fingerprinter, extent, stretch, &counts, digest, error);
}

bool stretch_fingerprint(ExtentFingerprinter *fingerprinter, const Stretch *stretch, GError **error)
{
	ObjectSumsSink sink = anchor_writer_sink(&fingerprinter->anchors);
	GArray *joined = fingerprinter->joined;
	Object row = stretch_object(stretch);
	BlockCounts counts = { 0 };
	ObjectSums sums;

	if (!stretch_read_sums(fingerprinter->sums, stretch->parts[0].offset, stretch->parts,
			       stretch->n_parts, fingerprinter->block_bytes, joined, error))
		return false;

	fingerprinter->anchors.object = stretch->key;
	begin_sums(fingerprinter, &sums);
	add_sums(fingerprinter, (const uint64_t *)(const void *)joined->data, joined->len, &sums,
		 &sink, &counts);
	return put_whole(fingerprinter, &sums, row.size_bytes, &sink, &row.digest, error) &&
	       hash_store_put(fingerprinter->pass->store, &row, error);
}

bool extent_count_known(ExtentFingerprinter *fingerprinter, const DataExtent *extent, uint64_t *ret,
			GError **error)
{
	uint64_t blocks = extent->length / fingerprinter->block_bytes;
	size_t n;

	*ret = 0;
	for (uint64_t first = 0; first < blocks; first += n) {
		if (!read_piece(fingerprinter, extent, first, &n, error))
			return false;
		for (size_t i = 0; i < n; i++)
			*ret += fingerprinter->piece[i] != EXTENT_SUM_NONE;
	}

	return true;
}
