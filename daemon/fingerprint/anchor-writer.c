/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/fingerprint/anchor-writer.h"

static void put(uint64_t digest, uint64_t block, void *data)
{
	AnchorWriter *sink = data;
	Anchor anchor = { digest, sink->object, (uint32_t)block };

	/* Positions are kept in 32 bits: data beyond them is found only as part of the whole object. */
	if (block < ANCHOR_BLOCKS && !sink->failed &&
	    !hash_store_put_anchor(sink->store, &anchor, &sink->failed))
		return;
}

static void put_anchor(uint64_t digest, uint64_t block, void *data)
{
	AnchorWriter *sink = data;

	if (!sink->stands || !stand_ins_cover(sink->stands, block, sink->anchor_blocks))
		put(digest, block, data);
}

static void put_zeros(uint64_t block, void *data)
{
	AnchorWriter *sink = data;

	if (!sink->stands || !stand_ins_cover_run(sink->stands, block))
		put(ANCHOR_ZEROS_DIGEST, block, data);
}

ObjectSumsSink anchor_sink(AnchorWriter *sink)
{
	return (ObjectSumsSink){ put_anchor, put_zeros, sink };
}

bool anchor_writer_take_error(AnchorWriter *sink, GError **error)
{
	if (!sink->failed)
		return true;

	g_propagate_error(error, g_steal_pointer(&sink->failed));
	return false;
}
