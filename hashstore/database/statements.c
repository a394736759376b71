/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/database/statements.h"

#include "hashstore/database/database.h"

#define PINNED_COLUMNS                                                                             \
	"address, generation, cause, root, inode, offset, position, length, uncovered_bytes, "     \
	"places, holders, bytes, is_source"

static const char *const sql[N_STATEMENTS] = {
	[STATEMENT_BEGIN] = "BEGIN IMMEDIATE",
	[STATEMENT_COMMIT] = "COMMIT",
	[STATEMENT_ROLLBACK] = "ROLLBACK",
	[STATEMENT_PUT_META] = "INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)",
	[STATEMENT_GET_NOTE] = "SELECT text FROM note WHERE name = ?",
	[STATEMENT_PUT_NOTE] = "INSERT OR REPLACE INTO note (name, text) VALUES (?, ?)",
	[STATEMENT_INSERT_OBJECT] =
		"INSERT INTO object (subvolume, inode, id, record) VALUES (?, ?, ?, ?)"
		" ON CONFLICT (subvolume, inode) DO NOTHING",
	[STATEMENT_UPDATE_OBJECT] =
		"UPDATE object SET id = ?3, record = ?4 WHERE subvolume = ?1 AND inode = ?2",
	[STATEMENT_DROP_OBJECT] = "DELETE FROM object WHERE subvolume = ? AND inode = ?",
	[STATEMENT_FIND_OBJECT] =
		"SELECT object.subvolume, object.inode, object.id, record FROM place CROSS JOIN "
		"object"
		" ON object.subvolume = place.subvolume AND object.inode = place.inode"
		" WHERE place.id = ?1 AND object.id = ?1",
	[STATEMENT_FIND_INDEXED_OBJECT] =
		"SELECT subvolume, inode, id, record FROM object WHERE id = ?",
	/* An id that another object has is refused, since inode cannot be NULL. */
	[STATEMENT_PUT_PLACE] =
		"INSERT INTO place (id, subvolume, inode) VALUES (?, ?, ?) ON CONFLICT (id)"
		" DO UPDATE SET subvolume = ?2, inode = CASE WHEN EXISTS (SELECT 1 FROM object"
		" WHERE subvolume = place.subvolume AND inode = place.inode AND id = place.id)"
		" THEN NULL ELSE ?3 END WHERE subvolume <> ?2 OR inode <> ?3",
	[STATEMENT_COPY_PLACES] =
		"INSERT OR IGNORE INTO place SELECT id, subvolume, inode FROM object"
		" WHERE id >= ? AND id < ? ORDER BY id",
	[STATEMENT_DROP_PLACES] =
		"DELETE FROM place WHERE id >= ? AND id < ? AND NOT EXISTS (SELECT 1 FROM object"
		" WHERE subvolume = place.subvolume AND inode = place.inode AND id = place.id)",
	[STATEMENT_FIND_OBJECT_AT] = "SELECT subvolume, inode, id, record FROM object"
				     " WHERE subvolume = ? AND inode = ?",
	[STATEMENT_FIND_OBJECT_BEFORE] = "SELECT subvolume, inode, id, record FROM object"
					 " WHERE subvolume = ? AND inode <= ?"
					 " ORDER BY inode DESC LIMIT 1",
	[STATEMENT_FIND_OBJECT_ID] = "SELECT id FROM object WHERE subvolume = ? AND inode = ?",
	[STATEMENT_COUNT_OBJECTS_OF] = "SELECT COUNT(*) FROM object WHERE subvolume = ?",
	[STATEMENT_GET_CONTENT_BYTES] =
		"SELECT (page_count - freelist_count) * page_size "
		"FROM pragma_page_count, pragma_freelist_count, pragma_page_size",
	[STATEMENT_PUT_HALF] =
		"INSERT OR REPLACE INTO half (id, done_blocks, state) VALUES (?, ?, ?)",
	[STATEMENT_GET_HALF] = "SELECT done_blocks, state FROM half WHERE id = ?",
	[STATEMENT_DROP_HALF] = "DELETE FROM half WHERE id = ?",
	[STATEMENT_PUT_DIRECTORY] =
		"INSERT INTO directory (subvolume, inode, parent_subvolume, parent, name, stamp)"
		" VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (subvolume, inode) DO UPDATE SET"
		" parent_subvolume = ?3, parent = ?4, name = ?5, stamp = ?6",
	[STATEMENT_DROP_DIRECTORY] = "DELETE FROM directory WHERE subvolume = ? AND inode = ?",
	[STATEMENT_FIND_DIRECTORY] =
		"SELECT subvolume, inode, parent_subvolume, parent, name, stamp FROM directory"
		" WHERE subvolume = ? AND inode = ?",
	[STATEMENT_DOUBT_DIRECTORIES] = "UPDATE directory SET stamp = 0 WHERE stamp <> 0",
	[STATEMENT_PUT_SEGMENT] =
		"INSERT OR REPLACE INTO segment (id, anchors, first_page, pages, first_fence,"
		" min_object, max_object, live_objects, fences) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[STATEMENT_DROP_SEGMENT] = "DELETE FROM segment WHERE id = ?",
	[STATEMENT_SET_LIVE_OBJECTS] = "UPDATE segment SET live_objects = ? WHERE id = ?",
	[STATEMENT_SET_ANCHORS] = "UPDATE segment SET anchors = ? WHERE id = ?",
	[STATEMENT_PUT_MERGED_PAGES] =
		"INSERT OR REPLACE INTO meta (name, value) VALUES ('merged_pages_' || ?, ?)",
	[STATEMENT_PUT_MERGED_BELOW] =
		"INSERT OR REPLACE INTO meta (name, value) VALUES ('merged_below_' || ?, ?)",
	[STATEMENT_DROP_MERGED] =
		"DELETE FROM meta WHERE name IN ('merged_pages_' || ?1, 'merged_below_' || ?1)",
	[STATEMENT_PUT_FENCE] = "INSERT OR REPLACE INTO fence (id, digests) VALUES (?, ?)",
	[STATEMENT_DROP_FENCES] = "DELETE FROM fence WHERE id >= ? AND id < ?",
	[STATEMENT_PUT_PAGE] = "INSERT INTO page (id, entries) VALUES (?, ?)",
	[STATEMENT_PUT_PASS] =
		"INSERT INTO pass (started_usec, ended_usec, outcome, mount_point, files,"
		" objects_read, finding_bytes, compare_bytes, shared_bytes, freed_bytes,"
		" hole_bytes, runs_shared, runs_differed, capped, pinned_bytes, rewritten_bytes,"
		" metadata_delta_bytes, is_checked, drift_bytes, deferred_bytes, released_bytes,"
		" deferred_written_bytes, extents, net_bytes, used_bytes) VALUES"
		" (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[STATEMENT_PRUNE_PASSES] = "DELETE FROM pass WHERE id <= ?",
	[STATEMENT_DROP_OLD_PASSES] = "DELETE FROM pass WHERE ended_usec < ?",
	[STATEMENT_ADD_TOTAL] =
		"UPDATE pass_total SET passes = passes + 1, freed_bytes = freed_bytes + ?,"
		" finding_bytes = finding_bytes + ?, compare_bytes = compare_bytes + ?,"
		" wasted_bytes = wasted_bytes + ?, interrupted = interrupted + ?, failed = failed "
		"+ ?",
	[STATEMENT_GET_TOTAL] =
		"SELECT passes, freed_bytes, finding_bytes, compare_bytes, wasted_bytes,"
		" interrupted, failed FROM pass_total",
	[STATEMENT_GET_EARLIER_TOTAL] = "SELECT passes, freed_bytes, finding_bytes, compare_bytes,"
					" 0, 0, 0 FROM pass_total",
	[STATEMENT_PUT_SKIP] = "INSERT OR REPLACE INTO skipped (reason, count, bytes, examples)"
			       " VALUES (?, ?, ?, ?)",
	[STATEMENT_ANY_SKIP] = "SELECT 1 FROM skipped LIMIT 1",
	[STATEMENT_CLEAR_SKIPS] = "DELETE FROM skipped",
	[STATEMENT_PUT_OPEN_EXTENT] = "INSERT OR IGNORE INTO open_extent (address) VALUES (?)",
	[STATEMENT_DROP_OPEN_EXTENT] = "DELETE FROM open_extent WHERE address = ?",
	[STATEMENT_NEXT_OPEN_EXTENT] =
		"SELECT address FROM open_extent WHERE address >= ? ORDER BY address LIMIT 1",
	[STATEMENT_PUT_READ_SUMS] =
		"INSERT INTO read_sums (address, is_new, sums) VALUES (?, 1, ?)",
	[STATEMENT_GET_READ_SUMS] = "SELECT address, sums FROM read_sums WHERE address <= ?"
				    " ORDER BY address DESC LIMIT 1",
	[STATEMENT_NEXT_NEW_READ_SUMS] = "SELECT address FROM read_sums WHERE is_new = 1"
					 " AND address >= ? ORDER BY address LIMIT 1",
	[STATEMENT_TAKE_READ_SUMS] =
		"UPDATE read_sums SET is_new = 0 WHERE address = ? AND is_new = 1",
	[STATEMENT_DROP_READ_SUMS] = "DELETE FROM read_sums WHERE address = ?",
	[STATEMENT_PUT_DIFFERED] =
		"INSERT INTO differed (address, generation, other, other_generation)"
		" VALUES (?, ?, ?, ?)",
	[STATEMENT_FIND_DIFFERED] = "SELECT 1 FROM differed WHERE address = ? AND generation = ?"
				    " AND other = ? AND other_generation = ?",
	[STATEMENT_COUNT_DIFFERED] = "SELECT count(*) FROM (SELECT 1 FROM differed"
				     " WHERE address = ? AND generation = ? LIMIT ?)",
	[STATEMENT_DROP_DIFFERED_OTHERS] = "DELETE FROM differed WHERE other = ?1 AND address IN"
					   " (SELECT other FROM differed WHERE address = ?1)",
	[STATEMENT_DROP_DIFFERED] = "DELETE FROM differed WHERE address = ?",
	[STATEMENT_PUT_PINNED] = "INSERT INTO pinned (" PINNED_COLUMNS ")"
				 " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[STATEMENT_CLEAR_PINNED] = "DELETE FROM pinned WHERE holders = 0",
	[STATEMENT_FIND_HOLDERS] = "SELECT id FROM holders WHERE roots = ?",
	[STATEMENT_PUT_HOLDERS] = "INSERT INTO holders (roots) VALUES (?)",
	[STATEMENT_DROP_HOLDERS] = "DELETE FROM holders WHERE id NOT IN"
				   " (SELECT holders FROM pinned WHERE holders > 0)",
	[STATEMENT_SUM_HELD] = "SELECT holders, count(*), " DATABASE_SUM(
		"uncovered_bytes") " FROM pinned"
				   " WHERE holders > 0 AND holders > ? GROUP BY holders"
				   " ORDER BY holders LIMIT 1", /* > 0: lets SQLite use the partial index */
	[STATEMENT_SUM_PINNED] = "SELECT count(*), " DATABASE_SUM("bytes") ", " DATABASE_SUM(
		"uncovered_bytes") " FROM pinned"
				   " WHERE holders = 0 AND is_source = 0 AND cause BETWEEN ? AND ?",
	[STATEMENT_GET_HOLDERS] = "SELECT roots FROM holders WHERE id = ?",
	[STATEMENT_DROP_PINNED] = "DELETE FROM pinned WHERE address = ?",
	[STATEMENT_NEXT_PINNED] = "SELECT " PINNED_COLUMNS " FROM pinned WHERE address >= ?"
				  " ORDER BY address LIMIT 1",
	[STATEMENT_NEXT_PINNED_BY] = "SELECT " PINNED_COLUMNS " FROM pinned"
				     " WHERE root = ? AND inode = ? AND address >= ?"
				     " ORDER BY address LIMIT 1",
	[STATEMENT_NEXT_PINNING_ROOT] = "SELECT root FROM pinned WHERE root >= ?"
					" ORDER BY root LIMIT 1",
	[STATEMENT_NEXT_PINNING_ROOT_FOR] = "SELECT root FROM pinned WHERE cause = ? AND root >= ?"
					    " ORDER BY root LIMIT 1",
	[STATEMENT_NEXT_PINNING_INODE] = "SELECT inode FROM pinned WHERE root = ? AND inode >= ?"
					 " ORDER BY inode LIMIT 1",
	[STATEMENT_PUT_KEPT_GROUP] = "INSERT OR REPLACE INTO kept_group"
				     " (digest, size_bytes, n_objects)"
				     " VALUES (?, ?, ?)",
	[STATEMENT_PUT_LOOSE_OBJECT] = "INSERT OR IGNORE INTO loose_object (id) VALUES (?)",
	[STATEMENT_FIND_LOOSE_OBJECT] = "SELECT id FROM loose_object WHERE id = ?",
	[STATEMENT_DROP_LOOSE_OBJECT] = "DELETE FROM loose_object WHERE id = ?",
};

const char *statement_sql(Statement statement)
{
	return sql[statement];
}
