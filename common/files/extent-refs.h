/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/objects/objects.h"
#include "kernel-ioctl/btrfs/btrfs-refs.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * ExtentRefs - the places in files that show a data extent of btrfs, in whatever subvolume or
 * snapshot.
 *
 * Positions in the extent are those of its uncompressed bytes.
 *
 * Thread: the filesystem's worker, never while it shares.
 */
typedef struct ExtentRefs ExtentRefs;

typedef struct {
	uint64_t root; /* id of the subvolume */
	uint64_t inode;
	uint64_t offset;   /* byte in the file where the place begins */
	uint64_t position; /* byte in the extent that it shows there */
	uint64_t length;   /* bytes that it shows */
	/* Of the file: */
	uint64_t size_bytes;
	uint32_t owner;      /* its uid */
	uint32_t generation; /* as handles carry it */
	bool is_deleted;     /* it has no name, and goes when it is closed */
	bool is_immutable;
	int64_t mtime_nsec;
} ExtentRef;

/* How much of that lies before the end of its file. */
uint64_t extent_ref_shown_bytes(const ExtentRef *ref);

typedef enum {
	EXTENT_REFS_READ,
	EXTENT_REFS_GONE, /* the extent is not there any more, or nothing shows it */
	/* There are more than were asked for, or some show nothing: deleted, or not yet written. */
	EXTENT_REFS_PARTIAL,
} ExtentRefsOutcome;

/* Why not all places were seen. */
typedef enum {
	EXTENT_UNSEEN_NONE,     /* they were */
	EXTENT_UNSEEN_MORE,     /* there are more than were asked for, or may be looked up */
	EXTENT_UNSEEN_RESERVED, /* a file keeps some of it for what is not written yet */
	EXTENT_UNSEEN_DELETED,  /* a subvolume has it that is deleted, or a file that is */
} ExtentUnseen;

/* @bound is borrowed; NULL: each extent is looked up, however many references it has. */
ExtentRefs *extent_refs_new(int fd, BtrfsRefBound *bound);
void extent_refs_free(ExtentRefs *refs);

/*
 * The transaction that last wrote any of the leaves that tell of the listed places and of their files; UINT64_MAX: that
 * is not known.  Snapshots since then have these leaves in common with the subvolume.
 */
uint64_t extent_refs_newest_leaf(const ExtentRefs *refs);

/*
 * Whether the file that is @one is as it was where it is @other, in another snapshot: nobody changed it in between.
 * Both are places of the extent in hand.
 */
bool extent_refs_is_unchanged(const ExtentRefs *refs, const ExtentRef *one, const ExtentRef *other);

/* Add the place that the subvolume @root has as @like has it. */
void extent_refs_add_like(ExtentRefs *refs, const ExtentRef *like, uint64_t root);

/*
 * Keep what lies beside what is looked up: neighbours are likely to be asked for next.  Call
 * extent_refs_clear_windows() after sharing.
 */
void extent_refs_use_windows(ExtentRefs *refs);
void extent_refs_clear_windows(ExtentRefs *refs);

/* Find the places that show @extent, looking at @most references. */
bool extent_refs_read(ExtentRefs *refs, const Object *extent, size_t most, ExtentRefsOutcome *ret,
		      GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The files that an extent's item names. */
typedef struct {
	uint64_t root;       /* the subvolume of all of them; 0: several, or there are more */
	uint64_t n_items;    /* in how many places they have the extent; not known if root is 0 */
	uint64_t generation; /* the transaction that allocated it: no older snapshot has it */
	bool is_all;         /* no leaf is named besides; snapshots may share those of the files */
} ExtentNamed;

/*
 * Read from the extent's item which files have it, up to @most.  A snapshot is not named for leaves that it shares, so
 * this takes one look-up however many snapshots there are.
 */
bool extent_refs_read_names(ExtentRefs *refs, const Object *extent, size_t most, ExtentNamed *ret,
			    GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* List places, up to @most, in the files that were named last.  There may be others, or only others. */
bool extent_refs_list_named(ExtentRefs *refs, const Object *extent, size_t most, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* How many bytes of @extent the subvolume @root shows where @place does; 0: it shows others, or is not there. */
bool extent_refs_shows(ExtentRefs *refs, uint64_t root, const ExtentRef *place,
		       const Object *extent, uint64_t *ret_length, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * In steps: find the references of @extent, without looking at any, up to BTRFS_REFS_MAX.  *ret is
 * EXTENT_REFS_READ if all were found.
 */
bool extent_refs_find(ExtentRefs *refs, const Object *extent, ExtentRefsOutcome *ret,
		      GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The same, of references that show the byte @position of @extent, which is not encoded. */
bool extent_refs_find_byte(ExtentRefs *refs, const Object *extent, uint64_t position,
			   ExtentRefsOutcome *ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* What these found, until the next look-up. */
const BtrfsRef *extent_refs_found(const ExtentRefs *refs, size_t *ret_n);

/* Look at one of these; *ret_length is what it shows of @extent. */
bool extent_refs_add(ExtentRefs *refs, const BtrfsRef *found, const Object *extent,
		     uint64_t *ret_length, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Take places from the list; one of them that was not seen does not matter then, either. */
void extent_refs_remove_if(ExtentRefs *refs,
			   bool (*is_unwanted)(const ExtentRef *place, void *data), void *data);

/* Leave the others, @first among them, unseen. */
ExtentRefsOutcome extent_refs_leave(ExtentRefs *refs, const BtrfsRef *first);

/* What came of the steps. */
ExtentRefsOutcome extent_refs_outcome(const ExtentRefs *refs);

/* The places that were found last. */
const ExtentRef *extent_refs_list(const ExtentRefs *refs, size_t *ret_n);

/* Whether all files that show the extent belong to one user; true if there are none. */
bool extent_refs_have_one_owner(const ExtentRefs *refs);

/*
 * Why there are others; *ret_place is the first of those, of which only root, inode, offset and
 * position are known.  *ret_places is how many there are in all.
 */
ExtentUnseen extent_refs_unseen(const ExtentRefs *refs, ExtentRef *ret_place, uint64_t *ret_places);

/* Whether the extent is compressed (or otherwise encoded), and what it holds. */
bool extent_refs_is_encoded(const ExtentRefs *refs);
uint64_t extent_refs_ram_bytes(const ExtentRefs *refs);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExtentRefs, extent_refs_free)
