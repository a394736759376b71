/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/table.h"

#include "cli/time-text.h"
#include "daemon/size-text.h"

#include <errno.h>
#include <libsmartcols.h>
#include <stdlib.h>
#include <string.h>

struct Table {
	struct libscols_table *rows;
	struct libscols_line *row;
	struct libscols_column **columns; /* NULL for one that is not shown */
	bool json;
	bool bytes;
};

/* As everywhere, being out of memory ends the process; nothing else can fail. */
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
	case COLUMN_LINES:
		return SCOLS_JSON_ARRAY_STRING;
	case COLUMN_NUMBER:
	case COLUMN_TABLE: /* printed as it is, like a number */
		return SCOLS_JSON_NUMBER;
	default:
		return SCOLS_JSON_STRING;
	}
}

static struct libscols_column *column_new(Table *table, const TableColumn *column)
{
	const char *name = table->json ? column->key : column->heading;

	if (!name)
		return NULL;

	struct libscols_column *made =
		scols_table_new_column(table->rows, name, 0, column_flags(column->kind));
	if (!made)
		check(-ENOMEM);
	check(scols_column_set_json_type(made, column_json_type(column->kind)));
	/* Without this libsmartcols would escape the backslash of an escaped byte. */
	check(scols_column_set_safechars(made, column->kind == COLUMN_LINES ? "\\\n" : "\\"));
	if (column->kind == COLUMN_LINES)
		check(scols_column_set_wrapfunc(made, scols_wrapnl_chunksize,
						scols_wrapnl_nextchunk, NULL));
	return made;
}

Table *table_new(const char *name, const TableColumn *columns, size_t n_columns,
		 const Options *options)
{
	Table *table = g_new0(Table, 1);

	table->json = options->json;
	table->bytes = options->bytes;
	table->rows = scols_new_table();
	if (!table->rows)
		check(-ENOMEM);
	check(scols_table_enable_json(table->rows, options->json));
	check(scols_table_set_name(table->rows, name));

	table->columns = g_new(struct libscols_column *, n_columns);
	for (size_t i = 0; i < n_columns; i++)
		table->columns[i] = column_new(table, &columns[i]);

	return table;
}

void table_free(Table *table)
{
	if (!table)
		return;

	scols_unref_table(table->rows);
	g_free(table->columns);
	g_free(table);
}

void table_add_row(Table *table)
{
	table->row = scols_table_new_line(table->rows, NULL);
	if (!table->row)
		check(-ENOMEM);
}

size_t table_count_rows(const Table *table)
{
	return scols_table_get_nlines(table->rows);
}

void table_set_text(Table *table, size_t column, const char *text)
{
	if (table->columns[column] && text)
		check(scols_line_set_column_data(table->row, table->columns[column], text));
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

	/* libsmartcols prints whole documents, { "name": [ … ] }, of which the array is wanted. */
	check(scols_print_table_to_string(rows->rows, &printed));
	const char *begin = strchr(printed, '[');
	const char *end = strrchr(printed, ']');
	json = begin && end ? g_strndup(begin, (size_t)(end + 1 - begin)) : g_strdup("[]");
	free(printed);

	table_set_text(table, column, json);
}

void table_print(Table *table)
{
	check(scols_print_table(table->rows));
}
