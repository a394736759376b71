/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/objects/digested.h"

bool digested_take(const Object *object, bool has_extents, Digested *ret)
{
	bool is_file = !has_extents || object->subvolume > OBJECT_STRETCHES;

	if (object->state != OBJECT_DONE || object->size_bytes == 0 ||
	    (has_extents && object->subvolume == OBJECT_STRETCHES))
		return false;
	/* The extents of such a file are objects themselves. */
	if (is_file && object->flags & OBJECT_READ_SUMS)
		return false;

	*ret = (Digested){ object->digest, object->size_bytes, object->id, is_file,
			   !is_file && object->flags & OBJECT_SHARED };
	return true;
}

int digested_compare(const void *a, const void *b)
{
	const Digested *one = a, *other = b;

	if (one->digest != other->digest)
		return one->digest < other->digest ? -1 : 1;
	if (one->size_bytes != other->size_bytes)
		return one->size_bytes < other->size_bytes ? -1 : 1;
	if (one->is_file != other->is_file)
		return (int)one->is_file - (int)other->is_file;
	return (one->id > other->id) - (one->id < other->id);
}

bool digested_are_equal(const Digested *one, const Digested *other)
{
	return one->digest == other->digest && one->size_bytes == other->size_bytes &&
	       one->is_file == other->is_file;
}
