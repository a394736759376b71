/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/content/run.h"

int run_compare(const void *a, const void *b)
{
	const Run *one = a;
	const Run *other = b;

	if (one->target_rank != other->target_rank)
		return one->target_rank < other->target_rank ? -1 : 1;
	if (run_is_inside(one) != run_is_inside(other))
		return run_is_inside(one) ? 1 : -1;
	if (one->target_block != other->target_block)
		return one->target_block < other->target_block ? -1 : 1;
	if (one->blocks != other->blocks)
		return one->blocks > other->blocks ? -1 : 1;
	if (one->source != other->source)
		return one->source < other->source ? -1 : 1;
	if (one->source_block != other->source_block)
		return one->source_block < other->source_block ? -1 : 1;
	return 0;
}
