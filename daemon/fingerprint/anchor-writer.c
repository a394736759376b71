/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/fingerprint/anchor-writer.h"

static void put(uint64_t digest, uint64_t block, void *data)
{
	AnchorWriter *writer = data;
	Anchor anchor = { digest, writer->object, (uint32_t)block };

	/* Positions are kept in 32 bits: data beyond them is found only as part of the whole object. */
	if (block < ANCHOR_BLOCKS && !writer->failed &&
	    !hash_store_put_anchor(writer->store, &anchor, &writer->failed))
		return;
}

static void put_anchor(uint64_t digest, uint64_t block, void *data)
{
	AnchorWriter *writer = data;

	if (!writer->stands || !stand_ins_cover(writer->stands, block, writer->anchor_blocks))
		put(digest, block, data);
}

static void put_zeros(uint64_t block, void *data)
{
	AnchorWriter *writer = data;

	if (!writer->stands || !stand_ins_cover_run(writer->stands, block))
		put(ANCHOR_ZEROS_DIGEST, block, data);
}

ObjectSumsSink anchor_writer_sink(AnchorWriter *writer)
{
	return (ObjectSumsSink){ put_anchor, put_zeros, writer };
}

bool anchor_writer_take_error(AnchorWriter *writer, GError **error)
{
	if (!writer->failed)
		return true;

	g_propagate_error(error, g_steal_pointer(&writer->failed));
	return false;
}
