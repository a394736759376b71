/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/fs/programs/shadow.h"

#include <string.h>

typedef struct {
	unsigned n_users;
	uint8_t data[SHADOW_BLOCK_BYTES];
} ShadowBlock;

struct Shadow {
	uint64_t size_bytes;
	GPtrArray *blocks; /* of ShadowBlock; NULL for zeros.  Zeros beyond the size. */
};

static void block_unref(void *data)
{
	ShadowBlock *block = data;

	if (block && --block->n_users == 0)
		g_free(block);
}

static ShadowBlock *block_ref(ShadowBlock *block)
{
	if (block)
		block->n_users++;
	return block;
}

/* Put @block, which is taken, in place of another. */
static void replace_block(Shadow *shadow, guint index, ShadowBlock *block)
{
	block_unref(shadow->blocks->pdata[index]);
	shadow->blocks->pdata[index] = block;
}

/* A block that no other shadow has. */
static uint8_t *own_block(Shadow *shadow, guint index)
{
	ShadowBlock *old = shadow->blocks->pdata[index];
	ShadowBlock *block;

	if (old && old->n_users == 1)
		return old->data;

	block = g_new0(ShadowBlock, 1);
	block->n_users = 1;
	if (old)
		memcpy(block->data, old->data, sizeof(block->data));
	replace_block(shadow, index, block);
	return block->data;
}

static uint64_t part_of_block(uint64_t offset, uint64_t length)
{
	return MIN(length, SHADOW_BLOCK_BYTES - offset % SHADOW_BLOCK_BYTES);
}

Shadow *shadow_new(void)
{
	Shadow *shadow = g_new0(Shadow, 1);

	shadow->blocks = g_ptr_array_new_with_free_func(block_unref);
	return shadow;
}

Shadow *shadow_copy(const Shadow *shadow)
{
	Shadow *copy = shadow_new();

	copy->size_bytes = shadow->size_bytes;
	for (guint i = 0; i < shadow->blocks->len; i++)
		g_ptr_array_add(copy->blocks, block_ref(shadow->blocks->pdata[i]));
	return copy;
}

void shadow_free(Shadow *shadow)
{
	if (!shadow)
		return;

	g_ptr_array_unref(shadow->blocks);
	g_free(shadow);
}

uint64_t shadow_size(const Shadow *shadow)
{
	return shadow->size_bytes;
}

void shadow_resize(Shadow *shadow, uint64_t size_bytes)
{
	uint64_t n_blocks = (size_bytes + SHADOW_BLOCK_BYTES - 1) / SHADOW_BLOCK_BYTES;

	if (size_bytes < shadow->size_bytes)
		shadow_clear(shadow, size_bytes, shadow->size_bytes - size_bytes);
	shadow->size_bytes = size_bytes;
	g_ptr_array_set_size(shadow->blocks, (int)n_blocks);
}

void shadow_write(Shadow *shadow, uint64_t offset, const void *data, uint64_t length)
{
	const uint8_t *from = data;

	if (offset + length > shadow->size_bytes)
		shadow_resize(shadow, offset + length);

	for (uint64_t part; length > 0; length -= part, offset += part, from += part) {
		uint8_t *block = own_block(shadow, (guint)(offset / SHADOW_BLOCK_BYTES));

		part = part_of_block(offset, length);
		memcpy(block + offset % SHADOW_BLOCK_BYTES, from, part);
	}
}

void shadow_clear(Shadow *shadow, uint64_t offset, uint64_t length)
{
	uint64_t end = MIN(offset + length, shadow->size_bytes);

	for (uint64_t part; offset < end; offset += part) {
		guint index = (guint)(offset / SHADOW_BLOCK_BYTES);

		part = part_of_block(offset, end - offset);
		if (part == SHADOW_BLOCK_BYTES)
			replace_block(shadow, index, NULL);
		else
			memset(own_block(shadow, index) + offset % SHADOW_BLOCK_BYTES, 0, part);
	}
}

void shadow_clone(Shadow *shadow, uint64_t offset, const Shadow *from, uint64_t from_offset,
		  uint64_t length)
{
	g_assert(offset % SHADOW_BLOCK_BYTES == 0 && from_offset % SHADOW_BLOCK_BYTES == 0);
	g_assert(from_offset + length <= from->size_bytes);
	if (offset + length > shadow->size_bytes)
		shadow_resize(shadow, offset + length);

	for (uint64_t done = 0; done < length; done += SHADOW_BLOCK_BYTES) {
		ShadowBlock *block = from->blocks->pdata[(from_offset + done) / SHADOW_BLOCK_BYTES];

		replace_block(shadow, (guint)((offset + done) / SHADOW_BLOCK_BYTES),
			      block_ref(block));
	}
}

void shadow_read(const Shadow *shadow, uint64_t offset, uint64_t length, uint8_t *ret)
{
	g_assert(offset + length <= shadow->size_bytes);

	for (uint64_t part; length > 0; length -= part, offset += part, ret += part) {
		const ShadowBlock *block = shadow->blocks->pdata[offset / SHADOW_BLOCK_BYTES];

		part = part_of_block(offset, length);
		if (block)
			memcpy(ret, block->data + offset % SHADOW_BLOCK_BYTES, part);
		else
			memset(ret, 0, part);
	}
}
