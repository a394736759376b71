/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/export/anchor-export.h"

#include "cli/export/export-format.h"
#include "cli/export/object-directories.h"
#include "cli/export/parquet-file.h"
#include "cli/terminal/progress-line.h"
#include "common/mounts/mount-table.h"
#include "hashstore/anchors/anchor-cursor.h"
#include "hashstore/database/store-snapshot.h"
#include "kernel-ioctl/btrfs/btrfs-info.h"
#include "kernel-ioctl/call/fd.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SCHEMA  "dedupd-anchors"
#define VERSION 2 /* 1 had digests of 64 bits */

/* A file of anchors has about so many, or the rest: an interrupted export loses no more. */
#define PART_ANCHORS (UINT64_C(16) << 20)

/* The first and the end of the ids of its objects, and the last digest in it. */
#define PART_FORMAT "anchors-%010" PRIu32 "-%010" PRIu32 "-%016" PRIx64 ".parquet"
#define PART_SCAN   "anchors-%10" SCNu32 "-%10" SCNu32 "-%16" SCNx64 ".parquet"

enum { ANCHOR_DIGEST, ANCHOR_OBJECT, ANCHOR_BLOCK };

static const ParquetColumn anchor_columns[] = {
	[ANCHOR_DIGEST] = { "digest", PARQUET_INT64 },
	[ANCHOR_OBJECT] = { "object", PARQUET_INT64 },
	[ANCHOR_BLOCK] = { "block", PARQUET_INT64 },
};

enum {
	OBJECT_ID,
	OBJECT_DIGEST,
	OBJECT_BLOCKS,
	OBJECT_WHOLE_BLOCKS,
	OBJECT_UNREAD,
	OBJECT_DIRECTORY
};

static const ParquetColumn object_columns[] = {
	[OBJECT_ID] = { "object", PARQUET_INT64 },
	[OBJECT_DIGEST] = { "digest", PARQUET_INT64 },
	[OBJECT_BLOCKS] = { "blocks", PARQUET_INT64 },
	/* Blocks of data of an object that can have no anchors: its digest stands for them. */
	[OBJECT_WHOLE_BLOCKS] = { "whole_blocks", PARQUET_INT64 },
	[OBJECT_UNREAD] = { "unread_blocks", PARQUET_INT64 },
	[OBJECT_DIRECTORY] = { "directory", PARQUET_TEXT },
};

/* Objects of an export: their ids lie from @from to below @to.  Digests up to @done are written. */
typedef struct {
	uint32_t from;
	uint32_t to;
	uint64_t done;
} Range;

typedef struct {
	HashStore *store; /* not owned */
	StoreSnapshot *snapshot;
	char *directory;
	BtrfsInfo info; /* of a btrfs filesystem */
	int fd;         /* its directory, or -1 */
	AnchorExport *result;
	ProgressLine progress;
} Writer;

static void writer_clear(Writer *writer)
{
	progress_line_end(&writer->progress);
	store_snapshot_free(writer->snapshot);
	g_free(writer->directory);
	fd_close(&writer->fd);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Writer, writer_clear)

static char *file_of(const Writer *writer, const char *name)
{
	return g_build_filename(writer->directory, name, NULL);
}

static void show_progress(Writer *writer)
{
	if (progress_line_is_due(&writer->progress))
		progress_line_show(&writer->progress, "%" PRIu64 " objects, %" PRIu64 " anchors",
				   writer->result->n_objects, writer->result->n_anchors);
}

/* Below which id the last export had all objects; 1: there was none. */
static bool read_cursor(const Writer *writer, uint32_t *ret, GError **error)
{
	g_autofree char *path = file_of(writer, "store.json");
	g_autoptr(json_t) head = NULL;
	json_error_t cause;
	uint64_t cursor;

	*ret = 1;
	if (!g_file_test(path, G_FILE_TEST_EXISTS))
		return true;
	head = json_load_file(path, 0, &cause);
	if (head && json_integer_value(json_object_get(head, "version")) == VERSION &&
	    export_number_read(head, "cursor", UINT32_MAX, &cursor, NULL) && cursor > 0) {
		*ret = (uint32_t)cursor;
		return true;
	}

	return export_refuse(error, "%s was not written by this version: delete %s to begin anew",
			     path, writer->directory);
}

/* Go on with an export that was interrupted: the ids stay, and so do its complete files. */
static void find_parts(const Writer *writer, Range *range)
{
	g_autoptr(GDir) files = g_dir_open(writer->directory, 0, NULL);
	const char *name;
	Range part;

	while (files && (name = g_dir_read_name(files))) {
		if (!g_str_has_suffix(name, ".parquet") ||
		    sscanf(name, PART_SCAN, &part.from, &part.to, &part.done) != 3 ||
		    part.from != range->from)
			continue;
		range->to = part.to;
		range->done = MAX(range->done, part.done);
	}
}

static ParquetFile *begin_part(const Writer *writer, GError **error)
{
	g_autofree char *path = file_of(writer, "part.parquet.new");

	return parquet_file_new(path, anchor_columns, G_N_ELEMENTS(anchor_columns), error);
}

/* The name says what the file turned out to contain. */
static bool end_part(const Writer *writer, ParquetFile *part, const Range *range, GError **error)
{
	g_autofree char *name = g_strdup_printf(PART_FORMAT, range->from, range->to, range->done);
	g_autofree char *path = file_of(writer, name);

	return parquet_file_finish(part, path, error);
}

/* Anchors of one digest lie in one part, since its name has the last digest. */
static bool put_anchor(Writer *writer, ParquetFile **part, Range *range, const Anchor *anchor,
		       GError **error)
{
	if (parquet_file_rows(*part) >= PART_ANCHORS && anchor->digest != range->done) {
		if (!end_part(writer, *part, range, error))
			return false;
		parquet_file_free(*part);
		*part = begin_part(writer, error);
		if (!*part)
			return false;
	}

	parquet_file_put_number(*part, ANCHOR_DIGEST, (int64_t)anchor->digest);
	parquet_file_put_number(*part, ANCHOR_OBJECT, anchor->object);
	parquet_file_put_number(*part, ANCHOR_BLOCK, anchor->block);
	range->done = anchor->digest;
	writer->result->n_anchors++;
	return parquet_file_end_row(*part, error);
}

/* Whole objects have their digests in the list of objects. */
static bool is_wanted(const Anchor *anchor, const Range *range, uint64_t done)
{
	return anchor->block != ANCHOR_WHOLE_BLOCK && anchor->object >= range->from &&
	       anchor->object < range->to && (done == 0 || anchor->digest > done);
}

static bool write_anchors(Writer *writer, Range *range, GError **error)
{
	g_autoptr(AnchorCursor) cursor = anchor_cursor_open_in(writer->snapshot, error);
	g_autoptr(ParquetFile) part = cursor ? begin_part(writer, error) : NULL;
	const uint64_t done = range->done;
	const Anchor *anchors;
	size_t n;

	if (!part)
		return false;
	do {
		if (!anchor_cursor_next(cursor, &anchors, &n, error))
			return false;
		for (size_t i = 0; i < n; i++)
			if (is_wanted(&anchors[i], range, done) &&
			    !put_anchor(writer, &part, range, &anchors[i], error))
				return false;
		show_progress(writer);
	} while (n > 0);

	range->done = UINT64_MAX;
	return end_part(writer, part, range, error);
}

/* All anchors of objects from *cursor to the store's next one. */
static bool write_new_anchors(Writer *writer, uint32_t *cursor, GError **error)
{
	uint32_t end = hash_store_next_object(writer->store);

	while (*cursor < end) {
		Range range = { .from = *cursor, .to = end };

		find_parts(writer, &range);
		if (range.done < UINT64_MAX && !write_anchors(writer, &range, error))
			return false;
		*cursor = range.to;
	}
	return true;
}

static int64_t blocks_of(const HashStoreAbout *about, uint64_t bytes)
{
	return (int64_t)(bytes / about->block_bytes + (bytes % about->block_bytes != 0));
}

/* Files that rely on others, and extents in stretches, have no data of their own. */
static bool is_of_another(const Object *object, bool has_extents)
{
	return object->stand != 0 ||
	       (has_extents && object->subvolume == OBJECT_EXTENTS && object->parent != 0);
}

/* Blocks of data for which no anchor can stand: a longer object without anchors has zeros and holes. */
static int64_t whole_blocks(const Writer *writer, const Object *object)
{
	const HashStoreAbout *about = hash_store_about(writer->store);
	bool has_extents = hash_store_has_extents(writer->store);
	bool is_extent = has_extents && object->subvolume == OBJECT_EXTENTS;
	int64_t blocks = blocks_of(about, object->size_bytes);

	if (object->state != OBJECT_DONE || is_of_another(object, has_extents) ||
	    (!(object->flags & OBJECT_WHOLE) && blocks >= about->anchor_blocks))
		return 0;
	if (is_extent)
		blocks -= (int64_t)object_extent_zero_bytes(object) / about->block_bytes;
	return blocks;
}

static bool put_object(Writer *writer, ParquetFile *file, ObjectDirectories *directories,
		       const Object *object, GError **error)
{
	int64_t blocks = blocks_of(hash_store_about(writer->store), object->size_bytes);
	const char *directory = object_directories_find(directories, object);

	if (!directory)
		return true;
	parquet_file_put_number(file, OBJECT_ID, object->id);
	parquet_file_put_number(file, OBJECT_DIGEST, (int64_t)object->digest);
	parquet_file_put_number(file, OBJECT_BLOCKS, blocks);
	parquet_file_put_number(file, OBJECT_WHOLE_BLOCKS, whole_blocks(writer, object));
	parquet_file_put_number(file, OBJECT_UNREAD, object->state == OBJECT_DONE ? 0 : blocks);
	parquet_file_put_text(file, OBJECT_DIRECTORY, directory);
	writer->result->n_objects++;
	writer->result->n_halves += object->state == OBJECT_HALF;
	show_progress(writer);
	return parquet_file_end_row(file, error);
}

/* All objects below @end: the anchors of those that are gone count no more. */
static bool write_objects(Writer *writer, uint32_t end, GError **error)
{
	g_autofree char *made = file_of(writer, "objects.parquet.new");
	g_autofree char *path = file_of(writer, "objects.parquet");
	g_autoptr(ObjectCursor) cursor = object_cursor_open_in(writer->snapshot, error);
	g_autoptr(ObjectDirectories) directories = NULL;
	g_autoptr(ParquetFile) file = NULL;
	const Object *object;

	if (!cursor)
		return false;
	directories = object_directories_new(writer->store, writer->fd, error);
	if (!directories)
		return false;
	file = parquet_file_new(made, object_columns, G_N_ELEMENTS(object_columns), error);
	if (!file)
		return false;

	while (object_cursor_next(cursor, &object, error)) {
		if (!object)
			return parquet_file_finish(file, path, error);
		if (object->id < end && !put_object(writer, file, directories, object, error))
			return false;
	}
	return false;
}

/* The data from which sums are made: only equal kinds can be compared. */
static const char *sums_text(const Writer *writer)
{
	static const char *const names[] = {
		[BTRFS_CHECKSUM_CRC32C] = "crc32c",   [BTRFS_CHECKSUM_XXHASH64] = "xxhash64",
		[BTRFS_CHECKSUM_SHA256] = "sha256",   [BTRFS_CHECKSUM_BLAKE2B] = "blake2b",
		[BTRFS_CHECKSUM_UNKNOWN] = "unknown",
	};

	return hash_store_has_extents(writer->store) ? names[writer->info.checksum] : "crc32c";
}

static bool write_head(const Writer *writer, uint32_t cursor, GError **error)
{
	const HashStoreAbout *about = hash_store_about(writer->store);
	g_autofree char *path = file_of(writer, "store.json");
	g_autofree char *host = g_utf8_make_valid(g_get_host_name(), -1);
	g_autoptr(json_t) head = json_pack(
		"{ss si sI ss ss ss ss si si si ss sI sI}", "schema", SCHEMA, "version", VERSION,
		"store", (json_int_t)about->number, "host", host, "filesystem", about->uuid, "kind",
		about->kind, "sums", sums_text(writer), "block_bytes", (int)about->block_bytes,
		"anchor_blocks", (int)about->anchor_blocks, "window_anchors",
		(int)about->window_anchors, "fleet_key", about->fleet_key, "cursor",
		(json_int_t)cursor, "exported_usec", (json_int_t)g_get_real_time());
	g_autofree char *text = json_dumps(head, JSON_INDENT(1));

	return g_file_set_contents_full(path, text, -1, G_FILE_SET_CONTENTS_CONSISTENT, 0600,
					error);
}

static bool open_filesystem(Writer *writer, GError **error)
{
	const char *uuid = hash_store_about(writer->store)->uuid;
	g_autoptr(MountTable) mounts = NULL;

	if (!hash_store_has_extents(writer->store))
		return true;
	mounts = mount_table_read(NULL, NULL, NULL, error);
	if (!mounts)
		return false;
	writer->fd = mount_table_open_uuid(mounts, uuid);
	if (writer->fd >= 0)
		return btrfs_info_read(writer->fd, &writer->info, error);
	return export_refuse(error, "%s is not mounted: dedupctl looks up the paths of btrfs there",
			     uuid);
}

static bool make_directory(Writer *writer, const char *above, GError **error)
{
	g_autofree char *name =
		g_strdup_printf("store=%" PRIu64, hash_store_about(writer->store)->number);

	writer->directory = g_build_filename(above, name, NULL);
	if (g_mkdir_with_parents(writer->directory, 0700) == 0)
		return true;
	g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(errno),
		    "cannot make the directory %s: %s", writer->directory, g_strerror(errno));
	return false;
}

bool anchor_export_write(HashStore *store, const char *directory, AnchorExport *ret, GError **error)
{
	g_auto(Writer) writer = { .store = store, .fd = -1, .result = ret };
	uint32_t cursor;

	*ret = (AnchorExport){ 0 };
	if (hash_store_about(store)->fleet_key[0] == '\0')
		return export_refuse(error,
				     "the store %s was made without a fleet's key, so its anchors "
				     "equal those of no other: see FleetKey= in dedupd.conf(5)",
				     hash_store_path(store));

	writer.snapshot = store_snapshot_take(store, error);
	return writer.snapshot && open_filesystem(&writer, error) &&
	       make_directory(&writer, directory, error) && read_cursor(&writer, &cursor, error) &&
	       write_new_anchors(&writer, &cursor, error) &&
	       write_objects(&writer, cursor, error) && write_head(&writer, cursor, error);
}
