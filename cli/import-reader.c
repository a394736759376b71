/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/import-reader.h"

#include "cli/export-writer.h"
#include "cli/object-index.h"
#include "cli/object-line.h"
#include "cli/progress-line.h"
#include "daemon/name-text.h"
#include "daemon/winnow.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define LINE_BYTES_MOST ((size_t)1 << 20)

#define MEMORY_BYTES ((size_t)64 << 20)

/* What waits in the store's WAL is bounded by committing so often. */
#define COMMIT_LINES (1 << 20)

#define BLOCK_BYTES_LEAST 512
#define BLOCK_BYTES_MOST  65536

struct ImportReader {
	/* Set at creation, never changed. */
	FILE *file; /* not owned */
	char *name;
	char *directory;
	bool replace;

	char *text; /* of the line, LINE_BYTES_MOST and a NUL */
	uint64_t n_lines;
	GByteArray *bytes; /* the name in the line */
	ProgressLine progress;

	/* Of the store that is being made. */
	HashStoreAbout about;
	bool has_extents;
	StoreImport *import;
	ObjectIndex *index;
	bool is_sorted; /* anchors came: no more objects may */
	uint64_t n_directories;
	uint64_t n_objects;
	uint64_t n_anchors;
};

typedef bool (*TakeLine)(ImportReader *reader, const json_t *line, GError **error);

ImportReader *import_reader_new(FILE *file, const char *name, const char *directory, bool replace)
{
	ImportReader *reader = g_new0(ImportReader, 1);

	reader->file = file;
	reader->name = g_strdup(name);
	reader->directory = g_strdup(directory);
	reader->replace = replace;
	reader->text = g_malloc(LINE_BYTES_MOST + 1);
	reader->bytes = g_byte_array_new();
	return reader;
}

/* Forget the store that was being made. */
static void end_store(ImportReader *reader)
{
	g_clear_pointer(&reader->index, object_index_free);
	g_clear_pointer(&reader->import, store_import_free);
	progress_line_end(&reader->progress);
}

void import_reader_free(ImportReader *reader)
{
	if (!reader)
		return;

	end_store(reader);
	g_byte_array_unref(reader->bytes);
	g_free(reader->text);
	g_free(reader->directory);
	g_free(reader->name);
	g_free(reader);
}

void imported_clear(Imported *imported)
{
	g_clear_pointer(&imported->aside, g_free);
}

static bool set_wrong(GError **error, const char *what)
{
	g_set_error_literal(error, G_FILE_ERROR, G_FILE_ERROR_INVAL, what);
	return false;
}

/* The next line that is not empty; NULL at the end, and when it cannot be read. */
static json_t *read_line(ImportReader *reader, GError **error)
{
	json_error_t cause;
	size_t length;
	json_t *line;

	do {
		if (!fgets(reader->text, (int)LINE_BYTES_MOST + 1, reader->file)) {
			if (ferror(reader->file))
				set_wrong(error, g_strerror(errno));
			return NULL;
		}
		reader->n_lines++;
		length = strlen(reader->text);
		if (length == LINE_BYTES_MOST) {
			set_wrong(error, "it is longer than 1 MiB");
			return NULL;
		}
	} while (strcmp(reader->text, "\n") == 0);

	line = json_loadb(reader->text, length, JSON_REJECT_DUPLICATES, &cause);
	if (line && json_is_object(line))
		return line;
	json_decref(line);
	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "it is no JSON object%s%s",
		    line ? "" : ": ", line ? "" : cause.text);
	return NULL;
}

static bool take_secret(const json_t *line, uint8_t *ret, GError **error)
{
	const char *text = json_string_value(json_object_get(line, "secret"));

	if (!text || strlen(text) != (size_t)2 * HASH_STORE_SECRET_BYTES)
		return set_wrong(error, "\"secret\" is not 384 hexadecimal digits");
	for (size_t i = 0; i < HASH_STORE_SECRET_BYTES; i++) {
		int high = g_ascii_xdigit_value(text[2 * i]);
		int low = g_ascii_xdigit_value(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return set_wrong(error, "\"secret\" is not 384 hexadecimal digits");
		ret[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

/* A number of the head, which must not lack. */
static bool take_number(const json_t *line, const char *name, uint32_t least, uint32_t most,
			uint32_t *ret, GError **error)
{
	uint64_t number;

	if (!number_from_json(line, name, most, &number, error))
		return false;
	*ret = (uint32_t)number;
	if (number >= least)
		return true;

	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "\"%s\" is not from %u to %u", name,
		    least, most);
	return false;
}

static bool take_schema(const json_t *line, GError **error)
{
	const char *schema = json_string_value(json_object_get(line, "schema"));
	json_int_t version = json_integer_value(json_object_get(line, "version"));

	if (g_strcmp0(schema, EXPORT_SCHEMA) != 0)
		return set_wrong(error, "no store begins with it: \"schema\" is not "
					"\"" EXPORT_SCHEMA "\"");
	if (version == EXPORT_VERSION)
		return true;

	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
		    "its version is %" JSON_INTEGER_FORMAT ", and this dedupctl reads %d", version,
		    EXPORT_VERSION);
	return false;
}

static bool take_about(const json_t *line, HashStoreAbout *ret, GError **error)
{
	const char *uuid = text_from_json(line, "uuid", error);
	const char *kind = uuid ? text_from_json(line, "kind", error) : NULL;

	if (!kind)
		return false;
	if (!g_uuid_string_is_valid(uuid))
		return set_wrong(error, "\"uuid\" is not the UUID of a filesystem");
	if (strcmp(kind, "btrfs") != 0 && strcmp(kind, "XFS") != 0)
		return set_wrong(error, "\"kind\" is not \"btrfs\" or \"XFS\"");
	g_strlcpy(ret->uuid, uuid, sizeof(ret->uuid));
	g_strlcpy(ret->kind, kind, sizeof(ret->kind));

	if (!take_number(line, "block_bytes", BLOCK_BYTES_LEAST, BLOCK_BYTES_MOST,
			 &ret->block_bytes, error) ||
	    !take_number(line, "anchor_blocks", 1, WINNOW_ANCHOR_BLOCKS_MAX, &ret->anchor_blocks,
			 error) ||
	    !take_number(line, "window_anchors", 2, WINNOW_WINDOW_MAX, &ret->window_anchors, error))
		return false;
	if ((ret->block_bytes & (ret->block_bytes - 1)) != 0)
		return set_wrong(error, "\"block_bytes\" is not a power of two");
	return take_secret(line, ret->secret, error);
}

static bool begin_store(ImportReader *reader, const json_t *line, GError **error)
{
	if (!take_schema(line, error) || !take_about(line, &reader->about, error))
		return false;

	reader->has_extents = strcmp(reader->about.kind, "btrfs") == 0;
	reader->import = store_import_begin(reader->directory, &reader->about, reader->replace,
					    MEMORY_BYTES, error);
	reader->index = object_index_new(reader->about.block_bytes);
	reader->is_sorted = false;
	reader->n_directories = 0;
	reader->n_objects = 0;
	reader->n_anchors = 0;
	return reader->import;
}

static bool take_directory(ImportReader *reader, const json_t *line, GError **error)
{
	DirectoryName directory;

	reader->n_directories++;
	return directory_line_read(line, reader->bytes, &directory, error) &&
	       hash_store_put_directory(store_import_store(reader->import), &directory, error);
}

static bool take_object(ImportReader *reader, const json_t *line, GError **error)
{
	Object object;
	bool is_new;

	if (reader->is_sorted)
		return set_wrong(error, "an object follows anchors");
	if (!object_line_read(line, reader->has_extents, reader->bytes, &object, error) ||
	    !store_import_put(reader->import, &object, &is_new, error))
		return false;
	if (!is_new)
		return set_wrong(error,
				 "an earlier line has the same id, or the same file or extent");

	object_index_add(reader->index, object.id, object.size_bytes);
	reader->n_objects++;
	return true;
}

static bool take_place(ImportReader *reader, uint64_t digest, const json_t *place, GError **error)
{
	const json_t *id = json_array_get(place, 0);
	const json_t *block = json_array_get(place, 1);
	json_int_t number = json_is_null(block) ? ANCHOR_WHOLE_BLOCK : json_integer_value(block);
	Anchor anchor;

	if (json_array_size(place) != 2 || !json_is_integer(id) ||
	    !(json_is_integer(block) || json_is_null(block)))
		return set_wrong(error, "\"at\" has something else than an id and a block");

	anchor = (Anchor){ .digest = digest,
			   .object = (uint32_t)json_integer_value(id),
			   .block = (uint32_t)number };
	if (anchor.object != json_integer_value(id) || anchor.block != number ||
	    !object_index_has_block(reader->index, anchor.object, anchor.block))
		return set_wrong(error, "\"at\" has a block that no object has");

	reader->n_anchors++;
	return hash_store_put_anchor(store_import_store(reader->import), &anchor, error);
}

static bool take_places(ImportReader *reader, uint64_t digest, const json_t *line, GError **error)
{
	const json_t *places = json_object_get(line, "at");

	if (!json_is_array(places))
		return set_wrong(error, "\"at\" is not an array");
	if (!reader->is_sorted)
		object_index_sort(reader->index);
	reader->is_sorted = true;

	for (size_t i = 0; i < json_array_size(places); i++)
		if (!take_place(reader, digest, json_array_get(places, i), error))
			return false;
	return true;
}

static bool take_anchors(ImportReader *reader, const json_t *line, GError **error)
{
	uint64_t digest;

	if (!digest_from_json(json_object_get(line, "digest"), &digest) ||
	    digest == ANCHOR_ZEROS_DIGEST)
		return set_wrong(error, "\"digest\" is not 16 hexadecimal digits");
	return take_places(reader, digest, line, error);
}

static bool take_zeros(ImportReader *reader, const json_t *line, GError **error)
{
	return take_places(reader, ANCHOR_ZEROS_DIGEST, line, error);
}

static bool take_store(ImportReader *reader, const json_t *line, GError **error)
{
	return set_wrong(error, "another store begins before the end of this one");
}

static const struct {
	const char *type;
	TakeLine take;
} takers[] = {
	{ "store", take_store },
	{ "directory", take_directory },
	{ "anchors", take_anchors },
	{ "zeros", take_zeros },
};

static bool take_line(ImportReader *reader, const char *type, const json_t *line, GError **error)
{
	if (object_line_is_type(type))
		return take_object(reader, line, error);
	for (size_t i = 0; i < G_N_ELEMENTS(takers); i++)
		if (strcmp(takers[i].type, type) == 0)
			return takers[i].take(reader, line, error);

	g_autofree char *text = name_text(type, strlen(type));
	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "its type \"%s\" is not known", text);
	return false;
}

static bool check_count(const json_t *line, const char *name, uint64_t counted, GError **error)
{
	uint64_t said;

	if (!number_from_json(line, name, INT64_MAX, &said, error))
		return false;
	if (said == counted)
		return true;

	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
		    "it says that there are %" PRIu64 " %s, and %" PRIu64 " were read", said, name,
		    counted);
	return false;
}

static bool finish_store(ImportReader *reader, const json_t *line, Imported *ret, GError **error)
{
	if (!check_count(line, "directories", reader->n_directories, error) ||
	    !check_count(line, "objects", reader->n_objects, error) ||
	    !check_count(line, "anchors", reader->n_anchors, error))
		return false;

	memcpy(ret->uuid, reader->about.uuid, sizeof(ret->uuid));
	ret->n_objects = reader->n_objects;
	ret->n_anchors = reader->n_anchors;
	return store_import_finish(reader->import, &ret->aside, error);
}

static bool keep_going(ImportReader *reader, GError **error)
{
	if (progress_line_is_due(&reader->progress))
		progress_line_show(&reader->progress, "%" PRIu64 " objects, %" PRIu64 " anchors",
				   reader->n_objects, reader->n_anchors);

	return reader->n_lines % COMMIT_LINES != 0 ||
	       hash_store_commit(store_import_store(reader->import), error);
}

/* Unless the line could not be read, which has its own error. */
static bool cut_short(GError **error)
{
	return !*error && set_wrong(error, "the store has no end: the file was cut short");
}

/* All lines of one store, to its end. */
static bool read_store(ImportReader *reader, Imported *ret, bool *ret_found, GError **error)
{
	g_autoptr(json_t) head = read_line(reader, error);

	*ret_found = head;
	if (!head)
		return !*error;
	if (!begin_store(reader, head, error))
		return false;

	while (true) {
		g_autoptr(json_t) line = read_line(reader, error);
		const char *type;

		if (!line)
			return cut_short(error);
		type = text_from_json(line, "type", error);
		if (!type)
			return false;
		if (strcmp(type, "end") == 0)
			return finish_store(reader, line, ret, error);
		if (!take_line(reader, type, line, error) || !keep_going(reader, error))
			return false;
	}
}

bool import_reader_next(ImportReader *reader, Imported *ret, bool *ret_found, GError **error)
{
	GError *cause = NULL;
	bool is_read;

	*ret = (Imported){ 0 };
	is_read = read_store(reader, ret, ret_found, &cause);
	end_store(reader);
	if (is_read)
		return true;

	g_propagate_error(error, cause);
	/* What the store says of itself names its file. */
	if (g_error_matches(cause, G_FILE_ERROR, G_FILE_ERROR_INVAL))
		g_prefix_error(error, "%s, line %" PRIu64 ": ", reader->name, reader->n_lines);
	return false;
}
