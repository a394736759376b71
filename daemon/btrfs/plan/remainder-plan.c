/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/plan/remainder-plan.h"

#include "daemon/btrfs/plan/checksum-trust.h"

struct RemainderPlan {
	Pass *pass;
	GArray *pieces; /* RemainderPiece */
	GArray *parts;  /* CopyPart */
};

RemainderPlan *remainder_plan_new(Pass *pass)
{
	RemainderPlan *plan = g_new0(RemainderPlan, 1);

	plan->pass = pass;
	plan->pieces = g_array_new(false, false, sizeof(RemainderPiece));
	plan->parts = g_array_new(false, false, sizeof(CopyPart));
	return plan;
}

void remainder_plan_free(RemainderPlan *plan)
{
	if (!plan)
		return;

	g_array_unref(plan->pieces);
	g_array_unref(plan->parts);
	g_free(plan);
}

void remainder_plan_clear(RemainderPlan *plan)
{
	g_array_set_size(plan->pieces, 0);
	g_array_set_size(plan->parts, 0);
}

bool remainder_plan_lay(RemainderPlan *plan, const Object *target, const ExtentCover *cover,
			const ExtentRef *refs, size_t n_refs, bool *ret, GError **error)
{
	size_t repeat_blocks;

	if (!checksum_trust_repeats(plan->pass, target, &repeat_blocks, error))
		return false;

	*ret = remainder_lay(cover, refs, n_refs, plan->pass->block_bytes, repeat_blocks,
			     plan->pieces);
	return true;
}

/* The reference with the byte @position of the target and most of the bytes after it; there is one. */
static const ExtentRef *place_of_byte(const ExtentRef *refs, size_t n_refs, uint64_t position)
{
	const ExtentRef *best = NULL;
	uint64_t best_end = position;

	for (size_t i = 0; i < n_refs; i++) {
		uint64_t end = refs[i].position + extent_ref_shown_bytes(&refs[i]);

		if (refs[i].position > position || end <= best_end)
			continue;
		best = &refs[i];
		best_end = end;
	}

	return best;
}

static int compare_parts(const void *a, const void *b)
{
	const CopyPart *one = a;
	const CopyPart *other = b;

	if (one->is_repeat != other->is_repeat)
		return one->is_repeat ? 1 : -1;
	return (one->offset > other->offset) - (one->offset < other->offset);
}

/* Choose the places of one piece of the remainder. */
static void plan_part(RemainderPlan *plan, const RemainderPiece *piece, const ExtentRef *refs,
		      size_t n_refs)
{
	for (uint64_t done = 0; done < piece->length;) {
		uint64_t position = piece->position + done;
		const ExtentRef *ref = place_of_byte(refs, n_refs, position);
		uint64_t end = ref->position + extent_ref_shown_bytes(ref);
		CopyPart part = {
			.place = *ref,
			.place_offset = ref->offset + (position - ref->position),
			.offset = piece->offset + done,
			.length = MIN(end - position, piece->length - done),
			.is_repeat = piece->is_repeat,
		};

		g_array_append_val(plan->parts, part);
		done += part.length;
	}
}

void remainder_plan_choose_parts(RemainderPlan *plan, const ExtentRef *refs, size_t n_refs)
{
	for (guint i = 0; i < plan->pieces->len; i++)
		plan_part(plan, &g_array_index(plan->pieces, RemainderPiece, i), refs, n_refs);
	g_array_sort(plan->parts, compare_parts);
}

bool remainder_plan_is_empty(const RemainderPlan *plan)
{
	return plan->pieces->len == 0;
}

bool remainder_plan_repeats(const RemainderPlan *plan)
{
	for (guint i = 0; i < plan->pieces->len; i++)
		if (g_array_index(plan->pieces, RemainderPiece, i).is_repeat)
			return true;
	return false;
}

uint64_t remainder_plan_bytes(const RemainderPlan *plan)
{
	uint64_t block_bytes = plan->pass->block_bytes;

	return (remainder_bytes(plan->pieces) + block_bytes - 1) / block_bytes * block_bytes;
}

const RemainderPiece *remainder_plan_find(const RemainderPlan *plan, uint64_t position)
{
	return remainder_find(plan->pieces, position);
}

const GArray *remainder_plan_parts(const RemainderPlan *plan)
{
	return plan->parts;
}
