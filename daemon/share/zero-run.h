/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/share/dedupe-window.h"
#include "daemon/share/open-object.h"

/*
 * ZeroRun - the zeros of a file that those of others are shared with under --zeros=share, where files are
 * read.
 *
 * How long a run is shows when it is compared, so the first run that is met stays, as far as it goes, up
 * to 16 MiB; and what is at least twice as long takes its place when it is met later.  The store remembers
 * it; it is of use as long as its file is as it was.
 *
 * Thread: the filesystem's worker.
 */
typedef struct ZeroRun ZeroRun;

/* All is borrowed. */
ZeroRun *zero_run_new(Pass *pass, FileOpener *opener);
void zero_run_free(ZeroRun *zeros);

/*
 * Decide what to do with the blocks [@first, @end) of @window: they are zeros, compared with no source.  Blocks
 * that stay, or are shared with the run already, become BLOCK_SAME_PLACE.  The others get the window's source
 * places.
 */
bool zero_run_lay(ZeroRun *zeros, DedupeWindow *window, size_t first, size_t end, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * The zeros that [@first, @end) of the window, which is BLOCK_EQUAL after that, is shared with: how many
 * blocks of them there are in one piece, and from which byte of *ret_reader on.
 */
size_t zero_run_find(const ZeroRun *zeros, size_t first, size_t end, uint32_t block_bytes,
		     FileReader **ret_reader, uint64_t *ret_offset);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ZeroRun, zero_run_free)
