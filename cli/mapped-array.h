/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stddef.h>
#include <stdint.h>

/*
 * MappedArray - items of one size in an unnamed temporary file that is mapped: what is many does not
 * have to stay in memory.
 *
 * Room is asked of the filesystem before it is written to, so that a full one is an error and no signal.
 *
 * Thread: one at a time.
 */
typedef struct MappedArray MappedArray;

/* NULL: no temporary file could be made in @directory. */
MappedArray *mapped_array_new(const char *directory, size_t item_bytes, GError **error);
void mapped_array_free(MappedArray *array);

/* One more item, of zeros; valid until the next one is added.  NULL: there is no room. */
void *mapped_array_add(MappedArray *array, GError **error);

/* The first item; all follow it.  Valid until one is added. */
void *mapped_array_items(const MappedArray *array);
uint64_t mapped_array_count(const MappedArray *array);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(MappedArray, mapped_array_free)
