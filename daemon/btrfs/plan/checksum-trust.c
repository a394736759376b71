/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/plan/checksum-trust.h"

#include "common/content/extent-cover.h"
#include "kernel-ioctl/file/dedupe-range.h"

/*
 * The kernel first compares so much of a long range: if it differs, no more is wasted.  A compressed extent of
 * btrfs is as long, so the file gets no additional item.
 */
#define LONG_BYTES  (DEDUPE_ROUND_BYTES / 16)
#define PROBE_BYTES (UINT64_C(128) << 10)

/* In a wary pass, each piece is at most so many times as long as the equal range before it. */
#define WARY_GROWTH 2

#define AHEAD_BYTES (UINT64_C(256) << 10)

static uint64_t may_waste_bytes(const Pass *pass)
{
	return MAX(pass->result->compare_bytes / CHECKSUM_TRUST_WASTE_SHARE,
		   CHECKSUM_TRUST_WASTE_BYTES);
}

static bool is_wasteful(const Pass *pass)
{
	return pass->result->wasted_bytes > may_waste_bytes(pass);
}

static bool is_wary(const Pass *pass)
{
	return pass->result->wasted_bytes > may_waste_bytes(pass) / 8;
}

/* Otherwise ranges are probed first, though btrfs makes an item of each call. */
bool checksum_trust_is_full(const Pass *pass)
{
	return pass->result->shared.differed == 0 && pass->result->wasted_bytes == 0 &&
	       pass->result->shared.bytes >= DEDUPE_ROUND_BYTES;
}

ExtentStamp checksum_trust_stamp(const Object *extent)
{
	return (ExtentStamp){ extent->inode, object_extent_generation(extent) };
}

/* Whether too many others differ from @extent to trust a part of its sums. */
static bool is_doubted(Pass *pass, const ExtentStamp *extent, bool *ret, GError **error)
{
	uint64_t n;

	if (!hash_store_count_differed(pass->store, extent, CHECKSUM_TRUST_DIFFERED_MAX, &n, error))
		return false;
	*ret = n >= CHECKSUM_TRUST_DIFFERED_MAX;
	return true;
}

/* No extent lies at that address. */
static bool is_hole(const ExtentStamp *source)
{
	return source->address == CHECKSUM_TRUST_HOLE.address;
}

bool checksum_trust_ask(Pass *pass, const ExtentStamp *target, const ExtentStamp *source,
			bool is_whole, ChecksumTrust *ret, GError **error)
{
	bool doubted;

	if (!hash_store_has_differed(pass->store, target, source, &doubted, error))
		return false;
	if (!doubted && !is_whole && !is_doubted(pass, target, &doubted, error))
		return false;
	if (!doubted && !is_whole && !is_hole(source) && !is_doubted(pass, source, &doubted, error))
		return false;

	*ret = CHECKSUM_TRUST_YES;
	if (doubted)
		*ret = CHECKSUM_TRUST_NO;
	else if (!is_whole && is_wasteful(pass))
		*ret = CHECKSUM_TRUST_NOT_NOW;
	return true;
}

bool checksum_trust_repeats(Pass *pass, const Object *extent, size_t *ret_least_blocks,
			    GError **error)
{
	ExtentStamp stamp = checksum_trust_stamp(extent);
	uint64_t least = pass->settings->min_run_bytes / pass->block_bytes;
	ChecksumTrust trust;

	if (!checksum_trust_ask(pass, &stamp, &stamp, false, &trust, error))
		return false;

	*ret_least_blocks = trust == CHECKSUM_TRUST_YES ? MAX(least, COVER_LEAST_BLOCKS) : 0;
	return true;
}

bool checksum_trust_add(Pass *pass, const ExtentStamp *target, const ExtentStamp *source,
			uint64_t bytes, bool *ret_kept, GError **error)
{
	pass->result->shared.differed++;
	pass->result->wasted_bytes += bytes;
	return hash_store_put_differed(pass->store, target, source, ret_kept, error);
}

uint64_t checksum_trust_next_bytes(const Pass *pass, uint64_t length, uint64_t done)
{
	uint64_t window = atomic_load(&pass->window_bytes);
	uint64_t most = window;

	if (is_wary(pass))
		most = MIN(MAX(done * WARY_GROWTH, pass->block_bytes), window);
	else if (done == 0 && length > LONG_BYTES && !checksum_trust_is_full(pass))
		most = PROBE_BYTES;

	return MIN(length - done, most);
}

uint64_t checksum_trust_ahead_bytes(const Pass *pass, uint64_t length)
{
	return MIN(length, is_wary(pass) ? pass->block_bytes : AHEAD_BYTES);
}

uint64_t checksum_trust_batch_bytes(const Pass *pass)
{
	/* Both sides are read. */
	return may_waste_bytes(pass) / 2;
}
