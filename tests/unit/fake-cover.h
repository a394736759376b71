/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/content/extent-cover.h"
#include "tests/unit/fake-btrfs.h"

/*
 * FakeCover - the cover of an extent of blocks of FAKE_COVER_BLOCK_BYTES, on a btrfs filesystem without
 * checksums.  The test tells what covers it.
 */
#define FAKE_COVER_BLOCK_BYTES UINT64_C(4096)

#define FAKE_COVER_SUMS_MAX 256

typedef struct {
	uint64_t blocks;
	FakeItem item; /* of the checksum tree */
	ExtentSums *sums;
	ExtentCover *cover;
} FakeCover;

FakeCover *fake_cover_new(uint64_t blocks);

/* The same, where each block has one of @sums, which are borrowed; at most FAKE_COVER_SUMS_MAX blocks. */
FakeCover *fake_cover_new_with_sums(const uint32_t *sums, uint64_t blocks);
void fake_cover_free(FakeCover *fake);

/* Cover the blocks [@first, @end) by another extent. */
void fake_cover_add(FakeCover *fake, uint64_t first, uint64_t end);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(FakeCover, fake_cover_free)
