/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/content/extent-cover.h"
#include "daemon/btrfs/refs/extent-step.h"
#include "daemon/context/pass.h"

/*
 * ExtentZeros - whether a hole, or other zeros, cover zeros of a data extent of btrfs.
 *
 * btrfs frees only whole extents.  So this is of use only if all other bytes are covered, or are a remainder that
 * is worth a copy.  Only then the files that reference the extent are examined: if one has to keep its zeros, all
 * do.
 *
 * Thread: the filesystem's worker, never while it shares.
 */
typedef struct ExtentZeros ExtentZeros;

typedef enum {
	ZEROS_OF_NO_USE, /* all is covered already, or too little even with them */
	ZEROS_COVERED,
	ZEROS_DOUBTED, /* a later pass may believe that they are zeros */
	ZEROS_KEPT,    /* a file, or the policy, has to keep them */
} ZerosVerdict;

/* @pass is borrowed. */
ExtentZeros *extent_zeros_new(Pass *pass);
void extent_zeros_free(ExtentZeros *zeros);

/*
 * Cover zeros of @target, which has the references @refs, if that is of use and wanted.  *ret_blamed: the file that
 * has to keep its zeros, or NULL.
 */
bool extent_zeros_cover(ExtentZeros *zeros, const Object *target, ExtentCover *cover,
			const ExtentRef *refs, size_t n_refs, ZerosVerdict *ret,
			const ExtentRef **ret_blamed, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Whether the extent has nothing but zeros. */
bool extent_zeros_are_all(const Object *extent);

/* The bytes of the target that @steps (ExtentStep) replace by a hole, each counted once. */
uint64_t extent_zeros_count(const GArray *steps, uint32_t block_bytes);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExtentZeros, extent_zeros_free)
