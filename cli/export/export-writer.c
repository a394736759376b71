/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/export/export-writer.h"

#include "cli/export/export-format.h"
#include "cli/export/object-index.h"
#include "cli/export/object-line.h"
#include "cli/terminal/progress-line.h"
#include "common/text/name-text.h"
#include "hashstore/anchors/anchor-cursor.h"
#include "hashstore/database/store-snapshot.h"

#include <stdio.h>
#include <string.h>

typedef struct {
	HashStore *store; /* not owned */
	StoreSnapshot *snapshot;
	ObjectIndex *index; /* of the exported objects */
	/* The directory looked up last, since files of one directory follow each other. */
	char *path;
	uint64_t path_subvolume;
	uint64_t path_inode;
	/* Counters of printed lines. */
	uint64_t n_directories;
	uint64_t n_objects;
	uint64_t n_anchors;
	/* The line of anchors that is being filled. */
	uint64_t digest;
	json_t *places;
	ProgressLine progress;
} Writer;

static void writer_clear(Writer *writer)
{
	progress_line_end(&writer->progress);
	json_decref(writer->places);
	g_free(writer->path);
	object_index_free(writer->index);
	store_snapshot_free(writer->snapshot);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Writer, writer_clear)

static void print_take(json_t *line)
{
	json_dumpf(line, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(line);
}

static void show_progress(Writer *writer)
{
	if (progress_line_is_due(&writer->progress))
		progress_line_show(&writer->progress,
				   "%" G_GUINT64_FORMAT " objects, %" G_GUINT64_FORMAT " anchors",
				   writer->n_objects, writer->n_anchors);
}

static void print_head(const Writer *writer)
{
	const HashStoreAbout *about = hash_store_about(writer->store);
	GString *secret = g_string_sized_new(2 * HASH_STORE_SECRET_BYTES);
	json_t *line =
		json_pack("{ss si ss ss ss si si si}", "schema", EXPORT_SCHEMA, "version",
			  EXPORT_VERSION, "type", "store", "uuid", about->uuid, "kind", about->kind,
			  "block_bytes", (int)about->block_bytes, "anchor_blocks",
			  (int)about->anchor_blocks, "window_anchors", (int)about->window_anchors);

	for (size_t i = 0; i < HASH_STORE_SECRET_BYTES; i++)
		g_string_append_printf(secret, "%02x", about->secret[i]);
	json_object_set_new(line, "secret", json_string(secret->str));
	if (about->fleet_key[0])
		json_object_set_new(line, "fleet_key", json_string(about->fleet_key));
	g_string_free(secret, TRUE);
	print_take(line);
}

static bool print_directories(Writer *writer, GError **error)
{
	g_autoptr(DirectoryCursor) cursor = directory_cursor_open_in(writer->snapshot, error);
	const DirectoryName *directory;

	if (!cursor)
		return false;
	while (!ferror(stdout)) {
		if (!directory_cursor_next(cursor, &directory, error))
			return false;
		if (!directory)
			return true;
		print_take(directory_line_write(directory));
		writer->n_directories++;
		show_progress(writer);
	}
	return true;
}

/* The path at which the file was last seen, escaped. */
static char *path_of(Writer *writer, const Object *object)
{
	bool is_known = writer->path && writer->path_subvolume == object->subvolume &&
			writer->path_inode == object->parent;

	if (!is_known) {
		g_free(writer->path);
		writer->path =
			hash_store_directory_path(writer->store, object->subvolume, object->parent);
		writer->path_subvolume = object->subvolume;
		writer->path_inode = object->parent;
	}

	g_autofree char *name = g_strndup((const char *)object->name, object->name_bytes);
	g_autofree char *path = g_build_filename(writer->path, name, NULL);
	return name_text(path, strlen(path));
}

static bool print_objects(Writer *writer, GError **error)
{
	g_autoptr(ObjectCursor) cursor = object_cursor_open_in(writer->snapshot, error);
	const Object *object;

	if (!cursor)
		return false;
	while (!ferror(stdout)) {
		if (!object_cursor_next(cursor, &object, error))
			return false;
		if (!object)
			return true;
		if (!object_line_takes(object))
			continue;

		g_autofree char *path = object->name_bytes > 0 ? path_of(writer, object) : NULL;
		print_take(object_line_write(object, hash_store_has_extents(writer->store), path));
		object_index_add(writer->index, object->id, object->size_bytes, object->id);
		writer->n_objects++;
		show_progress(writer);
	}
	return true;
}

static void print_places(Writer *writer)
{
	json_t *line;

	if (json_array_size(writer->places) == 0)
		return;

	line = json_object();
	if (writer->digest == ANCHOR_ZEROS_DIGEST) {
		json_object_set_new(line, "type", json_string("zeros"));
	} else {
		json_object_set_new(line, "type", json_string("anchors"));
		json_object_set_new(line, "digest", export_digest_new(writer->digest));
	}
	json_object_set(line, "at", writer->places);
	print_take(line);
	json_array_clear(writer->places);
}

static void add_place(Writer *writer, const Anchor *anchor)
{
	json_t *place = json_array();

	if (anchor->digest != writer->digest ||
	    json_array_size(writer->places) == EXPORT_PLACES_MOST)
		print_places(writer);
	writer->digest = anchor->digest;

	json_array_append_new(place, json_integer(anchor->object));
	json_array_append_new(place, anchor->block == ANCHOR_WHOLE_BLOCK
					     ? json_null()
					     : json_integer(anchor->block));
	json_array_append_new(writer->places, place);
	writer->n_anchors++;
}

static bool print_anchors(Writer *writer, GError **error)
{
	g_autoptr(AnchorCursor) cursor = anchor_cursor_open_in(writer->snapshot, error);

	if (!cursor)
		return false;
	while (!ferror(stdout)) {
		const Anchor *anchors;
		uint32_t ignored;
		size_t n;

		if (!anchor_cursor_next(cursor, &anchors, &n, error))
			return false;
		if (n == 0)
			break;
		/* Anchors of objects that are gone, or are being read again, are left out. */
		for (size_t i = 0; i < n; i++)
			if (object_index_find(writer->index, anchors[i].object, anchors[i].block,
					      &ignored))
				add_place(writer, &anchors[i]);
		show_progress(writer);
	}
	print_places(writer);
	return true;
}

static void print_end(const Writer *writer)
{
	print_take(json_pack("{ss sI sI sI}", "type", "end", "directories",
			     (json_int_t)writer->n_directories, "objects",
			     (json_int_t)writer->n_objects, "anchors",
			     (json_int_t)writer->n_anchors));
}

bool export_write(HashStore *store, GError **error)
{
	const HashStoreAbout *about = hash_store_about(store);
	g_auto(Writer) writer = {
		.store = store,
		.snapshot = store_snapshot_take(store, error),
		.index = object_index_new(about->block_bytes),
		.places = json_array(),
	};

	if (!writer.snapshot)
		return false;

	print_head(&writer);
	if (!print_directories(&writer, error) || !print_objects(&writer, error))
		return false;
	(void)object_index_sort(writer.index);
	if (!print_anchors(&writer, error))
		return false;
	print_end(&writer);
	return true;
}
