/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/database/store-snapshot.h"
#include "hashstore/database/store.h"

/*
 * Object - a stored version of a file, keyed by (subvolume, inode), or a data extent or stretch of btrfs.
 *
 * An extent uses the fields in this way: subvolume is OBJECT_EXTENTS, inode is its address, size_bytes its
 * length on the disk.  The times hold other numbers: object_extent_generation() and the functions after it read
 * them.  It has no name.
 *
 * A stretch of small extents in one file: subvolume is OBJECT_STRETCHES, inode a number of its own, which is
 * the parent of its extents.  It lies in the subvolume ctime_nsec, in the file parent, at byte mtime_nsec.  The
 * generation of the stretch and of its extents is the length that ranks them.
 *
 * Thread: as HashStore.
 */
#define OBJECT_EXTENTS   UINT64_C(0) /* no subvolumes of btrfs have these ids */
#define OBJECT_STRETCHES UINT64_C(1)

/*
 * The longest extent or stretch that a store takes: a pass holds all blocks of one in memory.  btrfs makes
 * extents of at most 256 MiB.
 */
#define OBJECT_EXTENT_BYTES_MAX (UINT64_C(1) << 30)

typedef enum {
	OBJECT_DONE,    /* fingerprinted to its end */
	OBJECT_HALF,    /* a large file whose first done_blocks are fingerprinted */
	OBJECT_SKIPPED, /* skipped while its stamp holds: see skip_reason */
	OBJECT_SEEN,    /* not read, as no other file had its size, or its size and head */
} ObjectState;

typedef enum {
	OBJECT_RACY = 1 << 0,      /* changed too shortly before it was listed: look again */
	OBJECT_IMMUTABLE = 1 << 1, /* can be a source only */
	OBJECT_NO_COW = 1 << 2,    /* shares only with other nodatacow objects */
	/* Most blocks of the file were shared when it was read; the extent had several references. */
	OBJECT_SHARED = 1 << 3,
	OBJECT_KEEP_ZEROS = 1 << 4, /* looks thick-provisioned */
	OBJECT_FOREIGN = 1 << 5,    /* another user's than the last pass: can be a source only */
	OBJECT_PLAIN = 1 << 6, /* a source for compressed files only: its extents are objects */
	OBJECT_WHOLE = 1 << 7, /* fingerprinted as a whole only: no anchors */
	OBJECT_HAS_HEAD = 1 << 8,
	OBJECT_CHANGES = 1 << 9, /* of the record alone: @changes is not 0 */
	/* Some of its blocks were shared when it was read or matched, or shared by dedupd. */
	OBJECT_CLONED = 1 << 10,
	OBJECT_RELIES = 1 << 11, /* of the record alone: @stand is not 0 */
	OBJECT_HELD = 1 << 12, /* an extent that snapshots hold until they are deleted (pinned.h) */
	/*
	 * An extent without checksums, but with sums from reading (read-sums.h); or a file with such extents.
	 */
	OBJECT_READ_SUMS = 1 << 13,
} ObjectFlags;

#define OBJECT_STAND_SEVERAL UINT64_MAX

typedef struct Object {
	uint32_t id;
	/* The stamp. */
	uint64_t subvolume;
	uint64_t inode;
	uint32_t generation; /* 0 until it was opened once */
	uint64_t size_bytes;
	int64_t btime_nsec;
	int64_t mtime_nsec;
	int64_t ctime_nsec;
	/* The results of looking at it. */
	ObjectState state;
	unsigned flags;       /* ObjectFlags */
	uint32_t skip_reason; /* a number of enum SkipReason, if OBJECT_SKIPPED */
	/* The day since 1970 on which only ctime was seen to differ; 0: not doubted. */
	uint32_t doubted_day;
	uint64_t digest;      /* of the whole object, if OBJECT_DONE */
	uint64_t head;        /* of its first blocks, if OBJECT_HAS_HEAD */
	uint32_t changes;     /* how often in a row the file was found changed */
	uint64_t changed_sec; /* the last time of these, in seconds since 1970 */
	/*
	 * The inode of the file that shares this object's blocks and whose anchors stand for them; it has
	 * none of its own.  OBJECT_STAND_SEVERAL: of several files.  0: all its anchors are its own.
	 */
	uint64_t stand;
	/* One of its names: a hint for messages, filters, and opening without privilege. */
	uint64_t parent;     /* inode of the directory, in the same subvolume */
	const uint8_t *name; /* any bytes; valid until the next call on the same cursor or store */
	size_t name_bytes;
} Object;

/* The transaction that allocated an extent. */
static inline uint64_t object_extent_generation(const Object *extent)
{
	return (uint64_t)extent->ctime_nsec;
}

/* How many blocks of an extent have checksums. */
static inline uint64_t object_extent_summed_blocks(const Object *extent)
{
	return (uint64_t)extent->mtime_nsec;
}

static inline uint64_t object_extent_zero_bytes(const Object *extent)
{
	return (uint64_t)extent->btime_nsec;
}

/* Insert @object, or replace the one with its (subvolume, inode). */
bool hash_store_put(HashStore *store, const Object *object, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Drop the object, if it exists.  A later merge drops its anchors. */
bool hash_store_drop(HashStore *store, uint64_t subvolume, uint64_t inode, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * Give fingerprinted objects new ids, as if they had just been read: they are no longer settled, and are
 * matched again without reading their data.  Other ids are skipped.  All segments that may hold their anchors
 * are read once.  After hash_store_settle() this unsettles these objects; before it, it is for objects that
 * were settled earlier.
 *
 * After a request to stop, all uncommitted changes of any kind are rolled back: rows whose new ids have no
 * anchors would be lost.  The next pass makes the changes again.
 */
bool hash_store_renew(HashStore *store, const uint32_t *objects, size_t n_objects, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Find by id, through an index.  *ret is valid until the next call; NULL if there is none. */
bool hash_store_find(HashStore *store, uint32_t id, const Object **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Find by id into *ret, without a name; earlier results stay valid. */
bool hash_store_peek(HashStore *store, uint32_t id, Object *ret, bool *ret_found, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Find by key, like hash_store_find(). */
bool hash_store_find_at(HashStore *store, uint64_t subvolume, uint64_t inode, const Object **ret,
			GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Find the last object of @subvolume whose inode is at most @inode, like hash_store_find(). */
bool hash_store_find_before(HashStore *store, uint64_t subvolume, uint64_t inode,
			    const Object **ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Half-read large files.  The engine's own state at @done_blocks is kept until the object's row is dropped, or
 * replaced by an OBJECT_DONE or OBJECT_SKIPPED one.  The caller puts the row itself as OBJECT_HALF.
 */
bool hash_store_put_half(HashStore *store, uint32_t id, uint64_t done_blocks, const void *state,
			 size_t state_bytes, GError **error) G_GNUC_WARN_UNUSED_RESULT;
bool hash_store_get_half(HashStore *store, uint32_t id, uint64_t *ret_done_blocks,
			 GBytes **ret_state, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * ObjectCursor - all objects in order of (subvolume, inode), as of its opening.  It reads through a connection
 * of its own, so the store may change meanwhile.
 */
typedef struct ObjectCursor ObjectCursor;

ObjectCursor *object_cursor_open(HashStore *store, GError **error);

/* The same on @snapshot, which outlives the cursor. */
ObjectCursor *object_cursor_open_in(StoreSnapshot *snapshot, GError **error);

/* The same for subvolumes from @subvolume on. */
ObjectCursor *object_cursor_open_from(HashStore *store, uint64_t subvolume, GError **error);
bool object_cursor_next(ObjectCursor *cursor, const Object **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT; /* *ret is NULL at the end */
void object_cursor_close(ObjectCursor *cursor);

/* Count the objects in the store, committed or not; or those of one subvolume, by reading them. */
bool hash_store_count_objects(HashStore *store, uint64_t *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
bool hash_store_count_objects_of(HashStore *store, uint64_t subvolume, uint64_t *ret,
				 GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ObjectCursor, object_cursor_close)
