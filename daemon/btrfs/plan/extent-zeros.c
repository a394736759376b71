/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/plan/extent-zeros.h"

#include "common/content/zeros.h"
#include "daemon/btrfs/plan/remainder-plan.h"
#include "daemon/btrfs/plan/zero-source.h"
#include "daemon/context/provisioned-files.h"
#include "daemon/share/block-set.h"

struct ExtentZeros {
	Pass *pass;
	ProvisionedFiles *provisioned;
	RemainderPlan *rest;
};

ExtentZeros *extent_zeros_new(Pass *pass)
{
	ExtentZeros *zeros = g_new0(ExtentZeros, 1);

	zeros->pass = pass;
	zeros->provisioned = provisioned_files_new(pass);
	zeros->rest = remainder_plan_new(pass);
	return zeros;
}

void extent_zeros_free(ExtentZeros *zeros)
{
	if (!zeros)
		return;

	provisioned_files_free(zeros->provisioned);
	remainder_plan_free(zeros->rest);
	g_free(zeros);
}

/* Whether zeros are shared with other zeros. */
static bool shares(const ExtentZeros *zeros)
{
	return zeros->pass->settings->zeros == ZEROS_SHARE;
}

static void add_zeros(const ExtentZeros *zeros, ExtentCover *cover)
{
	const ZeroSource *source = zeros->pass->btrfs.zero_source;

	if (shares(zeros))
		extent_cover_add_zeros(cover, source->id, &source->range);
	else
		extent_cover_add_hole(cover);
}

/* Whether the extent can be freed only if its zeros are covered. */
static bool is_of_use(ExtentZeros *zeros, const Object *target, ExtentCover *cover,
		      const ExtentRef *refs, size_t n_refs, bool *ret, GError **error)
{
	uint64_t without, with;
	bool is_laid, done;

	*ret = false;
	if (!remainder_plan_lay(zeros->rest, target, cover, refs, n_refs, &is_laid, error))
		return false;
	without = remainder_plan_bytes(zeros->rest);
	if (is_laid && without == 0)
		return true;

	add_zeros(zeros, cover);
	done = remainder_plan_lay(zeros->rest, target, cover, refs, n_refs, &is_laid, error);
	extent_cover_remove_zeros(cover);
	with = remainder_plan_bytes(zeros->rest);
	*ret = done && is_laid && with != without &&
	       (with == 0 ||
		(zeros->pass->settings->rewrite != REWRITE_NEVER &&
		 remainder_is_worth(&zeros->pass->btrfs.remainders, with, target->size_bytes)));
	return done;
}

/* Whether a file that references zeros of the extent has to keep them. */
static bool are_kept(ExtentZeros *zeros, const ExtentRef *refs, size_t n_refs, bool *ret,
		     const ExtentRef **ret_blamed, GError **error)
{
	ZerosPolicy policy = zeros->pass->settings->zeros;

	*ret = !shares(zeros) && !zeros_become_holes(policy, false);
	if (*ret || shares(zeros) || zeros_become_holes(policy, true))
		return true;

	for (size_t i = 0; i < n_refs && !*ret; i++) {
		if (!provisioned_files_has(zeros->provisioned, &refs[i], ret, error))
			return false;
		if (*ret)
			*ret_blamed = &refs[i];
	}

	return true;
}

/* Whether there is a source for the target's zeros. */
static bool has_source(const ExtentZeros *zeros, const Object *target)
{
	const ZeroSource *source = zeros->pass->btrfs.zero_source;

	return !shares(zeros) || (source && source->id != target->id);
}

bool extent_zeros_cover(ExtentZeros *zeros, const Object *target, ExtentCover *cover,
			const ExtentRef *refs, size_t n_refs, ZerosVerdict *ret,
			const ExtentRef **ret_blamed, GError **error)
{
	ExtentStamp mine = checksum_trust_stamp(target);
	ExtentStamp other = CHECKSUM_TRUST_HOLE;
	ChecksumTrust trust;
	bool is_useful, kept;

	*ret = ZEROS_OF_NO_USE;
	*ret_blamed = NULL;
	if (object_extent_zero_bytes(target) == 0 || !has_source(zeros, target))
		return true;
	if (!is_of_use(zeros, target, cover, refs, n_refs, &is_useful, error))
		return false;
	if (!is_useful)
		return true;

	if (shares(zeros))
		other = zeros->pass->btrfs.zero_source->stamp;
	if (!checksum_trust_ask(zeros->pass, &mine, &other, false, &trust, error))
		return false;
	if (trust == CHECKSUM_TRUST_NOT_NOW)
		*ret = ZEROS_DOUBTED;
	if (trust != CHECKSUM_TRUST_YES)
		return true;

	if (!are_kept(zeros, refs, n_refs, &kept, ret_blamed, error))
		return false;
	*ret = kept ? ZEROS_KEPT : ZEROS_COVERED;
	if (!kept)
		add_zeros(zeros, cover);
	return true;
}

bool extent_zeros_are_all(const Object *extent)
{
	return object_extent_zero_bytes(extent) == extent->size_bytes;
}

uint64_t extent_zeros_count(const GArray *steps, uint32_t block_bytes)
{
	g_autoptr(BlockSet) holes = block_set_new();
	uint64_t blocks = 0;

	for (guint i = 0; i < steps->len; i++) {
		const ExtentStep *step = &g_array_index(steps, ExtentStep, i);
		uint64_t position =
			step->target.position + (step->target_offset - step->target.offset);
		uint64_t first = position / block_bytes;
		uint64_t end = (position + step->length + block_bytes - 1) / block_bytes;
		uint64_t gap, gap_end;

		if (step->from != STEP_FROM_HOLE)
			continue;
		for (uint64_t from = first; block_set_gap(holes, from, end, &gap, &gap_end);
		     from = gap_end)
			blocks += gap_end - gap;
		block_set_add(holes, first, end);
	}

	return blocks * block_bytes;
}
