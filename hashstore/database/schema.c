/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/database/schema.h"

static const char *const steps[] = {
	/*
	 * 1.  Unsigned numbers are stored as signed ones with the same bits.  Objects and directories are
	 * ordered as a pass reads them.  A page of anchors fits one SQLite page, and its rowid follows the
	 * previous page's, so that pages are appended.  A fence row holds the first digests of many pages; a
	 * segment's row holds those of its fence rows.
	 */
	"CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;"
	"CREATE TABLE note (name TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;"
	"CREATE TABLE object ("
	"  subvolume INTEGER NOT NULL, inode INTEGER NOT NULL, id INTEGER NOT NULL,"
	"  record BLOB NOT NULL, PRIMARY KEY (subvolume, inode)) WITHOUT ROWID;"
	"CREATE UNIQUE INDEX object_id ON object (id);"
	"CREATE TABLE half ("
	"  id INTEGER PRIMARY KEY, done_blocks INTEGER NOT NULL, state BLOB NOT NULL);"
	"CREATE TABLE directory ("
	"  subvolume INTEGER NOT NULL, inode INTEGER NOT NULL,"
	"  parent_subvolume INTEGER NOT NULL, parent INTEGER NOT NULL, name BLOB NOT NULL,"
	"  PRIMARY KEY (subvolume, inode)) WITHOUT ROWID;"
	"CREATE TABLE segment ("
	"  id INTEGER PRIMARY KEY, anchors INTEGER NOT NULL,"
	"  first_page INTEGER NOT NULL, pages INTEGER NOT NULL,"
	"  first_fence INTEGER NOT NULL, min_object INTEGER NOT NULL, max_object INTEGER NOT NULL,"
	"  live_objects INTEGER NOT NULL, fences BLOB NOT NULL);"
	"CREATE TABLE fence (id INTEGER PRIMARY KEY, digests BLOB NOT NULL);"
	"CREATE TABLE page (id INTEGER PRIMARY KEY, entries BLOB NOT NULL);"
	"CREATE TABLE pass ("
	"  id INTEGER PRIMARY KEY, started_usec INTEGER NOT NULL, ended_usec INTEGER NOT NULL,"
	"  outcome INTEGER NOT NULL, mount_point BLOB NOT NULL, files INTEGER NOT NULL,"
	"  objects_read INTEGER NOT NULL, finding_bytes INTEGER NOT NULL,"
	"  compare_bytes INTEGER NOT NULL, shared_bytes INTEGER NOT NULL,"
	"  freed_bytes INTEGER NOT NULL, hole_bytes INTEGER NOT NULL,"
	"  runs_shared INTEGER NOT NULL, runs_differed INTEGER NOT NULL,"
	"  capped INTEGER NOT NULL);"
	"CREATE TABLE pass_total ("
	"  passes INTEGER NOT NULL, freed_bytes INTEGER NOT NULL, finding_bytes INTEGER NOT NULL,"
	"  compare_bytes INTEGER NOT NULL);"
	"INSERT INTO pass_total VALUES (0, 0, 0, 0);"
	"CREATE TABLE skipped ("
	"  reason TEXT PRIMARY KEY, count INTEGER NOT NULL, bytes INTEGER NOT NULL,"
	"  examples BLOB NOT NULL) WITHOUT ROWID;",
	/* 2.  Addresses of btrfs extents some of whose blocks had no checksum. */
	"CREATE TABLE open_extent (address INTEGER PRIMARY KEY);",
	/*
	 * 3.  Pairs of btrfs extents that have equal checksums but differ.  Each pair has two rows, so that all
	 * pairs of one extent are neighbours.
	 */
	"CREATE TABLE differed ("
	"  address INTEGER NOT NULL, generation INTEGER NOT NULL,"
	"  other INTEGER NOT NULL, other_generation INTEGER NOT NULL,"
	"  PRIMARY KEY (address, other, generation, other_generation)) WITHOUT ROWID;",
	/* 4.  Figures of a pass over btrfs besides freed space. */
	"ALTER TABLE pass ADD COLUMN pinned_bytes INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE pass ADD COLUMN rewritten_bytes INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE pass ADD COLUMN metadata_delta_bytes INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE pass ADD COLUMN is_checked INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE pass ADD COLUMN drift_bytes INTEGER NOT NULL DEFAULT 0;",
	/* 5. btrfs extents that sharing would not free, and the references that keep them. */
	"CREATE TABLE pinned ("
	"  address INTEGER PRIMARY KEY, generation INTEGER NOT NULL, cause INTEGER NOT NULL,"
	"  root INTEGER NOT NULL, inode INTEGER NOT NULL, offset INTEGER NOT NULL,"
	"  position INTEGER NOT NULL, length INTEGER NOT NULL, uncovered_bytes INTEGER NOT NULL,"
	"  places INTEGER NOT NULL);"
	"CREATE INDEX pinned_by ON pinned (root, inode);"
	"CREATE INDEX pinned_for ON pinned (cause, root);",
	/* 6.  The stamp of a directory of XFS when its names were read. */
	"ALTER TABLE directory ADD COLUMN stamp INTEGER NOT NULL DEFAULT 0;",
	/* 7.  Objects may be OBJECT_SEEN and have heads, which earlier versions do not understand. */
	"SELECT 1;",
	/* 8.  Objects may count how often in a row they were found changed. */
	"SELECT 1;",
	/* 9.  Objects may rely on the anchors of others. */
	"SELECT 1;",
	/* 10. btrfs extents that are freed when the snapshots that hold them are deleted. */
	"CREATE TABLE holders (id INTEGER PRIMARY KEY, roots TEXT NOT NULL UNIQUE);"
	"ALTER TABLE pinned ADD COLUMN holders INTEGER NOT NULL DEFAULT 0;"
	"CREATE INDEX pinned_by_holders ON pinned (holders, uncovered_bytes) WHERE holders > 0;"
	"ALTER TABLE pass ADD COLUMN deferred_bytes INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE pass ADD COLUMN released_bytes INTEGER NOT NULL DEFAULT 0;"
	/* Extents that had too many references may be worth sharing by now. */
	"DELETE FROM note WHERE name = 'btrfs-all-looked-at';",
	/* 11.  Bytes written for deferred extents, which are not subtracted from freed bytes. */
	"ALTER TABLE pass ADD COLUMN deferred_written_bytes INTEGER NOT NULL DEFAULT 0;",
	/*
	 * 12.  The size of pinned extents on the disk, and which of them are sources of others.  The next pass
	 * plans all of them again and so fills that in.  Passes tell extents from files, and note freed bytes
	 * net of metadata, which is not known of older passes.
	 */
	"ALTER TABLE pinned ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE pinned ADD COLUMN is_source INTEGER NOT NULL DEFAULT 0;"
	"DROP INDEX pinned_for;"
	"CREATE INDEX pinned_for ON pinned"
	"  (cause, root, holders, is_source, bytes, uncovered_bytes);" /* sums need no row */
	"ALTER TABLE pass ADD COLUMN extents INTEGER;"
	"ALTER TABLE pass ADD COLUMN net_bytes INTEGER;"
	"UPDATE pass SET extents = files WHERE EXISTS"
	"  (SELECT 1 FROM note WHERE name = 'found-by' AND text = 'checksums');"
	"DELETE FROM note WHERE name = 'btrfs-all-looked-at';",
	/*
	 * 13.  Block sums from reading, for btrfs extents without checksums.  All files with such extents are
	 * looked at again.
	 */
	"CREATE TABLE read_sums ("
	"  address INTEGER PRIMARY KEY, is_new INTEGER NOT NULL, sums BLOB NOT NULL);"
	"CREATE INDEX read_sums_new ON read_sums (address) WHERE is_new = 1;"
	"DELETE FROM note WHERE name = 'btrfs-inodes-generation';",
	/*
	 * 14.  The groups of equal objects with most to free, and objects that no anchor leads to.  They are
	 * filled by the next pass.  Readers do without them.
	 */
	"CREATE TABLE kept_group ("
	"  digest INTEGER NOT NULL, size_bytes INTEGER NOT NULL, n_objects INTEGER NOT NULL,"
	"  PRIMARY KEY (digest, size_bytes)) WITHOUT ROWID;"
	"CREATE TABLE loose_object (id INTEGER PRIMARY KEY);",
	/* 15.  The space in use at the end of a pass.  Readers do without it. */
	"ALTER TABLE pass ADD COLUMN used_bytes INTEGER NOT NULL DEFAULT 0;",
	/* 16.  Totals of passes by outcome, and of compares that found a difference.  Readers do without them. */
	"ALTER TABLE pass_total ADD COLUMN interrupted INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE pass_total ADD COLUMN failed INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE pass_total ADD COLUMN wasted_bytes INTEGER NOT NULL DEFAULT 0;"
	"UPDATE pass_total SET"
	"  interrupted = (SELECT count(*) FROM pass WHERE outcome = 1),"
	"  failed = (SELECT count(*) FROM pass WHERE outcome = 2);",
	/*
	 * 17.  Pages of anchors are packed, and places replace the index of objects by id.  Both can take long in a
	 * large store, so passes do it when they end: see segments.h and object-places.h.
	 */
	("CREATE TABLE place ("
	 "  id INTEGER PRIMARY KEY, subvolume INTEGER NOT NULL, inode INTEGER NOT NULL);"),
};

const Schema schema_current = { .steps = steps,
				.n_steps = G_N_ELEMENTS(steps),
				.readable_from = 13 };

static bool set_foreign(Database *database, GError **error)
{
	g_set_error(error, HASH_STORE_ERROR, HASH_STORE_ERROR_FOREIGN,
		    "%s is not a store of dedupd (--rebuild moves it aside and begins anew)",
		    database->path);
	return false;
}

typedef struct {
	int64_t id, version, n_tables;
} Header;

/* The three values of one state of the file: another process may be making the store. */
static bool read_header(Database *database, Header *ret, GError **error)
{
	bool is_read;

	if (!database_exec(database, "SAVEPOINT header", error))
		return false;
	is_read = database_get_int(database, "PRAGMA application_id", &ret->id, error) &&
		  database_get_int(database, "PRAGMA user_version", &ret->version, error) &&
		  database_get_int(database, "SELECT count(*) FROM sqlite_schema", &ret->n_tables,
				   error);

	return database_exec(database, "RELEASE header", is_read ? error : NULL) && is_read;
}

bool schema_examine(Database *database, const Schema *schema, SchemaState *ret, GError **error)
{
	Header header;

	if (!read_header(database, &header, error))
		return false;

	if (header.id == 0 && header.version == 0 && header.n_tables == 0) {
		*ret = SCHEMA_EMPTY;
		return true;
	}

	if (header.id != SCHEMA_APPLICATION_ID)
		return set_foreign(database, error);
	if (header.version < 1 || header.n_tables == 0) {
		database_set_corrupt(database, "it holds no tables", error);
		return false;
	}
	if (header.version > schema->n_steps) {
		g_set_error(error, HASH_STORE_ERROR, HASH_STORE_ERROR_NEWER,
			    "the store %s has version %" G_GINT64_FORMAT
			    ", and this dedupd knows versions up to %d: use a newer dedupd "
			    "(or --rebuild, which moves it aside and begins anew)",
			    database->path, header.version, schema->n_steps);
		return false;
	}

	*ret = header.version == schema->n_steps         ? SCHEMA_CURRENT
	       : header.version >= schema->readable_from ? SCHEMA_READABLE
							 : SCHEMA_OLDER;

	return true;
}

bool schema_upgrade(Database *database, const Schema *schema, GError **error)
{
	g_autofree char *stamp = NULL;
	int64_t version;

	if (!database_get_int(database, "PRAGMA user_version", &version, error))
		return false;

	for (int64_t step = version; step < schema->n_steps; step++) {
		if (!database_exec(database, schema->steps[step], error))
			return false;
	}

	stamp = g_strdup_printf("PRAGMA application_id = %d; PRAGMA user_version = %d;",
				SCHEMA_APPLICATION_ID, schema->n_steps);

	return database_exec(database, stamp, error);
}
