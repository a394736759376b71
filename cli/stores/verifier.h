/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/objects/objects.h"
#include "kernel-ioctl/file/fs-identity.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Verifier - computes anew what a store says of objects: whole files are read, of extents of a btrfs the
 * checksums.
 *
 * Nothing is changed, save that what is dirty of the files is written out.  What was not in the page
 * cache before is dropped from it.
 *
 * Thread: one at a time.
 */
typedef struct Verifier Verifier;

typedef enum {
	VERIFIED_RIGHT,
	VERIFIED_STALE, /* the object is gone or changed, which the next pass will see */
	VERIFIED_WRONG, /* it has its stamp, and other data than the store says */
	VERIFIED_UNREADABLE,
	N_VERIFIED,
} Verified;

/*
 * @store and @fd, a directory of its filesystem, are borrowed.  @rate_bytes is what may be read in a
 * second, 0 for all there is.
 */
Verifier *verifier_new(HashStore *store, int fd, FsKind kind, uint64_t rate_bytes, GError **error);
void verifier_free(Verifier *verifier);

/* Whether it can be verified: it was fingerprinted to its end, and is no stretch of extents. */
bool verifier_takes(const Verifier *verifier, const Object *object);

bool verifier_look(Verifier *verifier, const Object *object, Verified *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Bytes of files that were read so far. */
uint64_t verifier_read_bytes(const Verifier *verifier);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Verifier, verifier_free)
