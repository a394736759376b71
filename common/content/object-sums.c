/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/content/object-sums.h"

#include <glib.h>
#include <string.h>
#include <xxhash.h>

/* The seed separates digests of whole objects from those of windows. */
#define WHOLE_SEED UINT64_C(0x6f626a656374)

/* The token before the length of a run of zeros. */
#define ZEROS_TOKEN UINT64_C(0x7a65726f73)

void object_sums_init(ObjectSums *sums, uint32_t anchor_blocks, uint32_t window_anchors,
		      uint64_t zero_run_blocks)
{
	memset(sums, 0, sizeof(*sums));
	winnow_init(&sums->winnow, anchor_blocks, window_anchors);
	sums->zero_run_blocks = zero_run_blocks;
	sums->chain = WHOLE_SEED;
}

bool object_sums_may_go_on(const ObjectSums *sums, uint32_t anchor_blocks, uint32_t window_anchors,
			   uint64_t zero_run_blocks, uint64_t blocks)
{
	const Winnow *winnow = &sums->winnow;

	return winnow->anchor_blocks == anchor_blocks &&
	       (winnow->window_anchors == window_anchors || winnow->window_anchors == 0) &&
	       sums->zero_run_blocks == zero_run_blocks &&
	       sums->n_tokens < G_N_ELEMENTS(sums->tokens) && winnow_is_valid(winnow) &&
	       winnow->next_block == blocks && sums->zeros <= blocks &&
	       sums->data_zeros <= sums->zeros && sums->n_data <= blocks - sums->zeros &&
	       (sums->data_zeros == 0 || sums->data_zeros_start <= blocks - sums->data_zeros);
}

static void add_token(ObjectSums *sums, uint64_t token)
{
	sums->tokens[sums->n_tokens++] = token;
	if (sums->n_tokens < OBJECT_SUMS_TOKENS)
		return;

	sums->chain = XXH3_64bits_withSeed(sums->tokens, sizeof(sums->tokens), sums->chain);
	sums->n_tokens = 0;
}

bool object_sums_have_anchors(const ObjectSums *sums)
{
	return sums->winnow.window_anchors > 0;
}

/* Pass blocks that have no anchors. */
static void pass_over(ObjectSums *sums, uint64_t blocks, const ObjectSumsSink *sink)
{
	if (object_sums_have_anchors(sums))
		winnow_break(&sums->winnow, blocks, sink->anchor, sink->data);
	else
		sums->winnow.next_block += blocks;
}

static void end_data_zeros(ObjectSums *sums, const ObjectSumsSink *sink, bool is_whole)
{
	if (object_sums_have_anchors(sums) &&
	    (sums->data_zeros >= sums->zero_run_blocks || (is_whole && sums->data_zeros > 0)))
		sink->zeros(sums->data_zeros_start, sink->data);

	sums->data_zeros = 0;
}

static void end_zeros(ObjectSums *sums)
{
	if (sums->zeros > 0) {
		add_token(sums, ZEROS_TOKEN);
		add_token(sums, sums->zeros);
	}
	sums->zeros = 0;
}

void object_sums_add(ObjectSums *sums, uint64_t sum, const ObjectSumsSink *sink)
{
	end_data_zeros(sums, sink, false);
	end_zeros(sums);
	add_token(sums, sum);
	sums->n_data++;
	if (object_sums_have_anchors(sums))
		winnow_add(&sums->winnow, sum, sink->anchor, sink->data);
	else
		sums->winnow.next_block++;
}

void object_sums_add_zeros(ObjectSums *sums, uint64_t blocks, const ObjectSumsSink *sink)
{
	if (sums->data_zeros == 0)
		sums->data_zeros_start = object_sums_blocks(sums);

	sums->data_zeros += blocks;
	sums->zeros += blocks;
	pass_over(sums, blocks, sink);
}

void object_sums_add_hole(ObjectSums *sums, uint64_t blocks, const ObjectSumsSink *sink)
{
	end_data_zeros(sums, sink, false);
	sums->zeros += blocks;
	pass_over(sums, blocks, sink);
}

uint64_t object_sums_blocks(const ObjectSums *sums)
{
	return sums->winnow.next_block;
}

uint64_t object_sums_finish(ObjectSums *sums, uint64_t size_bytes, const ObjectSumsSink *sink)
{
	uint64_t digest;

	end_data_zeros(sums, sink, sums->n_data == 0);
	end_zeros(sums);
	pass_over(sums, 0, sink);

	add_token(sums, size_bytes);
	digest = XXH3_64bits_withSeed(sums->tokens, sums->n_tokens * sizeof(sums->tokens[0]),
				      sums->chain);
	return digest ? digest : 1;
}
