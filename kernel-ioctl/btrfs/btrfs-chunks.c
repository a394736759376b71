/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/btrfs/btrfs-chunks.h"

#include <linux/btrfs_tree.h>
#include <stddef.h>
#include <string.h>

/* The bytes of one stripe on one device before the next device follows: the only length that exists. */
#define STRIPE_BYTES UINT64_C(65536)

#define PARITY_PROFILES (BTRFS_BLOCK_GROUP_RAID5 | BTRFS_BLOCK_GROUP_RAID6)

typedef struct {
	uint64_t start;
	uint64_t length;
	uint64_t profile;
	uint32_t n_stripes;
	uint32_t n_copies; /* that can be read of each byte */
	guint first_place; /* index of its first stripe in places */
} Chunk;

struct BtrfsChunks {
	GArray *chunks; /* Chunk, by start */
	GArray *places; /* BtrfsDevicePlace: start of each stripe */
};

G_STATIC_ASSERT(sizeof(struct btrfs_stripe) == 32);
G_STATIC_ASSERT(offsetof(struct btrfs_chunk, stripe) == 48);

BtrfsChunks *btrfs_chunks_new(void)
{
	BtrfsChunks *chunks = g_new0(BtrfsChunks, 1);

	chunks->chunks = g_array_new(false, false, sizeof(Chunk));
	chunks->places = g_array_new(false, false, sizeof(BtrfsDevicePlace));
	return chunks;
}

void btrfs_chunks_free(BtrfsChunks *chunks)
{
	if (!chunks)
		return;

	g_array_unref(chunks->chunks);
	g_array_unref(chunks->places);
	g_free(chunks);
}

static uint32_t parities_of(const Chunk *chunk)
{
	if (chunk->profile & BTRFS_BLOCK_GROUP_RAID5)
		return 1;
	return chunk->profile & BTRFS_BLOCK_GROUP_RAID6 ? 2 : 0;
}

static uint32_t copies_of(uint64_t profile, uint32_t n_stripes, uint32_t n_sub_stripes)
{
	if (profile & BTRFS_BLOCK_GROUP_RAID10)
		return n_sub_stripes;
	if (profile & (PARITY_PROFILES | BTRFS_BLOCK_GROUP_RAID0))
		return 1;
	/* In other profiles all stripes are copies of each other. */
	return n_stripes;
}

static bool is_sound(const Chunk *chunk, uint64_t stripe_bytes)
{
	/* At most one profile bit is set. */
	return (chunk->profile & (chunk->profile - 1)) == 0 && stripe_bytes == STRIPE_BYTES &&
	       chunk->length > 0 && chunk->start <= UINT64_MAX - chunk->length &&
	       chunk->n_copies > 0 && chunk->n_stripes % chunk->n_copies == 0 &&
	       chunk->n_stripes > parities_of(chunk);
}

static void add_places(BtrfsChunks *chunks, const uint8_t *stripes, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct btrfs_stripe stripe;

		memcpy(&stripe, stripes + i * sizeof(stripe), sizeof(stripe));
		const BtrfsDevicePlace place = { GUINT64_FROM_LE(stripe.devid),
						 GUINT64_FROM_LE(stripe.offset) };
		g_array_append_val(chunks->places, place);
	}
}

bool btrfs_chunks_add(BtrfsChunks *chunks, uint64_t start, const uint8_t *data, uint32_t length)
{
	const uint32_t head_bytes = offsetof(struct btrfs_chunk, stripe);
	struct btrfs_chunk item;
	Chunk chunk = { .start = start, .first_place = chunks->places->len };

	if (length < head_bytes)
		return false;
	memcpy(&item, data, head_bytes);
	chunk.length = GUINT64_FROM_LE(item.length);
	chunk.profile = GUINT64_FROM_LE(item.type) & BTRFS_BLOCK_GROUP_PROFILE_MASK;
	chunk.n_stripes = GUINT16_FROM_LE(item.num_stripes);
	chunk.n_copies =
		copies_of(chunk.profile, chunk.n_stripes, GUINT16_FROM_LE(item.sub_stripes));
	if (chunk.n_stripes > (length - head_bytes) / sizeof(struct btrfs_stripe) ||
	    !is_sound(&chunk, GUINT64_FROM_LE(item.stripe_len)))
		return false;
	if (chunks->chunks->len > 0) {
		const Chunk *last = &g_array_index(chunks->chunks, Chunk, chunks->chunks->len - 1);

		if (start < last->start + last->length)
			return false;
	}

	add_places(chunks, data + head_bytes, chunk.n_stripes);
	g_array_append_val(chunks->chunks, chunk);
	return true;
}

/* The chunk that contains the address; NULL: none. */
static const Chunk *find_chunk(const BtrfsChunks *chunks, uint64_t bytenr)
{
	guint low = 0, high = chunks->chunks->len;

	while (low < high) {
		guint middle = low + (high - low) / 2;
		const Chunk *chunk = &g_array_index(chunks->chunks, Chunk, middle);

		if (bytenr < chunk->start)
			high = middle;
		else if (bytenr - chunk->start >= chunk->length)
			low = middle + 1;
		else
			return chunk;
	}

	return NULL;
}

/* The device of the stripe @turn, counted from the chunk's start, and its row. */
static uint32_t stripe_of_turn(const Chunk *chunk, uint64_t turn, unsigned copy, uint64_t *ret_row)
{
	const uint32_t n_data = (chunk->n_stripes - parities_of(chunk)) / chunk->n_copies;
	const uint32_t of_data = (uint32_t)(turn % n_data);

	*ret_row = turn / n_data;
	if (chunk->profile & PARITY_PROFILES)
		/* Parity moves by one device from row to row. */
		return (uint32_t)((*ret_row + of_data) % chunk->n_stripes);
	return of_data * chunk->n_copies + copy;
}

bool btrfs_chunks_find(const BtrfsChunks *chunks, uint64_t bytenr, uint32_t length, unsigned copy,
		       BtrfsDevicePlace *ret)
{
	const uint64_t striped =
		PARITY_PROFILES | BTRFS_BLOCK_GROUP_RAID0 | BTRFS_BLOCK_GROUP_RAID10;
	const Chunk *chunk = find_chunk(chunks, bytenr);
	uint64_t offset = chunk ? bytenr - chunk->start : 0;
	uint32_t stripe = copy;

	if (!chunk || copy >= chunk->n_copies || length > chunk->length - offset)
		return false;
	if (chunk->profile & striped) {
		uint64_t within = offset % STRIPE_BYTES, row;

		if (length > STRIPE_BYTES - within)
			return false;
		stripe = stripe_of_turn(chunk, offset / STRIPE_BYTES, copy, &row);
		offset = row * STRIPE_BYTES + within;
	}

	*ret = g_array_index(chunks->places, BtrfsDevicePlace, chunk->first_place + stripe);
	return !__builtin_add_overflow(ret->offset, offset, &ret->offset);
}
