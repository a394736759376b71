/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * ObjectIndex - maps an object's id to its number of blocks and the number with which it was added. 12 bytes
 * per object.
 *
 * First add all objects, then sort the index, then look them up.
 *
 * Thread: one at a time.
 */
typedef struct ObjectIndex ObjectIndex;

ObjectIndex *object_index_new(uint32_t block_bytes);
void object_index_free(ObjectIndex *index);

void object_index_add(ObjectIndex *index, uint32_t id, uint64_t size_bytes, uint32_t number);

/* Returns 0, or an id that was added twice. */
uint32_t object_index_sort(ObjectIndex *index);

/*
 * Whether there is such an object, and it has @block.  Every object has ANCHOR_WHOLE_BLOCK.  *ret_number is the
 * number with which it was added.
 */
bool object_index_find(const ObjectIndex *index, uint32_t id, uint32_t block, uint32_t *ret_number);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ObjectIndex, object_index_free)
