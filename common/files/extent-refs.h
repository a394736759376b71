/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/objects/objects.h"
#include "kernel-ioctl/btrfs/btrfs-refs.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * ExtentRefs - the references to a data extent of btrfs, in all subvolumes and snapshots.
 *
 * Positions in the extent count its uncompressed bytes.
 *
 * Thread: the filesystem's worker, never while it deduplicates.
 */
typedef struct ExtentRefs ExtentRefs;

typedef struct {
	uint64_t root; /* id of the subvolume */
	uint64_t inode;
	uint64_t offset;   /* byte in the file where the reference begins */
	uint64_t position; /* byte in the extent that it shows there */
	uint64_t length;   /* bytes that it shows */
	/* Facts about the file. */
	uint64_t size_bytes;
	uint32_t owner;      /* its uid */
	uint32_t generation; /* as in file handles */
	bool is_deleted;     /* it has no name, and is freed when it is closed */
	bool is_immutable;
	int64_t mtime_nsec;
} ExtentRef;

/* The bytes of the reference that lie before the end of its file. */
uint64_t extent_ref_shown_bytes(const ExtentRef *ref);

typedef enum {
	EXTENT_REFS_READ,
	EXTENT_REFS_GONE, /* the extent is gone, or no file shows it */
	/* There are more than requested, or some are invisible: deleted, or not yet written. */
	EXTENT_REFS_PARTIAL,
} ExtentRefsOutcome;

/* Why some references were not seen. */
typedef enum {
	EXTENT_UNSEEN_NONE,     /* all were seen */
	EXTENT_UNSEEN_MORE,     /* more than requested, or than may be looked up */
	EXTENT_UNSEEN_RESERVED, /* a file has preallocated space in it */
	EXTENT_UNSEEN_DELETED,  /* a deleted subvolume or file has it */
} ExtentUnseen;

/* @bound is borrowed; NULL: look up each extent, whatever its number of references. */
ExtentRefs *extent_refs_new(int fd, BtrfsRefBound *bound);
void extent_refs_free(ExtentRefs *refs);

/*
 * The transaction that last wrote any leaf with the listed references or their inodes; UINT64_MAX: not
 * known.  Later snapshots share these leaves with the subvolume.
 */
uint64_t extent_refs_newest_leaf(const ExtentRefs *refs);

/*
 * True if the file of @one did not change between its snapshot and that of @other.  Both reference the current
 * extent.
 */
bool extent_refs_is_unchanged(const ExtentRefs *refs, const ExtentRef *one, const ExtentRef *other);

/* Add a reference of the subvolume @root that equals @like. */
void extent_refs_add_like(ExtentRefs *refs, const ExtentRef *like, uint64_t root);

/*
 * Cache neighbours of items, which are likely to be needed next.  Call extent_refs_clear_windows() after
 * deduplication.
 */
void extent_refs_use_windows(ExtentRefs *refs);
void extent_refs_clear_windows(ExtentRefs *refs);

/* Find the references to @extent, at most @most. */
bool extent_refs_read(ExtentRefs *refs, const Object *extent, size_t most, ExtentRefsOutcome *ret,
		      GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The files that the item of an extent names. */
typedef struct {
	uint64_t root;       /* the subvolume of all of them; 0: several, or there are more */
	uint64_t n_items;    /* the number of their references; not known if root is 0 */
	uint64_t generation; /* the transaction that allocated it: no older snapshot has it */
	bool is_all; /* no leaf is named besides; snapshots may share the leaves of these files */
} ExtentNamed;

/*
 * Read the files that the extent's item names, up to @most.  The item does not name a snapshot for leaves that
 * it shares, so this takes one search for any number of snapshots.
 */
bool extent_refs_read_names(ExtentRefs *refs, const Object *extent, size_t most, ExtentNamed *ret,
			    GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* List references, up to @most, in the files that were named last.  There may be others, or only others. */
bool extent_refs_list_named(ExtentRefs *refs, const Object *extent, size_t most, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* *ret_length is how many bytes of @extent the subvolume @root shows where @place does; 0: none. */
bool extent_refs_shows(ExtentRefs *refs, uint64_t root, const ExtentRef *place,
		       const Object *extent, uint64_t *ret_length, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * In steps: find the references of @extent, up to BTRFS_REFS_MAX, without reading their items.  *ret is
 * EXTENT_REFS_READ if all were found.
 */
bool extent_refs_find(ExtentRefs *refs, const Object *extent, ExtentRefsOutcome *ret,
		      GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The same for references to the byte @position of @extent, which is not encoded. */
bool extent_refs_find_byte(ExtentRefs *refs, const Object *extent, uint64_t position,
			   ExtentRefsOutcome *ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The references found, valid until the next lookup. */
const BtrfsRef *extent_refs_found(const ExtentRefs *refs, size_t *ret_n);

/* Read the item of one of these and list it; *ret_length is what it shows of @extent. */
bool extent_refs_add(ExtentRefs *refs, const BtrfsRef *found, const Object *extent,
		     uint64_t *ret_length, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Remove references from the list.  If an unseen one is among them, it no longer counts as unseen. */
void extent_refs_remove_if(ExtentRefs *refs,
			   bool (*is_unwanted)(const ExtentRef *place, void *data), void *data);

/* Treat the others, beginning with @first, as unseen. */
ExtentRefsOutcome extent_refs_leave(ExtentRefs *refs, const BtrfsRef *first);

/* The outcome of the steps. */
ExtentRefsOutcome extent_refs_outcome(const ExtentRefs *refs);

/* The references listed last. */
const ExtentRef *extent_refs_list(const ExtentRefs *refs, size_t *ret_n);

/* True if all listed files belong to one user, or there are none. */
bool extent_refs_have_one_owner(const ExtentRefs *refs);

/*
 * Why some references are unseen.  *ret_place is the first of those; only its root, inode, offset and position
 * are known.  *ret_places is the number of all references.
 */
ExtentUnseen extent_refs_unseen(const ExtentRefs *refs, ExtentRef *ret_place, uint64_t *ret_places);

/* True if the extent is compressed or otherwise encoded; and its uncompressed size. */
bool extent_refs_is_encoded(const ExtentRefs *refs);
uint64_t extent_refs_ram_bytes(const ExtentRefs *refs);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExtentRefs, extent_refs_free)
