/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/terminal/options.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Table - rows as text for users, or as JSON for programs, from one description of the columns.
 *
 * For programs, sizes are always bytes, times are UTC (ISO 8601) and durations are seconds.  A JSON document
 * begins with the name and version of its schema, which is in docs/schema.
 *
 * Thread: main.
 */
typedef struct Table Table;

typedef enum {
	COLUMN_TEXT,     /* set by table_set_text() */
	COLUMN_TEXT_CUT, /* the same; cut if the terminal is too narrow */
	COLUMN_LINES,    /* set by table_set_text(), lines of UTF-8; in JSON an array of them */
	COLUMN_NUMBER,   /* set by the functions for numbers */
	COLUMN_TABLE,    /* set by table_set_table(); in JSON only */
} ColumnKind;

typedef struct {
	const char *heading; /* in text; NULL: shown only on request, as KEY */
	const char *key;     /* in JSON and for --output; NULL: in neither */
	ColumnKind kind;
} TableColumn;

/*
 * Declare the columns of a table, each once.  @LIST is a macro that calls its argument for each column, with ID,
 * heading, key and kind.  ID becomes the index of the column in @name.
 */
#define TABLE_COLUMNS(name, LIST)                                                                  \
	enum { LIST(TABLE_COLUMN_ID) };                                                            \
	static const TableColumn name[] = { LIST(TABLE_COLUMN) }
#define TABLE_COLUMN_ID(id, heading, key, kind) id,
#define TABLE_COLUMN(id, heading, key, kind)    { heading, key, kind },

/* TableKind - a table that a verb prints. */
typedef struct {
	const char *name; /* key of the array of rows in JSON */
	const TableColumn *columns;
	size_t n_columns;
	const char *schema; /* of its JSON document; NULL: not a document by itself */
	unsigned version;   /* of the schema: raised when a key is removed or changes its meaning */
} TableKind;

/* Check that --output of @options, if given, names columns of @kind. */
bool table_kind_has(const TableKind *kind, const Options *options, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* For the end of --help: the columns. */
char *table_kind_text(const TableKind *kind);

/* The beginning of a JSON document of @kind, up to its first own key. */
char *table_kind_json_head(const TableKind *kind);

/* A table with the default columns.  @kind is borrowed. */
Table *table_new(const TableKind *kind, const Options *options);

/* A table in the form that --output (already checked), --raw and --noheadings request. */
Table *table_new_asked(const TableKind *kind, const Options *options);

/* The same, but columns in @hidden are not shown in text by default. */
Table *table_new_hiding(const TableKind *kind, const Options *options, const uint8_t *hidden,
			size_t n_hidden);

void table_free(Table *table);

void table_add_row(Table *table);
size_t table_count_rows(const Table *table);

/*
 * Set a cell of the last row.  A cell that is never set is empty; in JSON it is null, or [] for lines.  NULL
 * sets nothing.
 */
void table_set_text(Table *table, size_t column, const char *text);
void table_set_escaped(Table *table, size_t column, const char *text); /* by message_text() */
void table_set_count(Table *table, size_t column, uint64_t count);
void table_set_size(Table *table, size_t column, uint64_t bytes);
void table_set_difference(Table *table, size_t column, int64_t bytes);
void table_set_time(Table *table, size_t column, int64_t usec); /* since 1970 */
void table_set_duration(Table *table, size_t column, int64_t usec);
void table_set_table(Table *table, size_t column, Table *rows); /* borrowed for the call */

/* Hide a column that is shown by default. */
void table_hide(Table *table, size_t column);

/* Print the table on standard output.  For JSON, its kind must have a schema. */
void table_print(Table *table);

/* The same without headings, and with JSON in one line, for consecutive tables. */
void table_print_lines(Table *table);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Table, table_free)
