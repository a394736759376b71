/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * SolidObjects - files that a dry run read and found to have all their blocks to themselves, none of
 * them in a hole.
 *
 * What sharing such a file would free follows from its size: it need not be opened and mapped again to
 * estimate that.  At most 256 Ki of them are remembered, for one pass.
 *
 * Thread: the filesystem's worker.
 */
typedef struct SolidObjects SolidObjects;

SolidObjects *solid_objects_new(void);
void solid_objects_free(SolidObjects *solid);

/*
 * In the order of ids; others are not remembered, nor is an object of 2^32 blocks or more.
 * Where @solid is NULL nothing is.
 */
void solid_objects_add(SolidObjects *solid, uint32_t object, uint64_t blocks);

/* How many blocks the object has; 0: it is not one of these. */
uint64_t solid_objects_blocks(const SolidObjects *solid, uint32_t object);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SolidObjects, solid_objects_free)
