/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/plan/zero-source.h"

#include "daemon/btrfs/refs/extent-files.h"
#include "hashstore/objects/objects.h"
#include "kernel-ioctl/file/dedupe-range.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The last choice: address and transaction of the extent, first block and end. */
#define SOURCE_NOTE "zero-source"

/* Zeros beside other data count so much less: that data is not freed while they stay. */
#define MIXED_SHARE 16

/* Limit of the best candidates that are looked at. */
#define CANDIDATES_MAX 8

typedef struct {
	Pass *pass;
	ExtentSums *sums;
	ObjectTable *table;
	ExtentFiles *files;
	ExtentRefs *refs;
	GArray *candidates; /* ZeroCandidate */
	char *last;         /* the last choice, as it is noted; or NULL */
} Chooser;

static bool is_all_zeros(const ZeroCandidate *candidate)
{
	return candidate->zero_bytes == candidate->size_bytes;
}

static unsigned class_of(const ZeroCandidate *candidate)
{
	uint64_t bytes = candidate->zero_bytes / (is_all_zeros(candidate) ? 1 : MIXED_SHARE);

	return g_bit_storage((gulong)MIN(bytes, ZERO_SOURCE_BYTES_MAX));
}

int zero_candidate_compare(const void *a, const void *b)
{
	const ZeroCandidate *one = a, *other = b;

	if (class_of(one) != class_of(other))
		return class_of(one) > class_of(other) ? -1 : 1;
	if (one->stays != other->stays)
		return one->stays ? -1 : 1;
	if (is_all_zeros(one) != is_all_zeros(other))
		return is_all_zeros(one) ? -1 : 1;
	if (one->size_bytes != other->size_bytes)
		return one->size_bytes < other->size_bytes ? -1 : 1;
	return (one->address > other->address) - (one->address < other->address);
}

/* Consider @extent if it has little else than zeros, because the rest would not be freed. */
static void consider(Chooser *chooser, const Object *extent)
{
	ZeroCandidate candidate = {
		.id = extent->id,
		.address = extent->inode,
		.size_bytes = extent->size_bytes,
		.zero_bytes = object_extent_zero_bytes(extent),
	};
	unsigned facts;

	if (extent->subvolume != OBJECT_EXTENTS || extent->state != OBJECT_DONE ||
	    candidate.zero_bytes < extent->size_bytes / 2 || candidate.zero_bytes == 0)
		return;
	facts = object_table_facts(chooser->table, extent->id);
	if (!(facts & FACT_LIVE) || facts & (FACT_MOVED | FACT_BARRED | FACT_AWAY | FACT_HELD))
		return;

	candidate.stays = facts & FACTS_SOURCE_ONLY;
	g_array_append_val(chooser->candidates, candidate);
	if (chooser->candidates->len < 2 * CANDIDATES_MAX)
		return;
	g_array_sort(chooser->candidates, zero_candidate_compare);
	g_array_set_size(chooser->candidates, CANDIDATES_MAX);
}

/* Consider the last choice, if it still exists; *ret_is_best: no other can be better. */
static bool consider_last(Chooser *chooser, bool *ret_is_best, GError **error)
{
	uint64_t address, generation;
	const Object *found = NULL;

	*ret_is_best = false;
	if (!hash_store_get_note(chooser->pass->store, SOURCE_NOTE, &chooser->last, error))
		return false;
	if (!chooser->last ||
	    sscanf(chooser->last, "%" SCNu64 " %" SCNu64, &address, &generation) != 2)
		return true;
	if (!hash_store_find_at(chooser->pass->store, OBJECT_EXTENTS, address, &found, error))
		return false;

	if (found && object_extent_generation(found) == generation &&
	    found->id < hash_store_settled_below(chooser->pass->store)) {
		Object last = *found;

		consider(chooser, &last);
		*ret_is_best = object_extent_zero_bytes(&last) >= ZERO_SOURCE_BYTES_MAX;
	}
	return true;
}

/* Consider new extents.  Earlier ones had the last choice as their source, or no equal. */
static bool consider_unsettled(Chooser *chooser, GError **error)
{
	HashStore *store = chooser->pass->store;
	uint32_t end = hash_store_next_object(store);

	for (uint32_t id = hash_store_settled_below(store);
	     id < end && pass_checkpoint(chooser->pass); id++) {
		Object extent;
		bool found;

		if (!hash_store_peek(store, id, &extent, &found, error))
			return false;
		if (found)
			consider(chooser, &extent);
	}

	return true;
}

/* The longest run of zeros in @sums, the sums of the blocks from @first on. */
static CoverRange longest_zeros(const uint64_t *sums, uint64_t first, uint64_t n, uint64_t zeros,
				uint64_t most)
{
	CoverRange best = { first, first };
	uint64_t begin = 0;

	for (uint64_t i = 0; i < n; i++) {
		if (sums[i] != zeros)
			begin = i + 1;
		else if (i + 1 - begin > best.end - best.first && i + 1 - begin <= most)
			best = (CoverRange){ first + begin, first + i + 1 };
	}

	return best;
}

/* The longest run of zeros of @extent that @place references. */
static bool find_range(Chooser *chooser, const Object *extent, const ExtentRef *place,
		       CoverRange *ret, GError **error)
{
	uint32_t block_bytes = chooser->pass->block_bytes;
	uint64_t zeros = extent_sums_of_zeros(chooser->sums);
	uint64_t first = place->position / block_bytes;
	uint64_t n = extent_ref_shown_bytes(place) / block_bytes;
	g_autofree uint64_t *sums = g_new(uint64_t, n);

	*ret = (CoverRange){ first, first };
	if (zeros == EXTENT_SUM_NONE || n == 0)
		return true;
	if (!extent_sums_read(chooser->sums, extent->inode + first * block_bytes, n, sums, error))
		return false;

	*ret = longest_zeros(sums, first, n, zeros, ZERO_SOURCE_BYTES_MAX / block_bytes);
	return true;
}

static char *note_of(const Object *extent, const CoverRange *range)
{
	return g_strdup_printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, extent->inode,
			       object_extent_generation(extent), range->first, range->end);
}

/* Whether these zeros were read before: an extent does not change. */
static bool are_known(const Chooser *chooser, const Object *extent, const CoverRange *range)
{
	g_autofree char *note = note_of(extent, range);

	return g_strcmp0(chooser->last, note) == 0;
}

/* Whether the data of @range, read through @place, is zeros. */
static bool are_zeros(Chooser *chooser, const ExtentRef *place, const CoverRange *range)
{
	uint32_t block_bytes = chooser->pass->block_bytes;
	g_autofree uint8_t *buffer = g_malloc(FILE_READER_PIECE_BYTES);
	uint64_t offset = place->offset + (range->first * block_bytes - place->position);
	uint64_t left = (range->end - range->first) * block_bytes;
	SkipReason ignored;
	FileReader *reader = extent_files_open(chooser->files, place, &ignored);

	while (reader && left > 0) {
		uint64_t length = MIN(left, FILE_READER_PIECE_BYTES);

		if (file_reader_read(reader, offset, length, buffer) != READ_DONE)
			return false;
		chooser->pass->result->finding_bytes += length;
		if (buffer[0] != 0 || memcmp(buffer, buffer + 1, length - 1) != 0)
			return false;
		offset += length;
		left -= length;
	}

	return reader;
}

/* Whether no other reference to @extent can have more than @range. */
static bool is_enough(const Chooser *chooser, const Object *extent, const CoverRange *range)
{
	uint64_t most = MIN(object_extent_zero_bytes(extent), ZERO_SOURCE_BYTES_MAX);

	return extent_refs_is_encoded(chooser->refs) ||
	       (range->end - range->first) * chooser->pass->block_bytes >= most;
}

/* The best range of @extent that a reference in the pass has; *ret has no blocks if there is none. */
static bool look_at_places(Chooser *chooser, const Object *extent, CoverRange *ret, GError **error)
{
	const ExtentRef *best = NULL;
	const ExtentRef *places;
	ExtentRefsOutcome outcome;
	size_t n;

	*ret = (CoverRange){ 0, 0 };
	if (!extent_refs_read(chooser->refs, extent, EXTENT_SCOPE_MOST, &outcome, error))
		return false;

	places = extent_refs_list(chooser->refs, &n);
	for (size_t i = 0; i < n && !is_enough(chooser, extent, ret); i++) {
		SkipReason ignored;
		CoverRange range;
		bool is_in;

		if (!extent_scope_has(chooser->pass->btrfs.scope, &places[i], &is_in, &ignored,
				      error))
			return false;
		if (!is_in || places[i].is_deleted ||
		    !extent_files_is_source(chooser->files, &places[i]))
			continue;
		if (!find_range(chooser, extent, &places[i], &range, error))
			return false;
		if (range.end - range.first <= ret->end - ret->first)
			continue;
		best = &places[i];
		*ret = range;
	}

	if (best && !are_known(chooser, extent, ret) && !are_zeros(chooser, best, ret))
		ret->end = ret->first;
	return true;
}

/* From here on the extent stays: in this pass, and as a settled one in later passes. */
static bool take(Chooser *chooser, const Object *extent, const CoverRange *range, GError **error)
{
	Pass *pass = chooser->pass;
	g_autofree char *note = note_of(extent, range);

	pass->btrfs.zero_source = g_new0(ZeroSource, 1);
	*pass->btrfs.zero_source = (ZeroSource){ extent->id, checksum_trust_stamp(extent), *range };
	object_table_add_fact(chooser->table, extent->id, FACT_LOCKED);
	return pass->settings->dry_run || g_strcmp0(chooser->last, note) == 0 ||
	       hash_store_set_note(pass->store, SOURCE_NOTE, note, error);
}

/* Take the best usable candidate. */
static bool take_best(Chooser *chooser, GError **error)
{
	g_array_sort(chooser->candidates, zero_candidate_compare);
	for (guint i = 0; i < MIN(chooser->candidates->len, CANDIDATES_MAX); i++) {
		const ZeroCandidate *best = &g_array_index(chooser->candidates, ZeroCandidate, i);
		CoverRange range;
		Object extent;
		bool found;

		if (!hash_store_peek(chooser->pass->store, best->id, &extent, &found, error))
			return false;
		if (!found)
			continue;
		if (!look_at_places(chooser, &extent, &range, error))
			return false;
		if (range.end > range.first)
			return take(chooser, &extent, &range, error);
	}

	return true;
}

static bool choose(Pass *pass, ExtentSums *sums, ObjectTable *table, GError **error)
{
	g_autoptr(ExtentFiles) files = extent_files_new(pass);
	g_autoptr(ExtentRefs) refs = extent_refs_new(pass->filesystem->fd, pass->btrfs.ref_bound);
	g_autoptr(GArray) candidates = g_array_new(false, false, sizeof(ZeroCandidate));
	Chooser chooser = {
		.pass = pass,
		.sums = sums,
		.table = table,
		.files = files,
		.refs = refs,
		.candidates = candidates,
	};
	bool is_best;
	bool done = consider_last(&chooser, &is_best, error) &&
		    (!is_best || take_best(&chooser, error)) &&
		    (pass->btrfs.zero_source ||
		     (consider_unsettled(&chooser, error) && take_best(&chooser, error)));

	g_free(chooser.last);
	return done;
}

bool zero_source_choose(Pass *pass, ExtentSums *sums, ObjectTable *table, GError **error)
{
	g_clear_pointer(&pass->btrfs.zero_source, g_free);
	return pass->settings->zeros != ZEROS_SHARE || choose(pass, sums, table, error);
}
