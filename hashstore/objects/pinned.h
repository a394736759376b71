/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/objects/differed.h"

/*
 * Pinned - btrfs data extents with duplicates that sharing would not free, since another reference keeps a
 * part of them; the cause, and that reference.
 *
 * A row is dropped with its extent (hash_store_drop_extent()).  hash_store_unsettle() drops all but the held
 * ones.  Addresses, inodes and ids of subvolumes are at most INT64_MAX.
 *
 * Thread: the filesystem's worker.
 */
typedef struct {
	ExtentStamp extent;
	uint32_t cause; /* a number of enum PinCause */
	/* A reference that keeps the extent; root 0: no single one does. */
	uint64_t root;
	uint64_t inode;
	uint64_t offset;   /* byte in the file where the reference begins */
	uint64_t position; /* byte of the extent that it shows there */
	union {
		uint64_t length;            /* bytes that it shows */
		uint64_t affordable_places; /* PIN_TOO_COSTLY: so many would be shared */
	};
	/* Bytes that the file shows and nothing else has; if held: bytes that will be freed. */
	uint64_t uncovered_bytes;
	uint64_t places;  /* number of references to the extent */
	uint64_t holders; /* id of the set of subvolumes that hold it (holders.h); 0: none */
	uint64_t bytes;   /* size of the extent on the disk */
	bool is_source;   /* others share with it, so it would stay in any case */
} PinnedExtent;

/* The extents pinned for one cause; docs/quantities.md. */
typedef struct {
	uint64_t extents;
	uint64_t bytes;
	uint64_t uncovered_bytes; /* that the blamed files show and nothing else has */
} PinnedSum;

/*
 * The limit of stored short extents, of some 80 bytes each; others are looked at again when they
 * change.  Longer extents, which are a thousandth of all, and held ones are always stored.
 */
#define PINNED_MAX          (UINT64_C(1) << 17)
#define PINNED_ANYWAY_BYTES (UINT64_C(64) << 10)

/* Store the row instead of an earlier one of the extent.  *ret_kept is false if there is no room. */
bool hash_store_put_pinned(HashStore *store, const PinnedExtent *pinned, bool *ret_kept,
			   GError **error) G_GNUC_WARN_UNUSED_RESULT;

#define PINNED_ANY_CAUSE UINT32_MAX

/* Add up the extents pinned for @cause, or for any, without sources and held ones.  Thread: any. */
bool hash_store_sum_pinned(HashStore *store, uint32_t cause, PinnedSum *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Drop the extent at @address; no error if there is none. */
bool hash_store_drop_pinned(HashStore *store, uint64_t address, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Drop all extents that no subvolumes hold. */
bool hash_store_clear_pinned(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The first extent at or behind the address @from; *ret_found is false if there is none. */
bool hash_store_next_pinned(HashStore *store, uint64_t from, PinnedExtent *ret, bool *ret_found,
			    GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The extent at @address; *ret_found is false if it is not pinned. */
bool hash_store_find_pinned(HashStore *store, uint64_t address, PinnedExtent *ret, bool *ret_found,
			    GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The same as hash_store_next_pinned() for extents that the file @inode of the subvolume @root keeps. */
bool hash_store_next_pinned_by(HashStore *store, uint64_t root, uint64_t inode, uint64_t from,
			       PinnedExtent *ret, bool *ret_found, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* The first subvolume at or after @from that keeps any; UINT64_MAX: none. */
bool hash_store_next_pinning_root(HashStore *store, uint64_t from, uint64_t *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* The same for extents pinned for @cause. */
bool hash_store_next_pinning_root_for(HashStore *store, uint32_t cause, uint64_t from,
				      uint64_t *ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The first file of @root at or after @from that keeps any; UINT64_MAX: none. */
bool hash_store_next_pinning_inode(HashStore *store, uint64_t root, uint64_t from, uint64_t *ret,
				   GError **error) G_GNUC_WARN_UNUSED_RESULT;
