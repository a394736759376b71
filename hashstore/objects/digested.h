/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/anchors/sorter.h"
#include "hashstore/objects/objects.h"

/*
 * Digested - an object with its digest, before groups of equal ones are known; and the walk over all of them.
 *
 * Thread: the owner's of the store.
 */
typedef struct {
	uint64_t digest;
	uint64_t size_bytes;
	uint32_t id;
	bool is_file;
	/* An extent that has several references, or may have: a group by itself. */
	bool is_shared;
} Digested;

/* Whether the object is one that may be equal to others: *ret is it. */
bool digested_take(const Object *object, bool has_extents, Digested *ret);

/* By digest, size, kind and id. */
int digested_compare(const void *a, const void *b);

/* Whether both belong to one group. */
bool digested_are_equal(const Digested *one, const Digested *other);
