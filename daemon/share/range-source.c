/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/share/range-source.h"

#include "daemon/share/hole-source.h"
#include "daemon/share/source-file.h"
#include "daemon/share/zero-run.h"

struct RangeSource {
	const Filesystem *filesystem;
	FileOpener *opener;
	HoleSource *hole; /* NULL: zeros are shared with others */
	ZeroRun *run;     /* NULL: with a hole */
	RelayFile *relay; /* NULL until it is needed */
};

RangeSource *range_source_new(Pass *pass, FileOpener *opener)
{
	RangeSource *source = g_new0(RangeSource, 1);

	source->filesystem = pass->filesystem;
	source->opener = opener;
	if (pass->settings->zeros == ZEROS_SHARE)
		source->run = zero_run_new(pass, opener);
	else
		source->hole = hole_source_new(pass->filesystem, opener);
	return source;
}

void range_source_free(RangeSource *source)
{
	if (!source)
		return;

	hole_source_free(source->hole);
	zero_run_free(source->run);
	relay_file_free(source->relay);
	g_free(source);
}

bool range_source_has_zeros(RangeSource *source, const OpenObject *target, SkipReason *ret_reason)
{
	return source->run ||
	       hole_source_fd(source->hole, target, DEDUPE_ROUND_BYTES, ret_reason) >= 0;
}

bool range_source_lay_zeros(RangeSource *source, DedupeWindow *window, BlockSet *settled,
			    GError **error)
{
	size_t first, end;

	for (size_t from = 0;
	     source->run && dedupe_window_next(window, BLOCK_EQUAL, from, &first, &end);
	     from = end) {
		block_set_add(settled, window->first + first, window->first + end);
		if (!zero_run_lay(source->run, window, first, end, error))
			return false;
	}

	return true;
}

/* Returns the number of blocks that the source covers.  If no hole can be made, source_fd is -1. */
static size_t choose_zeros(RangeSource *source, const DedupeWindow *window, size_t first,
			   size_t end, DedupeCall *call, SkipReason *ret_reason)
{
	uint64_t stop =
		open_object_end_bytes(window->target, window->first + end, window->block_bytes);

	if (source->run) {
		size_t n = zero_run_find(source->run, first, end, window->block_bytes,
					 &call->source, &call->source_offset);

		call->source_fd = file_reader_fd(call->source);
		return n;
	}

	call->source_offset = hole_source_offset(source->hole);
	call->source_fd = hole_source_fd(source->hole, window->target, stop - call->target_offset,
					 ret_reason);
	return end - first;
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
		*ret_blocks = choose_zeros(source, window, first, end, ret, ret_reason);
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
