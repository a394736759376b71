/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/share/dedupe-window.h"
#include "daemon/share/open-object.h"

/*
 * ZeroRun - a range of zeros that stays, and that all others are shared with under --zeros=share, in a pass over
 * files.
 *
 * The length of a run of zeros is known only when it is compared.  So the first run stays, up to 16 MiB.  A later
 * one that is at least twice as long takes its place.  The store remembers the run as long as its file is
 * unchanged.
 *
 * Thread: the filesystem's worker, which shares alone with this policy.
 */
typedef struct ZeroRun ZeroRun;

/* All is borrowed. */
ZeroRun *zero_run_new(Pass *pass, FileOpener *opener);
void zero_run_free(ZeroRun *zeros);

/*
 * Decide what to do with the blocks [@first, @end) of @window, which are zeros and were compared with no source.
 * Blocks that stay, or share with the run already, become BLOCK_SAME_PLACE.  The others get the run's places as
 * their source.
 */
bool zero_run_lay(ZeroRun *zeros, DedupeWindow *window, size_t first, size_t end, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * Find the zeros to share [@first, @end) of the window with, which is BLOCK_EQUAL.  Returns how
 * many blocks of them are in one piece.  They begin at the byte *ret_offset of *ret_reader.
 */
size_t zero_run_find(const ZeroRun *zeros, size_t first, size_t end, uint32_t block_bytes,
		     FileReader **ret_reader, uint64_t *ret_offset);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ZeroRun, zero_run_free)
