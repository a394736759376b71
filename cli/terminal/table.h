/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/terminal/options.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Table - rows for people, or for programs as JSON, from one description of the columns.
 *
 * For programs sizes are bytes, times are UTC (ISO 8601) and durations seconds, always.  A JSON
 * document begins with the name and the version of its schema, which docs/schema has.
 *
 * Thread: main.
 */
typedef struct Table Table;

typedef enum {
	COLUMN_TEXT,     /* set by table_set_text() */
	COLUMN_TEXT_CUT, /* the same; cut short where a terminal is too narrow */
	COLUMN_LINES,    /* set by table_set_text(), lines of UTF-8; in JSON an array of them */
	COLUMN_NUMBER,   /* set by the functions for numbers */
	COLUMN_TABLE,    /* set by table_set_table(); in JSON only */
} ColumnKind;

typedef struct {
	const char *heading; /* for people; NULL: shown to them only when asked for, as KEY */
	const char *key;     /* in JSON, and for --output in any case; NULL: in neither */
	ColumnKind kind;
} TableColumn;

/* TableKind - a table that a verb prints. */
typedef struct {
	const char *name; /* key of the array of rows in JSON */
	const TableColumn *columns;
	size_t n_columns;
	const char *schema; /* of its JSON document; NULL: it is no document by itself */
	unsigned version;   /* of the schema: raised when a key goes or means something else */
} TableKind;

/* Whether --output of @options, if it is given, names columns of @kind. */
bool table_kind_has(const TableKind *kind, const Options *options, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* For the end of --help: the columns. */
char *table_kind_text(const TableKind *kind);

/* How a JSON document of @kind begins, up to where the first key of its own comes. */
char *table_kind_json_head(const TableKind *kind);

/* All that is shown by itself; @kind is borrowed. */
Table *table_new(const TableKind *kind, const Options *options);

/* The same, as --output, which was checked, --raw and --noheadings have it. */
Table *table_new_asked(const TableKind *kind, const Options *options);

/* The same, save that of @hidden no column is shown to people by itself. */
Table *table_new_hiding(const TableKind *kind, const Options *options, const uint8_t *hidden,
			size_t n_hidden);

void table_free(Table *table);

void table_add_row(Table *table);
size_t table_count_rows(const Table *table);

/*
 * Set a cell of the last row; one that is never set is empty, in JSON null, or [] of lines.  NULL sets
 * nothing.
 */
void table_set_text(Table *table, size_t column, const char *text);
void table_set_count(Table *table, size_t column, uint64_t count);
void table_set_size(Table *table, size_t column, uint64_t bytes);
void table_set_difference(Table *table, size_t column, int64_t bytes);
void table_set_time(Table *table, size_t column, int64_t usec); /* since 1970 */
void table_set_duration(Table *table, size_t column, int64_t usec);
void table_set_table(Table *table, size_t column, Table *rows); /* borrowed for the call */

/* Leave out a column that is shown by itself. */
void table_hide(Table *table, size_t column);

/* On standard output.  As JSON the kind has a schema. */
void table_print(Table *table);

/* The same without headings, and JSON as one line, for tables that follow on each other. */
void table_print_lines(Table *table);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Table, table_free)
