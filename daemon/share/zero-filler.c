/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/share/zero-filler.h"

#include "daemon/share/hole-source.h"
#include "daemon/share/zero-run.h"
#include "kernel-ioctl/file/dedupe-range.h"

struct ZeroFiller {
	HoleSource *hole; /* NULL: zeros are shared with others */
	ZeroRun *run;     /* NULL: with a hole */
};

ZeroFiller *zero_filler_new(Pass *pass, FileOpener *opener)
{
	ZeroFiller *filler = g_new0(ZeroFiller, 1);

	if (pass->settings->zeros == ZEROS_SHARE)
		filler->run = zero_run_new(pass, opener);
	else
		filler->hole = hole_source_new(pass->filesystem, opener);
	return filler;
}

void zero_filler_free(ZeroFiller *filler)
{
	if (!filler)
		return;

	hole_source_free(filler->hole);
	zero_run_free(filler->run);
	g_free(filler);
}

bool zero_filler_lay(ZeroFiller *filler, DedupeWindow *window, BlockSet *settled, GError **error)
{
	size_t first, end;

	for (size_t from = 0;
	     filler->run && dedupe_window_next(window, BLOCK_EQUAL, from, &first, &end);
	     from = end) {
		block_set_add(settled, window->first + first, window->first + end);
		if (!zero_run_lay(filler->run, window, first, end, error))
			return false;
	}

	return true;
}

size_t zero_filler_find(ZeroFiller *filler, const DedupeWindow *window, size_t first, size_t end,
			DedupeCall *call, SkipReason *ret_reason)
{
	uint64_t start = (window->first + first) * window->block_bytes;
	uint64_t stop =
		open_object_end_bytes(window->target, window->first + end, window->block_bytes);

	if (filler->run) {
		size_t n = zero_run_find(filler->run, first, end, window->block_bytes,
					 &call->source, &call->source_offset);

		call->source_fd = file_reader_fd(call->source);
		return n;
	}

	call->source_offset = hole_source_offset(filler->hole);
	call->source_fd = hole_source_fd(filler->hole, window->target, stop - start, ret_reason);
	return end - first;
}

bool zero_filler_is_ready(ZeroFiller *filler, const OpenObject *target, SkipReason *ret_reason)
{
	return filler->run ||
	       hole_source_fd(filler->hole, target, DEDUPE_ROUND_BYTES, ret_reason) >= 0;
}
