/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/database/store-snapshot.h"
#include "hashstore/database/store.h"

/*
 * Object - a version of a file as the store remembers it, keyed by (subvolume, inode); or a data
 * extent of btrfs.
 *
 * An extent has the subvolume OBJECT_EXTENTS, its address as inode and its length on the disk as
 * size_bytes.  Its stamp goes on with the transaction that allocated it, in ctime_nsec, and with how
 * many of its blocks have checksums, in mtime_nsec; btime_nsec is how many bytes of it are zeros.  It
 * has no name.
 *
 * A stretch of small extents in one file has the subvolume OBJECT_STRETCHES and as inode a number of
 * its own, which is the parent of its extents.  It lies in the subvolume ctime_nsec, file parent, from
 * byte mtime_nsec on.  In the generation of both it says how long the extents count when ranked.
 *
 * Thread: the filesystem's worker.
 */
#define OBJECT_EXTENTS   UINT64_C(0) /* no subvolumes of btrfs have these ids */
#define OBJECT_STRETCHES UINT64_C(1)

/*
 * The longest extent or stretch that a store takes.  btrfs makes extents of 256 MiB at most; a pass computes
 * with all blocks of one in memory.
 */
#define OBJECT_EXTENT_BYTES_MAX (UINT64_C(1) << 30)

typedef enum {
	OBJECT_DONE,    /* fingerprinted to its end */
	OBJECT_HALF,    /* a large file of which the first done_blocks are fingerprinted */
	OBJECT_SKIPPED, /* looked at and left alone while its stamp holds: see skip_reason */
	OBJECT_SEEN,    /* not read, as no other file had its size, or its size and head */
} ObjectState;

typedef enum {
	OBJECT_RACY = 1 << 0,      /* changed too shortly before it was listed: look again */
	OBJECT_IMMUTABLE = 1 << 1, /* can be a source only */
	OBJECT_NO_COW = 1 << 2,    /* shares with its like only */
	/* Most of its blocks were shared when it was read; an extent was shown in several places. */
	OBJECT_SHARED = 1 << 3,
	OBJECT_KEEP_ZEROS = 1 << 4, /* looks thick-provisioned */
	OBJECT_FOREIGN = 1 << 5,    /* of another user than the last pass: can be a source only */
	OBJECT_PLAIN = 1 << 6, /* a source for compressed files only: its extents are objects */
	OBJECT_WHOLE = 1 << 7, /* known as a whole only: it has no anchors */
	OBJECT_HAS_HEAD = 1 << 8,
	OBJECT_CHANGES = 1 << 9, /* of the record alone: @changes is not 0 */
	OBJECT_CLONED =
		1 << 10, /* some of its blocks were shared when it was read, or shared by dedupd */
	OBJECT_RELIES = 1 << 11, /* of the record alone: @stand is not 0 */
	OBJECT_HELD = 1 << 12, /* an extent that snapshots hold until they are deleted (pinned.h) */
	/* An extent that has no checksums, but sums from reading (read-sums.h); a file that shows such. */
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
	/* What was learned. */
	ObjectState state;
	unsigned flags;       /* ObjectFlags */
	uint32_t skip_reason; /* the engine's number, when OBJECT_SKIPPED */
	uint32_t
		doubted_day; /* day since 1970 when ctime alone was seen to differ; 0: not doubted */
	uint64_t digest;     /* over the whole object, when OBJECT_DONE */
	uint64_t head;       /* digest over its first blocks, when OBJECT_HAS_HEAD */
	uint32_t changes;    /* so many times in a row the file was found changed */
	uint64_t changed_sec; /* the last time of these, since 1970 */
	/*
	 * The inode of the file whose anchors stand for blocks of this one, which shares them; there are
	 * none of its own.  OBJECT_STAND_SEVERAL: of several files.  0: all its anchors are its own.
	 */
	uint64_t stand;
	/* One of its names: a hint for messages, filters and opening without privilege. */
	uint64_t parent;     /* inode of the directory, in the same subvolume */
	const uint8_t *name; /* any bytes; valid until the next call on the same cursor or store */
	size_t name_bytes;
} Object;

/* Insert @object, or replace the one with its (subvolume, inode). */
bool hash_store_put(HashStore *store, const Object *object, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Forget the object; no error if it is not there.  Its anchors fall out at a later merge. */
bool hash_store_drop(HashStore *store, uint64_t subvolume, uint64_t inode, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * Give objects that are fingerprinted new ids, as if they had just been read: they are no longer
 * settled, and nothing has to be read to match them again.  Ids of others are passed over.  All
 * segments that may hold their anchors are read, once.  Called after hash_store_settle() it takes
 * these out of what was settled; before, it is for objects that were settled earlier.
 *
 * Asked to stop, it undoes all that was not committed, be it its own or not: rows with ids that no
 * anchors have would be lost, and whoever changed them does so again in the next pass.
 */
bool hash_store_renew(HashStore *store, const uint32_t *objects, size_t n_objects, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* By id, through an index.  *ret is NULL when there is none; valid until the next call. */
bool hash_store_find(HashStore *store, uint32_t id, const Object **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* The same, into *ret and without a name; what was found before stays valid. */
bool hash_store_peek(HashStore *store, uint32_t id, Object *ret, bool *ret_found, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* By its key, as hash_store_find(). */
bool hash_store_find_at(HashStore *store, uint64_t subvolume, uint64_t inode, const Object **ret,
			GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The last one of @subvolume whose inode is @inode or less, as hash_store_find(). */
bool hash_store_find_before(HashStore *store, uint64_t subvolume, uint64_t inode,
			    const Object **ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Half-read large files: the engine's own state at @done_blocks of the object, kept until the
 * object's row is replaced by an OBJECT_DONE or OBJECT_SKIPPED one or dropped.  The row itself is
 * put as OBJECT_HALF by the caller.
 */
bool hash_store_put_half(HashStore *store, uint32_t id, uint64_t done_blocks, const void *state,
			 size_t state_bytes, GError **error) G_GNUC_WARN_UNUSED_RESULT;
bool hash_store_get_half(HashStore *store, uint32_t id, uint64_t *ret_done_blocks,
			 GBytes **ret_state, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * ObjectCursor - all objects in order of (subvolume, inode), as they stood when it was opened: it
 * reads through a connection of its own, so the store may be changed meanwhile.
 */
typedef struct ObjectCursor ObjectCursor;

ObjectCursor *object_cursor_open(HashStore *store, GError **error);

/* The same, of @snapshot, which outlives the cursor. */
ObjectCursor *object_cursor_open_in(StoreSnapshot *snapshot, GError **error);

/* The same of those in subvolumes from @subvolume on. */
ObjectCursor *object_cursor_open_from(HashStore *store, uint64_t subvolume, GError **error);
bool object_cursor_next(ObjectCursor *cursor, const Object **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT; /* *ret is NULL at the end */
void object_cursor_close(ObjectCursor *cursor);

/* Number of objects in the store, committed or not; and of those of one subvolume, by counting. */
bool hash_store_count_objects(HashStore *store, uint64_t *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
bool hash_store_count_objects_of(HashStore *store, uint64_t subvolume, uint64_t *ret,
				 GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ObjectCursor, object_cursor_close)
