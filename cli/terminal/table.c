/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/terminal/table.h"

#include "cli/terminal/message.h"
#include "cli/terminal/time-text.h"
#include "common/text/size-text.h"
#include "common/text/usage-error.h"
#include "common/text/word-list.h"

#include <errno.h>
#include <jansson.h>
#include <libsmartcols.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct Table {
	struct libscols_table *rows;
	struct libscols_line *row;
	struct libscols_column **columns; /* NULL if not shown */
	ColumnKind *kinds;                /* of all */
	size_t n_columns;
	char *json_head; /* NULL: no JSON, or not a document by itself */
	bool json;
	bool bytes;
};

/* Running out of memory ends the process, as everywhere.  Nothing else can fail. */
static void check(int status)
{
	if (status < 0)
		g_error("cannot make a table: %s", g_strerror(-status));
}

static int column_flags(ColumnKind kind)
{
	switch (kind) {
	case COLUMN_TEXT_CUT:
		return SCOLS_FL_TRUNC;
	case COLUMN_LINES:
		return SCOLS_FL_WRAP;
	case COLUMN_NUMBER:
		return SCOLS_FL_RIGHT;
	default:
		return 0;
	}
}

static int column_json_type(ColumnKind kind)
{
	switch (kind) {
	case COLUMN_NUMBER:
	case COLUMN_LINES: /* these are arrays, printed as they are like a number */
	case COLUMN_TABLE:
		return SCOLS_JSON_NUMBER;
	default:
		return SCOLS_JSON_STRING;
	}
}

static struct libscols_column *column_new(Table *table, const TableColumn *column)
{
	g_autofree char *upper = column->key ? g_ascii_strup(column->key, -1) : NULL;
	const char *heading = column->heading ? column->heading : upper;
	const char *name = table->json ? column->key : heading;
	struct libscols_column *made =
		scols_table_new_column(table->rows, name, 0, column_flags(column->kind));

	if (!made)
		check(-ENOMEM);
	check(scols_column_set_json_type(made, column_json_type(column->kind)));
	if (column->kind == COLUMN_LINES)
		check(scols_column_set_wrapfunc(made, scols_wrapnl_chunksize,
						scols_wrapnl_nextchunk, NULL));
	return made;
}

static Table *table_new_empty(const TableKind *kind, const Options *options)
{
	Table *table = g_new0(Table, 1);

	table->json = options->json;
	table->json_head = options->json && kind->schema ? table_kind_json_head(kind) : NULL;
	table->bytes = options->bytes;
	table->rows = scols_new_table();
	if (!table->rows)
		check(-ENOMEM);
	check(scols_table_enable_json(table->rows, options->json));
	/* libsmartcols takes the backslash of an escaped byte for four characters. */
	scols_table_enable_noencoding(table->rows, !options->json);
	check(scols_table_set_name(table->rows, kind->name));
	table->columns = g_new0(struct libscols_column *, kind->n_columns);
	table->kinds = g_new(ColumnKind, kind->n_columns);
	table->n_columns = kind->n_columns;
	for (size_t i = 0; i < kind->n_columns; i++)
		table->kinds[i] = kind->columns[i].kind;

	return table;
}

static void show_by_itself(Table *table, const TableKind *kind)
{
	for (size_t i = 0; i < kind->n_columns; i++)
		if (table->json ? kind->columns[i].key : kind->columns[i].heading)
			table->columns[i] = column_new(table, &kind->columns[i]);
}

Table *table_new(const TableKind *kind, const Options *options)
{
	Table *table = table_new_empty(kind, options);

	show_by_itself(table, kind);
	return table;
}

/* Whether --output can name the column.  Nested tables are for programs. */
static bool can_be_shown(const TableColumn *column, bool json)
{
	return column->key && (json || column->kind != COLUMN_TABLE);
}

/* The column with the name @name; kind->n_columns: none. */
static size_t find_column(const TableKind *kind, const char *name, bool json)
{
	size_t i = 0;

	while (i < kind->n_columns && (!can_be_shown(&kind->columns[i], json) ||
				       g_ascii_strcasecmp(kind->columns[i].key, name) != 0))
		i++;
	return i;
}

/* The value of --output without the leading '+'; NULL: none. */
static char **split_columns(const char *typed, bool *ret_adds)
{
	*ret_adds = typed && *typed == '+';
	return typed ? g_strsplit(*ret_adds ? typed + 1 : typed, ",", -1) : NULL;
}

static GPtrArray *columns_to_name(const TableKind *kind, bool json)
{
	GPtrArray *keys = g_ptr_array_new();

	for (size_t i = 0; i < kind->n_columns; i++)
		if (can_be_shown(&kind->columns[i], json))
			g_ptr_array_add(keys, (void *)kind->columns[i].key);
	return keys;
}

static void fail_unknown(const TableKind *kind, const char *typed, bool json, GError **error)
{
	g_autoptr(GPtrArray) keys = columns_to_name(kind, json);
	const char *nearest = nearest_word(typed, (const char *const *)keys->pdata, keys->len);
	g_autofree char *safe = message_text(typed);

	if (nearest)
		usage_error_set(error, "there is no column '%s': did you mean '%s'?", safe,
				nearest);
	else
		usage_error_set(error, "there is no column '%s': --help lists the columns", safe);
}

bool table_kind_has(const TableKind *kind, const Options *options, GError **error)
{
	bool adds;
	g_auto(GStrv) names = split_columns(options->columns, &adds);

	if (names && !*names)
		return usage_error_set(error, "--output names no column: --help lists the columns");
	for (char **name = names; name && *name; name++) {
		if (find_column(kind, *name, options->json) < kind->n_columns)
			continue;
		fail_unknown(kind, *name, options->json, error);
		return false;
	}

	return true;
}

char *table_kind_text(const TableKind *kind)
{
	g_autoptr(GPtrArray) keys = columns_to_name(kind, false);
	GString *text = g_string_new("Columns for --output:\n");

	for (size_t i = 0; i < keys->len; i++)
		g_string_append_printf(text, "  %s\n", (const char *)keys->pdata[i]);
	return g_string_free(text, FALSE);
}

char *table_kind_json_head(const TableKind *kind)
{
	return g_strdup_printf("{\n   \"schema\": \"%s\",\n   \"version\": %u,", kind->schema,
			       kind->version);
}

Table *table_new_asked(const TableKind *kind, const Options *options)
{
	Table *table = table_new_empty(kind, options);
	bool adds;
	g_auto(GStrv) names = split_columns(options->columns, &adds);

	check(scols_table_enable_raw(table->rows, options->raw && !options->json));
	check(scols_table_enable_noheadings(table->rows, options->no_headings));
	if (!names || adds)
		show_by_itself(table, kind);
	for (char **name = names; name && *name; name++) {
		size_t i = find_column(kind, *name, options->json);

		if (!table->columns[i])
			table->columns[i] = column_new(table, &kind->columns[i]);
	}

	return table;
}

Table *table_new_hiding(const TableKind *kind, const Options *options, const uint8_t *hidden,
			size_t n_hidden)
{
	g_autofree TableColumn *columns =
		g_memdup2(kind->columns, kind->n_columns * sizeof(*columns));
	TableKind shown = *kind;

	shown.columns = columns;
	for (size_t i = 0; i < n_hidden; i++)
		columns[hidden[i]].heading = NULL;
	/* They are read while columns are chosen alone. */
	return table_new_asked(&shown, options);
}

void table_free(Table *table)
{
	if (!table)
		return;

	scols_unref_table(table->rows);
	g_free(table->columns);
	g_free(table->kinds);
	g_free(table->json_head);
	g_free(table);
}

static void set_data(Table *table, size_t column, const char *text)
{
	if (table->columns[column])
		check(scols_line_set_column_data(table->row, table->columns[column], text));
}

void table_add_row(Table *table)
{
	table->row = scols_table_new_line(table->rows, NULL);
	if (!table->row)
		check(-ENOMEM);
	for (size_t i = 0; table->json && i < table->n_columns; i++)
		if (table->kinds[i] == COLUMN_LINES)
			set_data(table, i, "[]");
}

size_t table_count_rows(const Table *table)
{
	return scols_table_get_nlines(table->rows);
}

/* libsmartcols would print an array without lines as [null]. */
static void set_array(Table *table, size_t column, const char *text)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	json_t *array = json_array();
	char *json;

	for (char **line = lines; *line; line++)
		json_array_append_new(array, json_string(*line));
	json = json_dumps(array, 0);
	json_decref(array);
	set_data(table, column, json);
	free(json);
}

/* Escape the text for terminals.  Most of it is escaped already, and stays as it is. */
static char *shown_text(ColumnKind kind, const char *text)
{
	if (kind != COLUMN_LINES)
		return message_terminal_text(text);

	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	for (char **line = lines; *line; line++) {
		char *safe = message_terminal_text(*line);

		g_free(*line);
		*line = safe;
	}
	return g_strjoinv("\n", lines);
}

void table_set_text(Table *table, size_t column, const char *text)
{
	ColumnKind kind = table->kinds[column];

	if (!text || !table->columns[column])
		return;
	if (!table->json) {
		g_autofree char *shown = shown_text(kind, text);

		set_data(table, column, shown);
	} else if (kind == COLUMN_LINES) {
		set_array(table, column, text);
	} else {
		set_data(table, column, text);
	}
}

void table_set_count(Table *table, size_t column, uint64_t count)
{
	g_autofree char *text = g_strdup_printf("%" G_GUINT64_FORMAT, count);

	table_set_text(table, column, text);
}

void table_set_size(Table *table, size_t column, uint64_t bytes)
{
	if (table->json || table->bytes) {
		table_set_count(table, column, bytes);
		return;
	}

	g_autofree char *text = size_text(bytes);
	table_set_text(table, column, text);
}

void table_set_difference(Table *table, size_t column, int64_t bytes)
{
	g_autofree char *size = size_text((uint64_t)ABS(bytes));
	g_autofree char *text = table->json || table->bytes
					? g_strdup_printf("%" G_GINT64_FORMAT, bytes)
					: g_strconcat(bytes < 0 ? "-" : "", size, NULL);

	table_set_text(table, column, text);
}

void table_set_time(Table *table, size_t column, int64_t usec)
{
	g_autofree char *text = table->json ? time_text_utc(usec) : time_text_local(usec);

	table_set_text(table, column, text);
}

void table_set_duration(Table *table, size_t column, int64_t usec)
{
	g_autofree char *text = table->json ? duration_seconds(usec) : duration_text(usec);

	table_set_text(table, column, text);
}

void table_set_table(Table *table, size_t column, Table *rows)
{
	g_autofree char *json = NULL;
	char *printed;

	if (!table->columns[column])
		return;

	/* libsmartcols prints whole documents, { "name": [ … ] }.  Only the array is needed. */
	check(scols_print_table_to_string(rows->rows, &printed));
	const char *begin = strchr(printed, '[');
	const char *end = strrchr(printed, ']');
	json = begin && end ? g_strndup(begin, (size_t)(end + 1 - begin)) : g_strdup("[]");
	free(printed);

	table_set_text(table, column, json);
}

void table_hide(Table *table, size_t column)
{
	struct libscols_column *shown = table->columns[column];

	if (shown)
		check(scols_column_set_flags(shown,
					     scols_column_get_flags(shown) | SCOLS_FL_HIDDEN));
}

/* Print the document of libsmartcols, with the head before its only key. */
static char *print_json(Table *table)
{
	char *printed;

	check(scols_print_table_to_string(table->rows, &printed));
	/* It is always an object, even without rows. */
	char *json = g_strconcat(table->json_head, strchr(printed, '{') + 1, NULL);
	free(printed);
	return json;
}

void table_print(Table *table)
{
	if (table->json) {
		g_autofree char *json = print_json(table);

		fputs(json, stdout);
	} else {
		check(scols_print_table(table->rows));
	}
}

void table_print_lines(Table *table)
{
	if (table->json) {
		g_autofree char *json = print_json(table);

		/* Within strings such are escaped. */
		for (const char *at = json; *at; at++)
			if (!strchr("\n\t", *at))
				putchar(*at);
		putchar('\n');
		return;
	}

	char *printed;

	check(scols_table_enable_noheadings(table->rows, true));
	check(scols_print_table_to_string(table->rows, &printed));
	fputs(printed, stdout);
	if (printed[0] == '\0' || printed[strlen(printed) - 1] != '\n')
		putchar('\n');
	free(printed);
}
