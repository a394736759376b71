/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/share/range-source.h"

#include "daemon/share/source-file.h"

struct RangeSource {
	const Filesystem *filesystem;
	FileOpener *opener;
	ZeroFiller *zeros;
	RelayFile *relay; /* NULL until it is needed */
};

RangeSource *range_source_new(const Filesystem *filesystem, FileOpener *opener, ZeroFiller *zeros)
{
	RangeSource *source = g_new0(RangeSource, 1);

	source->filesystem = filesystem;
	source->opener = opener;
	source->zeros = zeros;
	return source;
}

void range_source_free(RangeSource *source)
{
	if (!source)
		return;

	relay_file_free(source->relay);
	g_free(source);
}

static bool make_relay(RangeSource *source, const OpenObject *target, SkipReason *ret_reason)
{
	int fd = source_file_make(source->filesystem, source->opener, target, ret_reason);

	if (fd < 0)
		return false;

	source->relay = relay_file_new_take(fd, source->filesystem->identity.block_bytes);
	return true;
}

bool range_source_choose(RangeSource *source, const DedupeWindow *window, size_t first, size_t end,
			 DedupeCall *ret, size_t *ret_blocks, SkipReason *ret_reason)
{
	uint32_t block_bytes = window->block_bytes;
	uint64_t start = (window->first + first) * block_bytes;

	*ret = (DedupeCall){ .target = window->target->reader, .target_offset = start };
	*ret_blocks = end - first;
	if (window->source) {
		ret->source = window->source->reader;
		ret->source_fd = file_reader_fd(ret->source);
		ret->source_offset = start - window->diagonal * block_bytes;
	} else {
		*ret_blocks = zero_filler_find(source->zeros, window, first, end, ret, ret_reason);
	}
	ret->length = open_object_end_bytes(window->target, window->first + first + *ret_blocks,
					    block_bytes) -
		      start;
	if (ret->source_fd < 0)
		return false;
	if (!dedupe_call_needs_relay(source->filesystem, ret))
		return true;
	if (!source->relay && !make_relay(source, window->target, ret_reason))
		return false;
	ret->relay = source->relay;
	return true;
}
