/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/content/extent-cover.h"
#include "common/content/extent-sums.h"
#include "daemon/btrfs/plan/checksum-trust.h"
#include "daemon/context/object-table.h"
#include "daemon/context/pass.h"

/*
 * ZeroSource - the zeros of a data extent of btrfs that others are shared with under --zeros=share.
 *
 * One extent is enough for all, so it is chosen before a pass matches, and stays.  A long one is better, since a
 * target needs one item per repetition of the source.  From 16 MiB on this makes no difference, as btrfs cuts
 * shared ranges there.  So the longest extent wins, in classes by powers of two; zeros beside other data count a
 * sixteenth.  Within a class, an extent that stays anyway comes first, then the smaller one, then the lower
 * address.  Its data is read once, since anyone can make data with the checksum of zeros.
 *
 * The store remembers it, for as long as the extent is there.
 *
 * Thread: the filesystem's worker.
 */
typedef struct ZeroSource {
	uint32_t id;
	ExtentStamp stamp;
	CoverRange range; /* blocks of the extent */
} ZeroSource;

#define ZERO_SOURCE_BYTES_MAX DEDUPE_ROUND_BYTES

/*
 * Choose it before @table is matched. pass->btrfs.zero_source is NULL if there is none, or the settings require
 * none.
 */
bool zero_source_choose(Pass *pass, ExtentSums *sums, ObjectTable *table, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* A candidate. */
typedef struct {
	uint32_t id;
	uint64_t address;
	uint64_t size_bytes;
	uint64_t zero_bytes;
	bool stays; /* it is no target */
} ZeroCandidate;

/* For qsort(): the best first.  Pure. */
int zero_candidate_compare(const void *a, const void *b);
