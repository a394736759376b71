/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/export/import-reader.h"

#include "cli/export/export-format.h"
#include "cli/export/object-index.h"
#include "cli/export/object-line.h"
#include "cli/terminal/progress-line.h"
#include "common/content/fleet-key.h"
#include "common/content/winnow.h"
#include "common/text/name-text.h"
#include "hashstore/objects/stand-note.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define LINE_BYTES_MOST ((size_t)1 << 20)

#define MEMORY_BYTES ((size_t)64 << 20)

/* The number of lines per commit, which bounds the store's WAL. */
#define COMMIT_LINES (1 << 20)

struct ImportReader {
	/* Set at creation, never changed. */
	FILE *file; /* not owned */
	char *name;
	char *directory;
	bool replace;

	char *text; /* the line, LINE_BYTES_MOST */
	uint64_t n_lines;
	GByteArray *bytes; /* the name in the line */
	ProgressLine progress;

	/* The store that is being made. */
	HashStoreAbout about;
	StoreImport *import;
	ObjectIndex *index;
	bool is_sorted; /* anchors began, so no more objects may follow */
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
	reader->text = g_malloc(LINE_BYTES_MOST);
	reader->bytes = g_byte_array_new();
	return reader;
}

/* Drop the store that is being made. */
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

static bool is_blank(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!g_ascii_isspace(text[i]))
			return false;
	return true;
}

/* The next line, without its end, in reader->text; *ret_found is false at the end of the file. */
static bool read_text(ImportReader *reader, size_t *ret_length, bool *ret_found, GError **error)
{
	size_t length = 0;
	int character;

	while ((character = getc_unlocked(reader->file)) != EOF && character != '\n') {
		if (length < LINE_BYTES_MOST)
			reader->text[length] = (char)character;
		length++;
	}
	if (ferror(reader->file)) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_IO, "cannot read %s: %s",
			    reader->name, g_strerror(errno));
		return false;
	}

	reader->n_lines++;
	*ret_found = character != EOF || length > 0;
	*ret_length = length;
	return length <= LINE_BYTES_MOST || export_refuse(error, "it is longer than 1 MiB");
}

/* The next line that is not blank; NULL at the end, and if the line is invalid. */
static json_t *read_line(ImportReader *reader, GError **error)
{
	json_error_t cause;
	size_t length;
	json_t *line;
	bool found;

	do {
		if (!read_text(reader, &length, &found, error) || !found)
			return NULL;
	} while (is_blank(reader->text, length));

	line = json_loadb(reader->text, length, JSON_REJECT_DUPLICATES, &cause);
	if (line && json_is_object(line))
		return line;
	export_refuse(error, "it is no JSON object%s%s", line ? "" : ": ", line ? "" : cause.text);
	json_decref(line);
	return NULL;
}

static bool take_secret(const json_t *line, uint8_t *ret, GError **error)
{
	const char *text = json_string_value(json_object_get(line, "secret"));

	return (text && strlen(text) == (size_t)2 * HASH_STORE_SECRET_BYTES &&
		fleet_key_parse(text, ret)) ||
	       export_set_wrong("secret", "384 hexadecimal digits", error);
}

/* Read a required number of the head. */
static bool take_number(const json_t *line, const char *name, uint32_t least, uint32_t most,
			uint32_t *ret, GError **error)
{
	uint64_t number;

	if (!export_number_read(line, name, most, &number, error))
		return false;
	*ret = (uint32_t)number;
	if (number >= least)
		return true;

	return export_refuse(error, "\"%s\" is not from %u to %u", name, least, most);
}

static bool take_schema(const json_t *line, GError **error)
{
	const char *schema = json_string_value(json_object_get(line, "schema"));
	json_int_t version = json_integer_value(json_object_get(line, "version"));

	if (g_strcmp0(schema, EXPORT_SCHEMA) != 0)
		return export_refuse(error, "no store begins with it: \"schema\" is not "
					    "\"" EXPORT_SCHEMA "\"");
	if (version == EXPORT_VERSION)
		return true;

	return export_refuse(error,
			     "its version is %" JSON_INTEGER_FORMAT ", and this dedupctl reads %d",
			     version, EXPORT_VERSION);
}

/* Optional: the store has a fleet's key. */
static bool take_fleet_key(const json_t *line, HashStoreAbout *ret, GError **error)
{
	const json_t *value = json_object_get(line, "fleet_key");
	uint64_t ignored;

	ret->fleet_key[0] = '\0';
	if (!value)
		return true;
	if (!export_digest_read(value, &ignored))
		return export_set_wrong("fleet_key", "16 hexadecimal digits", error);
	g_strlcpy(ret->fleet_key, json_string_value(value), sizeof(ret->fleet_key));
	return true;
}

static bool take_about(const json_t *line, HashStoreAbout *ret, GError **error)
{
	const char *uuid = export_text_read(line, "uuid", error);
	const char *kind = uuid ? export_text_read(line, "kind", error) : NULL;

	if (!kind)
		return false;
	if (!g_uuid_string_is_valid(uuid))
		return export_set_wrong("uuid", "the UUID of a filesystem", error);
	if (strcmp(kind, "btrfs") != 0 && strcmp(kind, "XFS") != 0)
		return export_set_wrong("kind", "\"btrfs\" or \"XFS\"", error);
	/* Use the file name that passes use. */
	g_autofree char *lower = g_ascii_strdown(uuid, -1);
	g_strlcpy(ret->uuid, lower, sizeof(ret->uuid));
	g_strlcpy(ret->kind, kind, sizeof(ret->kind));

	if (!take_number(line, "block_bytes", HASH_STORE_BLOCK_BYTES_MIN,
			 HASH_STORE_BLOCK_BYTES_MAX, &ret->block_bytes, error) ||
	    !take_number(line, "anchor_blocks", 1, WINNOW_ANCHOR_BLOCKS_MAX, &ret->anchor_blocks,
			 error) ||
	    !take_number(line, "window_anchors", 2, WINNOW_WINDOW_MAX, &ret->window_anchors, error))
		return false;
	if ((ret->block_bytes & (ret->block_bytes - 1)) != 0)
		return export_set_wrong("block_bytes", "a power of two", error);
	return take_fleet_key(line, ret, error) && take_secret(line, ret->secret, error);
}

static bool begin_store(ImportReader *reader, const json_t *line, GError **error)
{
	if (!take_schema(line, error) || !take_about(line, &reader->about, error))
		return false;

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
	HashStore *store = store_import_store(reader->import);
	DirectoryName directory;
	const DirectoryName *same;

	if (!directory_line_read(line, reader->bytes, &directory, error) ||
	    !hash_store_find_directory(store, directory.subvolume, directory.inode, &same, error))
		return false;
	if (same)
		return export_refuse(error, "an earlier line has the same directory");

	reader->n_directories++;
	return hash_store_put_directory(store, &directory, error);
}

/* Assign new ids, so that the memory per id does not depend on the file. */
static bool take_object(ImportReader *reader, const json_t *line, GError **error)
{
	HashStore *store = store_import_store(reader->import);
	const Object *same;
	Object object;
	uint32_t id;

	if (reader->is_sorted)
		return export_refuse(error, "an object follows anchors");
	if (!object_line_read(line, hash_store_has_extents(store), reader->bytes, &object, error) ||
	    !hash_store_find_at(store, object.subvolume, object.inode, &same, error))
		return false;
	if (same)
		return export_refuse(error, "an earlier line has the same file or extent");

	id = object.id;
	if (!hash_store_new_object(store, &object.id, error) ||
	    (object.stand != 0 && !stand_note_expect(store, error)))
		return false;
	object_index_add(reader->index, id, object.size_bytes, object.id);
	reader->n_objects++;
	return hash_store_put(store, &object, error);
}

/* No more objects come. */
static bool sort_objects(ImportReader *reader, GError **error)
{
	uint32_t twice = reader->is_sorted ? 0 : object_index_sort(reader->index);

	reader->is_sorted = true;
	if (twice == 0)
		return true;

	return export_refuse(error, "two of the objects before it have the id %u", twice);
}

/* Read one of the two numbers of a place, if it fits. */
static bool read_half(const json_t *place, size_t which, uint32_t *ret)
{
	const json_t *half = json_array_get(place, which);
	json_int_t number =
		json_is_null(half) && which == 1 ? ANCHOR_WHOLE_BLOCK : json_integer_value(half);

	*ret = (uint32_t)number;
	return (json_is_integer(half) || (json_is_null(half) && which == 1)) && *ret == number;
}

static bool take_place(ImportReader *reader, uint64_t digest, const json_t *place, GError **error)
{
	Anchor anchor = { .digest = digest };
	uint32_t id;

	if (json_array_size(place) != 2 || !read_half(place, 0, &id) ||
	    !read_half(place, 1, &anchor.block))
		return export_set_wrong("at", "of ids and blocks alone", error);
	if (!object_index_find(reader->index, id, anchor.block, &anchor.object) ||
	    (anchor.block == ANCHOR_WHOLE_BLOCK && digest == ANCHOR_ZEROS_DIGEST))
		return export_refuse(error, "\"at\" has a block that no object has");

	reader->n_anchors++;
	return hash_store_put_anchor(store_import_store(reader->import), &anchor, error);
}

static bool take_places(ImportReader *reader, uint64_t digest, const json_t *line, GError **error)
{
	const json_t *places = json_object_get(line, "at");

	if (!json_is_array(places))
		return export_set_wrong("at", "an array", error);
	if (!sort_objects(reader, error))
		return false;

	for (size_t i = 0; i < json_array_size(places); i++)
		if (!take_place(reader, digest, json_array_get(places, i), error))
			return false;
	return true;
}

static bool take_anchors(ImportReader *reader, const json_t *line, GError **error)
{
	uint64_t digest;

	if (!export_digest_read(json_object_get(line, "digest"), &digest) ||
	    digest == ANCHOR_ZEROS_DIGEST)
		return export_set_wrong("digest", "16 hexadecimal digits", error);
	return take_places(reader, digest, line, error);
}

static bool take_zeros(ImportReader *reader, const json_t *line, GError **error)
{
	return take_places(reader, ANCHOR_ZEROS_DIGEST, line, error);
}

static bool take_store(ImportReader *reader, const json_t *line, GError **error)
{
	return export_refuse(error, "another store begins before the end of this one");
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
	return export_refuse(error, "its type \"%s\" is not known", text);
}

static bool check_count(const json_t *line, const char *name, uint64_t counted, GError **error)
{
	uint64_t said;

	if (!export_number_read(line, name, INT64_MAX, &said, error))
		return false;
	if (said == counted)
		return true;

	return export_refuse(error,
			     "it says that there are %" PRIu64 " %s, and %" PRIu64 " were read",
			     said, name, counted);
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

/* Keep the error of a line that could not be read. */
static bool cut_short(GError **error)
{
	return !*error && export_refuse(error, "the store has no end: the file was cut short");
}

/* Read one more line of the store; *ret_is_end: it was the last one. */
static bool read_part(ImportReader *reader, Imported *ret, bool *ret_is_end, GError **error)
{
	g_autoptr(json_t) line = read_line(reader, error);
	const char *type;

	if (!line)
		return cut_short(error);
	type = export_text_read(line, "type", error);
	if (!type)
		return false;
	*ret_is_end = strcmp(type, "end") == 0;
	if (*ret_is_end)
		return finish_store(reader, line, ret, error);

	return take_line(reader, type, line, error) && keep_going(reader, error);
}

/* Read all lines of one store. */
static bool read_store(ImportReader *reader, Imported *ret, bool *ret_found, bool *ret_is_end,
		       GError **error)
{
	g_autoptr(json_t) head = read_line(reader, error);

	*ret_found = head;
	if (!head)
		return !*error;
	if (!begin_store(reader, head, error))
		return false;

	while (!*ret_is_end)
		if (!read_part(reader, ret, ret_is_end, error))
			return false;
	return true;
}

/* Skip the remaining lines of a store that is not imported, without checking them. */
static void pass_over(ImportReader *reader)
{
	bool is_end = false;

	while (!is_end && !feof(reader->file) && !ferror(reader->file)) {
		g_autoptr(json_t) line = read_line(reader, NULL);

		is_end = g_strcmp0(json_string_value(json_object_get(line, "type")), "end") == 0;
	}
}

bool import_reader_next(ImportReader *reader, Imported *ret, bool *ret_found, GError **error)
{
	GError *cause = NULL;
	bool is_end = false;

	*ret = (Imported){ 0 };
	if (read_store(reader, ret, ret_found, &is_end, &cause)) {
		end_store(reader);
		return true;
	}

	end_store(reader);
	/* Errors of the store already name its file. */
	if (g_error_matches(cause, G_FILE_ERROR, G_FILE_ERROR_INVAL))
		g_prefix_error(&cause, "%s, line %" PRIu64 ": ", reader->name, reader->n_lines);
	if (!is_end)
		pass_over(reader);
	g_propagate_error(error, cause);
	return false;
}
