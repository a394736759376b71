/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/export/export-format.h"
#include "cli/export/export-writer.h"
#include "cli/export/import-reader.h"
#include "common/content/winnow.h"
#include "hashstore/anchors/groups.h"
#include "hashstore/store-check.h"
#include "tests/fuzz/choices.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/scratch.h"

#include <stdio.h>
#include <string.h>

/*
 * An export as JSON values: valid, but for what is damaged: a value, a key, a line that is missing, comes twice
 * or lies elsewhere, or a byte of the text.
 */
#define STORES_MAX      2
#define DIRECTORIES_MAX 3
#define OBJECTS_MAX     8
#define ANCHORS_MAX     6
#define PLACES_MAX      4

const char *const fuzz_seeds[] = { NULL };

typedef struct {
	Choices *choices;
	GPtrArray *lines; /* json_t */
	bool is_btrfs;
	unsigned n_directories;
	unsigned n_objects;
	unsigned n_anchors;
	uint64_t blocks[OBJECTS_MAX];
} Export;

/* Any JSON value. */
static json_t *any_value(Choices *choices)
{
	static const char *const texts[] = { "",      "0",
					     "-1",    "9223372036854775808",
					     "\\xff", "a/b",
					     "\\x00", "..",
					     "done",  "extent",
					     "XFS",   "skipped",
					     "\\",    "0000000000000000" };

	switch (choices_below(choices, 6)) {
	case 0:
		return json_null();
	case 1:
		return json_real(1.5);
	case 2:
		return json_array();
	case 3:
		return json_string(texts[choices_below(choices, G_N_ELEMENTS(texts))]);
	default:
		return json_integer((json_int_t)choices_edge(choices));
	}
}

/* Set a key of the line, or damage it: leave it out, or give it another value. */
static void set(Export *export, json_t *line, const char *key, json_t *value)
{
	if (!choices_damage(export->choices)) {
		json_object_set_new(line, key, value);
		return;
	}

	json_decref(value);
	if (choices_below(export->choices, 4))
		json_object_set_new(line, key, any_value(export->choices));
}

static void set_number(Export *export, json_t *line, const char *key, uint64_t number)
{
	set(export, line, key, json_integer((json_int_t)number));
}

static void set_digest(Export *export, json_t *line, const char *key)
{
	/* Few, so that objects are equal. */
	set(export, line, key, export_digest_new(1 + choices_below(export->choices, 5)));
}

static void set_time(Export *export, json_t *line, const char *key)
{
	static const char *const times[] = { "1700000000000000001", "0", "-5" };

	set(export, line, key, json_string(times[choices_below(export->choices, 3)]));
}

/* Add the line, be it twice or before another. */
static void add(Export *export, json_t *line)
{
	guint at = export->lines->len;

	if (choices_damage(export->choices))
		g_ptr_array_add(export->lines, json_incref(line));
	if (choices_damage(export->choices))
		at = (guint)choices_below(export->choices, at + 1);
	g_ptr_array_insert(export->lines, (gint)at, line);
}

static json_t *new_line(Export *export, const char *type)
{
	json_t *line = json_object();

	set(export, line, "type", json_string(type));
	return line;
}

static void add_head(Export *export)
{
	json_t *line = new_line(export, "store");
	char secret[2 * HASH_STORE_SECRET_BYTES + 1] = { 0 };

	memset(secret, 'a', sizeof(secret) - 1);
	set(export, line, "schema", json_string(EXPORT_SCHEMA));
	set_number(export, line, "version", EXPORT_VERSION);
	set(export, line, "uuid", json_string("3d0e6d5b-7c4f-4b4a-9d51-0c5e8a1b2c3d"));
	set(export, line, "kind", json_string(export->is_btrfs ? "btrfs" : "XFS"));
	set_number(export, line, "block_bytes", 4096);
	set_number(export, line, "anchor_blocks", 1 + choices_below(export->choices, 4));
	set_number(export, line, "window_anchors", 2 + choices_below(export->choices, 16));
	set(export, line, "secret", json_string(secret));
	add(export, line);
}

static void add_directory(Export *export)
{
	json_t *line = new_line(export, "directory");

	set_number(export, line, "subvolume", export->is_btrfs ? 256 : 0);
	set_number(export, line, "inode", 256 + export->n_directories);
	set_number(export, line, "parent", export->n_directories ? 256 : 0);
	set(export, line, "name", json_string(export->n_directories ? "d\\xff" : "/srv/top"));
	export->n_directories++;
	add(export, line);
}

static void set_state(Export *export, json_t *line)
{
	static const char *const states[] = { "done", "done", "done", "seen", "skipped" };
	const char *state = states[choices_below(export->choices, G_N_ELEMENTS(states))];

	set(export, line, "state", json_string(state));
	if (*state == 'd')
		set_digest(export, line, "digest");
	if (strcmp(state, "skipped") == 0)
		set(export, line, "reason", json_string("swap-file"));
	if (choices_below(export->choices, 4) == 3)
		set(export, line, "flags", json_pack("[ss]", "racy", "immutable"));
}

static void add_file(Export *export, uint64_t bytes)
{
	json_t *line = new_line(export, "file");

	set_number(export, line, "id", export->n_objects + 1);
	set_number(export, line, "subvolume", export->is_btrfs ? 256 : 0);
	set_number(export, line, "inode", 300 + export->n_objects);
	set_number(export, line, "generation", 7);
	set_number(export, line, "size_bytes", bytes);
	set_time(export, line, "born_nsec");
	set_time(export, line, "modified_nsec");
	set_time(export, line, "changed_nsec");
	set_number(export, line, "directory", 256);
	set(export, line, "name", json_string("n\\xff"));
	if (choices_below(export->choices, 4) == 3)
		set_digest(export, line, "head");
	set_state(export, line);
	add(export, line);
}

static void add_extent(Export *export, uint64_t bytes)
{
	json_t *line = new_line(export, "extent");

	set_number(export, line, "id", export->n_objects + 1);
	set_number(export, line, "address", (UINT64_C(16) << 20) + export->n_objects * 4096000);
	set_number(export, line, "size_bytes", bytes);
	set_number(export, line, "transaction", 9);
	set_number(export, line, "summed_blocks", bytes / 4096);
	set_number(export, line, "zero_bytes", 0);
	set_number(export, line, "stretch", choices_below(export->choices, OBJECTS_MAX));
	set_number(export, line, "rank_bytes", 8192);
	set_state(export, line);
	add(export, line);
}

static void add_stretch(Export *export, uint64_t bytes)
{
	json_t *line = new_line(export, "stretch");

	set_number(export, line, "id", export->n_objects + 1);
	set_number(export, line, "number", export->n_objects + 1);
	set_number(export, line, "subvolume", 256);
	set_number(export, line, "inode", 300 + choices_below(export->choices, OBJECTS_MAX));
	set_number(export, line, "offset_bytes", choices_below(export->choices, 100) * 4096);
	set_number(export, line, "size_bytes", bytes);
	set_state(export, line);
	add(export, line);
}

static void add_object(Export *export)
{
	uint64_t kind = export->is_btrfs ? choices_below(export->choices, 3) : 0;
	uint64_t blocks = 1 + choices_below(export->choices, 20);

	export->blocks[export->n_objects] = blocks;
	if (kind == 0)
		add_file(export, blocks * 4096 - choices_below(export->choices, 4096));
	else if (kind == 1)
		add_extent(export, blocks * 4096);
	else
		add_stretch(export, blocks * 4096);
	export->n_objects++;
}

static void add_places(Export *export, const char *type)
{
	json_t *line = new_line(export, type);
	json_t *places = json_array();
	uint64_t n = 1 + choices_below(export->choices, PLACES_MAX);

	if (strcmp(type, "anchors") == 0)
		set_digest(export, line, "digest");
	for (uint64_t i = 0; i<n &&export->n_objects> 0; i++) {
		uint64_t object = choices_below(export->choices, export->n_objects);
		uint64_t block = choices_below(export->choices, export->blocks[object]);

		json_array_append_new(
			places,
			json_pack("[II]", (json_int_t)choices_number(export->choices, object + 1),
				  (json_int_t)choices_number(export->choices, block)));
		export->n_anchors++;
	}
	set(export, line, "at", places);
	add(export, line);
}

static void add_end(Export *export)
{
	json_t *line = new_line(export, "end");

	set_number(export, line, "directories", export->n_directories);
	set_number(export, line, "objects", export->n_objects);
	set_number(export, line, "anchors", export->n_anchors);
	add(export, line);
}

static void add_store(Export *export)
{
	Choices *choices = export->choices;

	export->is_btrfs = choices_yes(choices);
	export->n_directories = export->n_objects = export->n_anchors = 0;
	add_head(export);
	for (uint64_t n = choices_below(choices, DIRECTORIES_MAX + 1); n > 0; n--)
		add_directory(export);
	for (uint64_t n = choices_below(choices, OBJECTS_MAX + 1); n > 0; n--)
		add_object(export);
	if (choices_yes(choices))
		add_places(export, "zeros");
	for (uint64_t n = choices_below(choices, ANCHORS_MAX + 1); n > 0; n--)
		add_places(export, "anchors");
	add_end(export);
}

static GString *text_of(Export *export)
{
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < export->lines->len; i++) {
		char *line = json_dumps(export->lines->pdata[i], JSON_COMPACT);

		if (line && !choices_damage(export->choices))
			g_string_append_printf(text, "%s\n", line);
		free(line);
	}
	choices_bytes(export->choices, text->str, text->len);
	if (choices_damage(export->choices))
		g_string_truncate(text, choices_below(export->choices, text->len + 1));
	return text;
}

static bool all_live(uint32_t object, void *data)
{
	return true;
}

/* What was imported is a whole store, whose groups can be walked. */
static void check_store(HashStore *store)
{
	g_autoptr(GPtrArray) problems = NULL;
	g_autoptr(Groups) groups = NULL;
	g_autoptr(GError) error = NULL;
	uint64_t last = 0;
	const Group *group;

	g_assert_cmpuint(hash_store_about(store)->anchor_blocks, <=, WINNOW_ANCHOR_BLOCKS_MAX);
	g_assert_cmpuint(hash_store_about(store)->window_anchors, <=, WINNOW_WINDOW_MAX);
	g_assert_true(hash_store_check(store, &problems, &error));
	g_assert_no_error(error);
	for (guint i = 0; i < problems->len; i++)
		g_error("%s", (const char *)problems->pdata[i]);

	groups = groups_open(store, all_live, NULL, &error);
	g_assert_no_error(error);
	while (groups_next(groups, &group, &error) && group) {
		g_assert_cmpuint(group->members[0].digest, >=, last);
		last = group->members[0].digest;
	}
	g_assert_no_error(error);
}

/* Every store in @text; returns how many there are. */
static unsigned import(const char *directory, const char *text, size_t length, bool must_be_right)
{
	FILE *file = fmemopen((void *)text, MAX(length, 1), "r");
	g_autoptr(ImportReader) reader = import_reader_new(file, "text", directory, true);
	unsigned n = 0;

	for (;;) {
		g_autoptr(GError) error = NULL;
		g_auto(Imported) imported = { 0 };
		bool found = true;

		if (!import_reader_next(reader, &imported, &found, &error)) {
			g_assert_nonnull(error);
			g_assert_true(g_utf8_validate(error->message, -1, NULL));
			if (must_be_right)
				g_error("what was exported is refused: %s", error->message);
			continue;
		}
		if (!found)
			break;
		n++;
	}
	fclose(file);
	return n;
}

/* What was imported is exported, and that imported again. */
static void check_again(Scratch *scratch, const char *directory)
{
	g_autofree char *path =
		g_build_filename(directory, "3d0e6d5b-7c4f-4b4a-9d51-0c5e8a1b2c3d.sqlite", NULL);
	g_autofree char *again = scratch_path(scratch, "again");
	g_autoptr(GError) error = NULL;
	g_autoptr(HashStore) store = NULL;
	FILE *usual = stdout;
	char *text = NULL;
	size_t length;

	/* A damaged head may have another UUID. */
	if (!g_file_test(path, G_FILE_TEST_EXISTS))
		return;
	store = hash_store_open_to_read(path, &error);
	g_assert_no_error(error);
	check_store(store);

	stdout = open_memstream(&text, &length);
	g_assert_true(export_write(store, &error));
	fclose(stdout);
	stdout = usual;
	g_assert_no_error(error);
	g_assert_cmpuint(import(again, text, length, true), ==, 1);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_autofree char *directory = scratch_path(scratch, "state");
	Choices choices = choices_begin(data, size);
	bool is_valid = choices.n_damages == 0;
	g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func((GDestroyNotify)json_decref);
	Export export = { .choices = &choices, .lines = lines };
	unsigned n_stores = 1 + (unsigned)choices_below(&choices, STORES_MAX);

	for (unsigned i = 0; i < n_stores; i++)
		add_store(&export);
	GString *text = text_of(&export);
	unsigned n = import(directory, text->str, text->len, is_valid);

	if (is_valid)
		g_assert_cmpuint(n, ==, n_stores);
	if (n > 0)
		check_again(scratch, directory);
	g_string_free(text, true);
	return 0;
}
