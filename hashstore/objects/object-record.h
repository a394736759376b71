/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/objects/objects.h"

/*
 * ObjectRecord - the stored form of an object: all but its key and id in one small BLOB.
 *
 * An unchanged pass reads every record, so numbers have variable length, and times are differences.  A record
 * takes about 40 bytes and the name.
 *
 * Thread: any.
 */

/* Append the record of @object to @bytes. */
void object_record_write(const Object *object, GByteArray *bytes);

/*
 * Fill @ret from the record, except key and id, which the caller sets; its name points into @bytes.  False if
 * the record is invalid.
 */
bool object_record_read(const uint8_t *bytes, size_t n_bytes, Object *ret);
