/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/extent-share.h"

#include "daemon/extent-cover.h"
#include "daemon/extent-files.h"
#include "daemon/extent-refs.h"
#include "hashstore/objects.h"
#include "hashstore/open-extents.h"
#include "kernel-ioctl/btrfs-file-extent.h"
#include "kernel-ioctl/dedupe-range.h"

/* Of a source so many places are looked at to find one that serves. */
#define SOURCE_REFS 64

/* Each place that shows a target costs a read of it: one with more is left alone. */
#define GAIN_FLOOR 32

/* Gaps of one target that are looked at, each time one becomes smaller counted anew. */
#define GAPS_MAX 1024

/* Runs of one target that are looked at, longest first. */
#define TARGET_RUNS 4096

/* A source extent and where it is shown. */
typedef struct {
	Object object;
	GArray *places; /* ExtentRef; none: it is gone */
	bool is_encoded;
	uint64_t ram_bytes;
} Source;

/* One call to make: bytes of a target's file and of a source's. */
typedef struct {
	ExtentRef target;
	ExtentRef source;
	uint64_t target_offset;
	uint64_t source_offset;
	uint64_t length;
} ShareStep;

typedef enum {
	EXTENT_SHARED_ALL,
	EXTENT_LEFT,   /* nothing was done, for a reason that was counted */
	EXTENT_GONE,   /* it is not there any more */
	EXTENT_FAILED, /* with an error */
} ExtentOutcome;

typedef struct {
	Pass *pass;
	ExtentSums *sums;
	ObjectTable *table;
	ExtentCover *cover;
	ExtentRefs *refs;        /* of the target */
	ExtentRefs *source_refs; /* of a source */
	BtrfsFileExtents *file_extents;
	uint32_t target_id;
	ExtentFiles *files;
	GArray *runs;       /* Run, of the target in hand */
	GPtrArray *sources; /* Source, of the target in hand */
	GArray *steps;      /* ShareStep, of the target in hand */
} ExtentSharer;

static void source_free(Source *source)
{
	g_array_unref(source->places);
	g_free(source);
}

static void leave(ExtentSharer *sharer, const Object *target, SkipReason reason)
{
	skip_ledger_add(&sharer->pass->result->skips, reason, target->size_bytes, NULL);
}

static bool read_places(ExtentSharer *sharer, Source *source, GError **error)
{
	ExtentRefs *refs = sharer->source_refs;
	ExtentRefsOutcome outcome;
	const ExtentRef *places;
	size_t n;

	source->places = g_array_new(false, false, sizeof(ExtentRef));
	if (!extent_refs_read(refs, &source->object, SOURCE_REFS, &outcome, error))
		return false;

	places = extent_refs_list(refs, &n);
	g_array_append_vals(source->places, places, (guint)n);
	source->is_encoded = extent_refs_is_encoded(refs);
	source->ram_bytes = extent_refs_ram_bytes(refs);
	return true;
}

/* The source @id, or NULL when it cannot be one any more. */
static bool find_source(ExtentSharer *sharer, uint32_t id, Source **ret, GError **error)
{
	const Object *found;
	Source *source;

	*ret = NULL;
	for (guint i = 0; i < sharer->sources->len; i++) {
		source = sharer->sources->pdata[i];
		if (source->object.id == id) {
			*ret = source;
			return true;
		}
	}
	if (object_table_facts(sharer->table, id) & FACT_MOVED)
		return true;
	if (!hash_store_find(sharer->pass->store, id, &found, error))
		return false;
	if (!found || found->state != OBJECT_DONE)
		return true;

	source = g_new0(Source, 1);
	source->object = *found;
	g_ptr_array_add(sharer->sources, source);
	if (!read_places(sharer, source, error))
		return false;

	*ret = source;
	return true;
}

static bool is_whole(const Run *run, const Object *target, const Object *source,
		     uint32_t block_bytes)
{
	return run->target_block == 0 && run->source_block == 0 &&
	       run->blocks == target->size_bytes / block_bytes &&
	       source->size_bytes == target->size_bytes && source->digest == target->digest &&
	       source->mtime_nsec == target->mtime_nsec;
}

static bool is_encoded_alike(const ExtentSharer *sharer, const Source *source)
{
	return extent_refs_is_encoded(sharer->refs) == source->is_encoded &&
	       (!source->is_encoded || extent_refs_ram_bytes(sharer->refs) == source->ram_bytes);
}

/*
 * The extent that the file of @place shows at @offset, if it is stored and no target of this pass;
 * *ret_run is how its blocks lie beside the target's @block.
 */
static bool find_neighbour(ExtentSharer *sharer, const ExtentRef *place, uint64_t offset,
			   uint64_t block, Run *ret_run, Source **ret, GError **error)
{
	uint32_t block_bytes = sharer->pass->block_bytes;
	const BtrfsFileExtent *item;
	const Object *found;
	uint64_t in_extent;

	*ret = NULL;
	btrfs_file_extents_start(sharer->file_extents, sharer->pass->filesystem->fd, place->root,
				 place->inode, offset, 1);
	if (!btrfs_file_extents_next(sharer->file_extents, &item, error))
		return false;
	if (!item || item->kind != BTRFS_FILE_EXTENT_IS_REGULAR || item->bytenr == 0 ||
	    item->is_encoded || item->logical > offset)
		return true;
	if (!hash_store_find_at(sharer->pass->store, OBJECT_EXTENTS, item->bytenr, &found, error))
		return false;
	if (!found)
		return true;

	in_extent = (item->offset + (offset - item->logical)) / block_bytes;
	*ret_run = (Run){
		.target_block = block, .source_block = in_extent, .blocks = 1, .source = found->id
	};
	return find_source(sharer, found->id, ret, error);
}

/* Cover what lies at @block of the target by what follows, or precedes, a piece in its own file. */
static bool fill_beside(ExtentSharer *sharer, const CoverPiece *piece, uint64_t block,
			GError **error)
{
	uint32_t block_bytes = sharer->pass->block_bytes;
	uint64_t position = (block - piece->diagonal) * block_bytes;
	const ExtentRef *place;
	Source *source;
	Run run;

	if (!find_source(sharer, piece->source, &source, error))
		return false;
	if (!source || source->places->len == 0)
		return true;

	place = &g_array_index(source->places, ExtentRef, 0);
	if (place->offset + position < place->position)
		return true;
	if (!find_neighbour(sharer, place, place->offset + position - place->position, block, &run,
			    &source, error))
		return false;
	if (!source || source->places->len == 0 || run.source == sharer->target_id)
		return true;

	return extent_cover_add(sharer->cover, &run, source->object.inode,
				source->object.size_bytes / block_bytes, 1, error);
}

/*
 * Equal files may be cut into extents at other places: where one piece ends, what comes next in the
 * file of its source is likely to go on with the target.
 */
static bool fill_gaps(ExtentSharer *sharer, GError **error)
{
	uint64_t first, end, from = 0;

	for (size_t i = 0; i < GAPS_MAX && extent_cover_gap(sharer->cover, from, &first, &end);
	     i++) {
		uint64_t left_first, left_end;

		if (first > 0) {
			CoverPiece before = extent_cover_piece(sharer->cover, first - 1, first);

			if (!fill_beside(sharer, &before, first, error))
				return false;
		}
		if (extent_cover_gap(sharer->cover, first, &left_first, &left_end) &&
		    left_first == first && left_end == end &&
		    extent_cover_has(sharer->cover, end, end + 1)) {
			CoverPiece after = extent_cover_piece(sharer->cover, end, end + 1);

			if (!fill_beside(sharer, &after, end - 1, error))
				return false;
		}

		/* As long as it becomes smaller it is worth another look. */
		if (!extent_cover_gap(sharer->cover, first, &left_first, &left_end))
			return true;
		from = left_first == first && left_end == end ? end : left_first;
	}

	return true;
}

/* Cover the target, whose places are known, by its runs. */
static bool cover_target(ExtentSharer *sharer, const Object *target, GError **error)
{
	uint32_t block_bytes = sharer->pass->block_bytes;
	bool is_encoded = extent_refs_is_encoded(sharer->refs);

	if (!extent_cover_begin(sharer->cover, target->inode, target->size_bytes / block_bytes,
				error))
		return false;

	for (guint i = 0; i < sharer->runs->len; i++) {
		const Run *run = &g_array_index(sharer->runs, Run, i);
		Source *source;

		if (!find_source(sharer, run->source, &source, error))
			return false;
		if (!source || source->places->len == 0)
			continue;

		if (is_whole(run, target, &source->object, block_bytes) &&
		    is_encoded_alike(sharer, source))
			extent_cover_add_whole(sharer->cover, run->source);
		else if (!is_encoded && !source->is_encoded &&
			 !extent_cover_add(sharer->cover, run, source->object.inode,
					   source->object.size_bytes / block_bytes,
					   COVER_LEAST_BLOCKS, error))
			return false;
	}

	return is_encoded || fill_gaps(sharer, error);
}

/*
 * A place of the source that shows @length bytes from @position on, as much of them as possible;
 * @is_end says that the target's file ends with them within a block, so the source's has to as well.
 */
static bool choose_place(const Source *source, uint64_t position, uint64_t length, bool is_end,
			 uint32_t block_bytes, const ExtentFiles *files, const ExtentRef **ret,
			 uint64_t *ret_length)
{
	*ret = NULL;
	*ret_length = 0;
	for (guint i = 0; i < source->places->len; i++) {
		const ExtentRef *place = &g_array_index(source->places, ExtentRef, i);
		uint64_t offset = place->offset + (position - place->position);
		uint64_t end = MIN(place->position + place->length, position + length);

		if (place->position > position || offset >= place->size_bytes ||
		    extent_files_is_own(files, place))
			continue;
		/* What lies behind the end of the file is not to be had. */
		end = MIN(end, position + place->size_bytes - offset);
		if (is_end && end == position + length && offset + length != place->size_bytes)
			end -= length % block_bytes;
		if (end <= position || end - position <= *ret_length)
			continue;

		*ret = place;
		*ret_length = end - position;
	}

	return *ret;
}

/* Steps for bytes of the extent from @position on that one piece covers; false: it cannot be done. */
static bool plan_piece(ExtentSharer *sharer, const ExtentRef *ref, const CoverPiece *piece,
		       uint64_t position, uint64_t length, Source *source)
{
	uint64_t back = piece->diagonal * sharer->pass->block_bytes;
	uint32_t block_bytes = sharer->pass->block_bytes;

	while (length > 0) {
		ShareStep step = { .target = *ref };
		const ExtentRef *place;
		uint64_t here;

		step.target_offset = ref->offset + (position - ref->position);
		if (!choose_place(source, position - back, length, length % block_bytes,
				  block_bytes, sharer->files, &place, &here))
			return false;
		/* In the middle of the range only whole blocks can be shared. */
		if (here < length)
			here -= here % block_bytes;
		if (here == 0)
			return false;

		step.source = *place;
		step.source_offset = place->offset + (position - back - place->position);
		step.length = here;
		g_array_append_val(sharer->steps, step);
		position += here;
		length -= here;
	}

	return true;
}

/* All steps for one place of the target. */
static bool plan_place(ExtentSharer *sharer, const ExtentRef *ref, bool *ret_done, GError **error)
{
	uint32_t block_bytes = sharer->pass->block_bytes;
	uint64_t length =
		ref->size_bytes > ref->offset ? MIN(ref->length, ref->size_bytes - ref->offset) : 0;
	uint64_t position = ref->position;
	uint64_t end = position + length;

	*ret_done = false;
	while (position < end) {
		uint64_t block = position / block_bytes;
		uint64_t end_block = (end + block_bytes - 1) / block_bytes;
		CoverPiece piece;
		Source *source;
		uint64_t here;

		if (extent_refs_is_encoded(sharer->refs)) {
			piece = extent_cover_piece(sharer->cover, 0, UINT64_MAX);
			here = end - position;
		} else {
			piece = extent_cover_piece(sharer->cover, block, end_block);
			here = MIN(end, (piece.first + piece.blocks) * block_bytes) - position;
		}
		if (!find_source(sharer, piece.source, &source, error))
			return false;
		if (!source || !plan_piece(sharer, ref, &piece, position, here, source))
			return true;
		position += here;
	}

	*ret_done = true;
	return true;
}

static bool is_covered(const ExtentSharer *sharer, const Object *target, const ExtentRef *ref)
{
	uint32_t block_bytes = sharer->pass->block_bytes;
	uint64_t first = ref->position / block_bytes;
	uint64_t end = (ref->position + ref->length + block_bytes - 1) / block_bytes;

	/* One that is encoded is covered whole or not at all. */
	if (extent_refs_is_encoded(sharer->refs)) {
		first = 0;
		end = target->size_bytes / block_bytes;
	}
	return extent_cover_has(sharer->cover, first, end);
}

/* Plan all steps for the target; *ret_reason is why nothing would be freed. */
static bool plan_target(ExtentSharer *sharer, const Object *target, bool *ret_done,
			SkipReason *ret_reason, GError **error)
{
	const ExtentRef *refs;
	size_t n;

	*ret_done = false;
	*ret_reason = SKIP_PINNED;
	refs = extent_refs_list(sharer->refs, &n);

	for (size_t i = 0; i < n; i++) {
		if (extent_files_is_own(sharer->files, &refs[i])) {
			*ret_reason = SKIP_OWN_STATE;
			return true;
		}
		if (!is_covered(sharer, target, &refs[i]))
			return true;
	}

	for (size_t i = 0; i < n; i++) {
		bool done;

		if (!plan_place(sharer, &refs[i], &done, error))
			return false;
		if (!done)
			return true;
	}

	*ret_done = true;
	return true;
}

static SkipReason reason_of(DedupeOutcome outcome)
{
	switch (outcome) {
	case DEDUPE_DIFFERS:
		return SKIP_DIFFERS;
	case DEDUPE_DENIED:
		return SKIP_DENIED;
	case DEDUPE_READ_ONLY:
		return SKIP_READ_ONLY;
	case DEDUPE_SWAP_FILE:
		return SKIP_SWAP_FILE;
	case DEDUPE_NO_SPACE:
		return SKIP_NO_SPACE;
	case DEDUPE_UNREADABLE:
		return SKIP_UNREADABLE;
	case DEDUPE_INVALID:
	case DEDUPE_UNSUPPORTED:
		return SKIP_UNSUPPORTED;
	default:
		return SKIP_BUSY;
	}
}

/* Have the kernel share one step, in rounds whose data is fetched before. */
static bool run_step(ExtentSharer *sharer, const ShareStep *step, SkipReason *ret_reason)
{
	PassResult *result = sharer->pass->result;
	FileReader *target = extent_files_open(sharer->files, &step->target, ret_reason);
	FileReader *source = extent_files_open(sharer->files, &step->source, ret_reason);

	if (!target || !source)
		return false;

	for (uint64_t done = 0; done < step->length; done += DEDUPE_ROUND_BYTES) {
		uint64_t length = MIN(step->length - done, DEDUPE_ROUND_BYTES);
		DedupeTarget asked = {
			.fd = file_reader_fd(target),
			.offset_bytes = step->target_offset + done,
		};

		*ret_reason = SKIP_BUSY;
		if (file_reader_fetch(target, asked.offset_bytes, length) != READ_DONE ||
		    file_reader_fetch(source, step->source_offset + done, length) != READ_DONE)
			return false;
		result->compare_bytes += 2 * length;
		result->shared.calls +=
			dedupe_range(file_reader_fd(source), step->source_offset + done, length,
				     &asked, 1, DEDUPE_ROUND_BYTES, sharer->pass->stop);
		if (asked.outcome != DEDUPE_SAME) {
			*ret_reason = reason_of(asked.outcome);
			result->shared.differed += asked.outcome == DEDUPE_DIFFERS;
			return false;
		}
		result->shared.bytes += length;
	}

	result->shared.runs++;
	return true;
}

static uint64_t planned_bytes(const ExtentSharer *sharer)
{
	uint64_t bytes = 0;

	for (guint i = 0; i < sharer->steps->len; i++)
		bytes += g_array_index(sharer->steps, ShareStep, i).length;
	return bytes;
}

/* Do all that was planned; what was freed is what nothing shows any more. */
static ExtentOutcome execute(ExtentSharer *sharer, const Object *target, GError **error)
{
	PassResult *result = sharer->pass->result;
	ExtentRefsOutcome outcome;
	SkipReason reason;

	if (sharer->pass->settings->dry_run) {
		result->shared.runs += sharer->steps->len;
		result->shared.bytes += planned_bytes(sharer);
		result->freed.bytes += target->size_bytes;
		return EXTENT_LEFT;
	}

	object_table_add_fact(sharer->table, target->id, FACT_MOVED);
	for (guint i = 0; i < sharer->steps->len && pass_may_continue(sharer->pass); i++) {
		if (run_step(sharer, &g_array_index(sharer->steps, ShareStep, i), &reason))
			continue;
		if (pass_may_continue(sharer->pass))
			leave(sharer, target, reason);
		return EXTENT_LEFT;
	}

	if (!extent_refs_read(sharer->refs, target, 1, &outcome, error))
		return EXTENT_FAILED;
	if (outcome != EXTENT_REFS_GONE)
		return EXTENT_LEFT;

	result->freed.bytes += target->size_bytes;
	atomic_store(&sharer->pass->progress->freed_bytes, result->freed.bytes);
	return EXTENT_SHARED_ALL;
}

static ExtentOutcome share_target(ExtentSharer *sharer, const Object *target, GError **error)
{
	ExtentRefsOutcome outcome;
	SkipReason reason;
	bool planned;

	if (!extent_refs_read(sharer->refs, target, GAIN_FLOOR, &outcome, error))
		return EXTENT_FAILED;
	if (outcome == EXTENT_REFS_GONE)
		return EXTENT_GONE;
	if (outcome == EXTENT_REFS_PARTIAL) {
		leave(sharer, target, SKIP_PINNED);
		return EXTENT_LEFT;
	}

	if (!cover_target(sharer, target, error) ||
	    !plan_target(sharer, target, &planned, &reason, error))
		return EXTENT_FAILED;
	if (!planned) {
		leave(sharer, target, reason);
		return EXTENT_LEFT;
	}

	return execute(sharer, target, error);
}

/* Share the target of the runs in hand. */
static bool end_target(ExtentSharer *sharer, GError **error)
{
	HashStore *store = sharer->pass->store;
	ExtentOutcome outcome;
	const Object *found;
	Object target;
	uint32_t id;

	if (sharer->runs->len == 0)
		return true;

	id = run_target(&g_array_index(sharer->runs, Run, 0));
	if (!hash_store_find(store, id, &found, error))
		return false;
	if (!found)
		return true;

	target = *found;
	sharer->target_id = id;
	outcome = share_target(sharer, &target, error);
	g_array_set_size(sharer->runs, 0);
	g_array_set_size(sharer->steps, 0);
	g_ptr_array_set_size(sharer->sources, 0);
	atomic_fetch_add(&sharer->pass->progress->done_bytes, target.size_bytes);
	if (outcome == EXTENT_FAILED)
		return false;
	if (outcome == EXTENT_LEFT || sharer->pass->settings->dry_run)
		return true;

	return hash_store_drop_open_extent(store, target.inode, error) &&
	       hash_store_drop(store, OBJECT_EXTENTS, target.inode, error);
}

static bool share_all(ExtentSharer *sharer, Planner *planner, GError **error)
{
	while (pass_may_continue(sharer->pass)) {
		const Plan *plan;

		if (!plan_next(planner, &plan, error))
			return false;
		if ((!plan || plan->begins_target) && !end_target(sharer, error))
			return false;
		if (!plan)
			break;
		if (!run_is_inside(&plan->run) && plan->run.source != RUN_HOLE &&
		    sharer->runs->len < TARGET_RUNS)
			g_array_append_val(sharer->runs, plan->run);
	}

	return true;
}

bool extents_share(Pass *pass, ExtentSums *sums, ObjectTable *table, Planner *planner,
		   GError **error)
{
	g_autoptr(ExtentCover) cover = extent_cover_new(sums, pass->block_bytes);
	g_autoptr(ExtentRefs) refs = extent_refs_new(pass->filesystem->fd);
	g_autoptr(ExtentRefs) source_refs = extent_refs_new(pass->filesystem->fd);
	g_autoptr(ExtentFiles) files = extent_files_new(pass);
	g_autoptr(GArray) runs = g_array_new(false, false, sizeof(Run));
	g_autoptr(GArray) steps = g_array_new(false, false, sizeof(ShareStep));
	g_autoptr(GPtrArray) sources = g_ptr_array_new_with_free_func((GDestroyNotify)source_free);
	g_autoptr(BtrfsFileExtents) file_extents = btrfs_file_extents_new();
	ExtentSharer sharer = {
		.pass = pass,
		.sums = sums,
		.table = table,
		.cover = cover,
		.refs = refs,
		.file_extents = file_extents,
		.source_refs = source_refs,
		.files = files,
		.runs = runs,
		.sources = sources,
		.steps = steps,
	};

	return share_all(&sharer, planner, error);
}
