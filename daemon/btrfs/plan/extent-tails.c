/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/plan/extent-tails.h"

static bool has(const GArray *tails, uint64_t block, uint64_t bytes)
{
	for (guint i = 0; i < tails->len; i++) {
		const ExtentTail *tail = &g_array_index(tails, ExtentTail, i);

		if (tail->block == block && tail->bytes == bytes)
			return true;
	}

	return false;
}

bool extent_tails_has_whole(const ExtentRef *refs, size_t n_refs, uint64_t block,
			    uint32_t block_bytes)
{
	for (size_t i = 0; i < n_refs; i++) {
		uint64_t end = refs[i].position + extent_ref_shown_bytes(&refs[i]);

		if (refs[i].position / block_bytes <= block && end / block_bytes > block)
			return true;
	}

	return false;
}

void extent_tails_find(const ExtentRef *refs, size_t n_refs, uint32_t block_bytes, GArray *ret)
{
	g_array_set_size(ret, 0);
	for (size_t i = 0; i < n_refs; i++) {
		uint64_t end = refs[i].position + extent_ref_shown_bytes(&refs[i]);
		ExtentTail tail = { .block = end / block_bytes, .bytes = end % block_bytes };

		if (tail.bytes == 0 || has(ret, tail.block, tail.bytes))
			continue;
		tail.is_everywhere = !extent_tails_has_whole(refs, n_refs, tail.block, block_bytes);
		g_array_append_val(ret, tail);
	}
}

bool extent_tails_end_in(const GArray *tails, uint64_t block)
{
	for (guint i = 0; i < tails->len; i++) {
		const ExtentTail *tail = &g_array_index(tails, ExtentTail, i);

		if (tail->block == block)
			return tail->is_everywhere;
	}

	return false;
}
