/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * ObjectIndex - ids of objects, how many blocks each has, and what number it was added with: 12 bytes an
 * object.
 *
 * First all are added, then it is sorted, then they are looked up.
 *
 * Thread: one at a time.
 */
typedef struct ObjectIndex ObjectIndex;

ObjectIndex *object_index_new(uint32_t block_bytes);
void object_index_free(ObjectIndex *index);

void object_index_add(ObjectIndex *index, uint32_t id, uint64_t size_bytes, uint32_t number);

/* 0, or an id that was added twice. */
uint32_t object_index_sort(ObjectIndex *index);

/*
 * Whether there is such an object, and it has @block; ANCHOR_WHOLE_BLOCK each one has.  *ret_number is that
 * which it was added with.
 */
bool object_index_find(const ObjectIndex *index, uint32_t id, uint32_t block, uint32_t *ret_number);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ObjectIndex, object_index_free)
