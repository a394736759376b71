/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/content/extent-cover.h"
#include "daemon/btrfs/refs/extent-step.h"
#include "daemon/context/pass.h"

/*
 * ExtentZeros - whether a hole, or the zeros that others are shared with, take over zeros of a data
 * extent of btrfs.
 *
 * As btrfs frees an extent as a whole, that helps only if all else of it is covered, or is a rest that is
 * worth a copy.  Only then the files that show it are asked whether they are to keep their zeros: if one
 * is, all do.
 *
 * Thread: the filesystem's worker, never while it shares.
 */
typedef struct ExtentZeros ExtentZeros;

typedef enum {
	ZEROS_OF_NO_USE, /* all is covered already, or even with them too much is not */
	ZEROS_COVERED,
	ZEROS_DOUBTED, /* a later pass may believe that they are zeros */
	ZEROS_KEPT,    /* in a file that is to keep them, or as the user wants it */
} ZerosVerdict;

/* @pass is borrowed. */
ExtentZeros *extent_zeros_new(Pass *pass);
void extent_zeros_free(ExtentZeros *zeros);

/*
 * Add these to @cover, of the extent @target that @refs show, if that helps and is wanted.  *ret_blamed
 * is the file that is to keep its zeros, or NULL.
 */
bool extent_zeros_cover(ExtentZeros *zeros, const Object *target, ExtentCover *cover,
			const ExtentRef *refs, size_t n_refs, ZerosVerdict *ret,
			const ExtentRef **ret_blamed, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Whether the extent has nothing but zeros. */
bool extent_zeros_are_all(const Object *extent);

/*
 * Bytes of their target that @steps (ExtentStep) put a hole in the place of, however many places show
 * them.
 */
uint64_t extent_zeros_count(const GArray *steps, uint32_t block_bytes);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExtentZeros, extent_zeros_free)
