/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/files/exclusive-ranges.h"

#include "hashstore/anchors/sorter.h"

#define MEMORY_BYTES ((size_t)16 << 20)

typedef struct {
	uint64_t space;
	uint64_t begin;
	uint64_t end;
} Range;

struct ExclusiveRanges {
	Sorter *sorter; /* Range */
};

static int compare_ranges(const void *a, const void *b)
{
	const Range *one = a, *other = b;

	if (one->space != other->space)
		return one->space < other->space ? -1 : 1;
	return (one->begin > other->begin) - (one->begin < other->begin);
}

ExclusiveRanges *exclusive_ranges_new(void)
{
	ExclusiveRanges *ranges = g_new0(ExclusiveRanges, 1);

	ranges->sorter =
		sorter_new(sizeof(Range), compare_ranges, MEMORY_BYTES, g_get_tmp_dir(), NULL);
	return ranges;
}

void exclusive_ranges_free(ExclusiveRanges *ranges)
{
	if (!ranges)
		return;

	sorter_free(ranges->sorter);
	g_free(ranges);
}

bool exclusive_ranges_add(ExclusiveRanges *ranges, const FilePiece *piece, GError **error)
{
	Range range = { piece->space, piece->position, piece->position + piece->length };

	return sorter_add(ranges->sorter, &range, error);
}

static bool overlap(const Range *one, const Range *next)
{
	return one->space == next->space && next->begin < one->end;
}

bool exclusive_ranges_count(ExclusiveRanges *ranges, uint64_t *ret_bytes, GError **error)
{
	Range last = { 0 }; /* with the end of all that it overlaps */
	bool is_lone = false;
	const Range *range;

	*ret_bytes = 0;
	if (!sorter_sort(ranges->sorter, error))
		return false;
	while (true) {
		if (!sorter_next(ranges->sorter, (const void **)&range, error))
			return false;
		if (range && overlap(&last, range)) {
			last.end = MAX(last.end, range->end);
			is_lone = false;
			continue;
		}

		if (is_lone)
			*ret_bytes += last.end - last.begin;
		if (!range)
			return true;
		last = *range;
		is_lone = true;
	}
}
