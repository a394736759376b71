/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/share/step-sharer.h"

#include "daemon/btrfs/plan/checksum-trust.h"
#include "daemon/share/dedupe-call.h"
#include "daemon/share/hole-source.h"
#include "kernel-ioctl/btrfs/btrfs-file-extent.h"

struct StepSharer {
	Pass *pass;
	ExtentFiles *files;
	HoleSource *hole;
	BtrfsFileExtents *shown;
};

StepSharer *step_sharer_new(Pass *pass, ExtentFiles *files)
{
	StepSharer *sharer = g_new0(StepSharer, 1);

	sharer->pass = pass;
	sharer->files = files;
	sharer->hole = hole_source_new(pass->filesystem, NULL);
	sharer->shown = btrfs_file_extents_new();
	return sharer;
}

void step_sharer_free(StepSharer *sharer)
{
	if (!sharer)
		return;

	hole_source_free(sharer->hole);
	btrfs_file_extents_free(sharer->shown);
	g_free(sharer);
}

/* Whether the reference still has the expected extent at @offset. */
static bool still_shows(StepSharer *sharer, const ExtentRef *place, uint64_t offset,
			uint64_t bytenr, bool *ret, GError **error)
{
	const BtrfsFileExtent *item;

	btrfs_file_extents_start(sharer->shown, sharer->pass->filesystem->fd, place->root,
				 place->inode, offset, 1);
	/* The subvolume may be deleted by now. */
	if (!btrfs_file_extents_next_if_any(sharer->shown, &item, error))
		return false;

	*ret = item && item->bytenr == bytenr && item->logical <= offset;
	return true;
}

bool step_sharer_is_current(StepSharer *sharer, const ExtentStep *step, uint64_t bytenr,
			    uint64_t done, bool *ret, GError **error)
{
	if (!still_shows(sharer, &step->target, step->target_offset + done, bytenr, ret, error))
		return false;
	if (!*ret || step->from != STEP_FROM_PLACE)
		return true;

	return still_shows(sharer, &step->source, step->source_offset + done,
			   step->source_extent.address, ret, error);
}

uint64_t step_compared_bytes(const ExtentStep *step, uint64_t length)
{
	return step->from == STEP_FROM_HOLE ? length : 2 * length;
}

const ExtentRef *step_sharer_open(StepSharer *sharer, const ExtentStep *step,
				  const ExtentCopy *copy, StepFiles *ret, SkipReason *ret_reason)
{
	ret->from = NULL;
	ret->to = extent_files_open(sharer->files, &step->target, ret_reason);
	if (!ret->to)
		return &step->target;
	if (step->from == STEP_FROM_HOLE)
		return NULL;
	if (step->from == STEP_FROM_COPY) {
		ret->from = extent_copy_reader(copy);
		return NULL;
	}

	ret->from = extent_files_open(sharer->files, &step->source, ret_reason);
	return ret->from ? NULL : &step->source;
}

static ReadOutcome fetch_window(const ExtentStep *step, const SharedStep *shared,
				const StepFiles *files)
{
	ReadOutcome outcome =
		file_reader_fetch(files->to, step->target_offset + shared->done, shared->length);

	if (outcome != READ_DONE || !files->from)
		return outcome;
	return file_reader_fetch(files->from, step->source_offset + shared->done, shared->length);
}

/* Have the kernel share the present window, whose data is fetched. */
static void share_window(StepSharer *sharer, const ExtentStep *step, const StepFiles *files,
			 SharedStep *shared)
{
	DedupeCall call = {
		.target = files->to,
		.target_offset = step->target_offset + shared->done,
		.source = files->from,
		.source_is_ours = step->from == STEP_FROM_COPY,
		.source_fd = files->from ? file_reader_fd(files->from)
					 : hole_source_fd(sharer->hole, NULL, shared->length,
							  &shared->no_source),
		.source_offset = files->from ? step->source_offset + shared->done
					     : hole_source_offset(sharer->hole),
		.length = shared->length,
	};
	DedupeTarget asked;

	if (call.source_fd < 0)
		return;

	shared->compared_bytes += step_compared_bytes(step, shared->length);
	asked = dedupe_call_make(sharer->pass, &call, &shared->counts);
	shared->outcome = asked.outcome;
	shared->done += asked.same_bytes;
	shared->length -= asked.same_bytes;
}

SharedStep step_sharer_share(StepSharer *sharer, const ExtentStep *step, const StepFiles *files)
{
	SharedStep shared = { .outcome = DEDUPE_SAME, .no_source = SKIP_REASONS };

	while (shared.outcome == DEDUPE_SAME && shared.done < step->length) {
		shared.length = checksum_trust_next_bytes(sharer->pass, step->length, shared.done);
		shared.outcome = DEDUPE_NOT_DONE;
		shared.read = fetch_window(step, &shared, files);
		if (shared.read == READ_DONE)
			share_window(sharer, step, files, &shared);
	}

	return shared;
}

void step_sharer_note(StepSharer *sharer, const ExtentStep *step, const SharedStep *shared)
{
	PassResult *result = sharer->pass->result;

	dedupe_counts_note(&shared->counts, result);
	result->compare_bytes += shared->compared_bytes;
	if (shared->done > 0)
		witness_sample_add(&sharer->pass->shared, step->target.root, step->target.inode,
				   step->target_offset);
}
