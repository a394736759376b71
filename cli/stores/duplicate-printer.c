/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/stores/duplicate-printer.h"

#include "cli/terminal/message.h"
#include "common/text/name-text.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

/* The number of rows of a table before it is printed, and the next one begins. */
#define TABLE_ROWS 4096

#define DUPLICATE_COLUMNS(COLUMN)                                                                  \
	COLUMN(DUPLICATE_RECLAIMABLE, "RECLAIM", "reclaimable_bytes", COLUMN_NUMBER)               \
	COLUMN(DUPLICATE_SIZE, "SIZE", "size_bytes", COLUMN_NUMBER)                                \
	COLUMN(DUPLICATE_FILES, "FILES", "files", COLUMN_NUMBER)                                   \
	COLUMN(DUPLICATE_STATE, "DATA", "state", COLUMN_TEXT)                                      \
	COLUMN(DUPLICATE_FILE, "FILE", "file", COLUMN_TEXT)                                        \
	COLUMN(DUPLICATE_GROUP, NULL, "group", COLUMN_NUMBER)                                      \
	COLUMN(DUPLICATE_UUID, NULL, "uuid", COLUMN_TEXT)

TABLE_COLUMNS(columns, DUPLICATE_COLUMNS);

const TableKind table_of_duplicates = { "duplicates", columns, G_N_ELEMENTS(columns),
					"dedupctl-duplicates", 1 };

struct DuplicatePrinter {
	DuplicateFormat format;
	Options options;
	Table *table;
	uint64_t n_groups;
};

DuplicatePrinter *duplicate_printer_new(DuplicateFormat format, const Options *options)
{
	DuplicatePrinter *printer = g_new0(DuplicatePrinter, 1);

	printer->format = format;
	printer->options = *options;
	if (format == DUPLICATES_TABLE)
		printer->table = table_new_asked(&table_of_duplicates, options);
	if (format == DUPLICATES_JSON) {
		g_autofree char *head = table_kind_json_head(&table_of_duplicates);

		printf("%s\n   \"%s\": [", head, table_of_duplicates.name);
	}
	if (format == DUPLICATES_CSV && !options->no_headings)
		puts("group,reclaimable_bytes,size_bytes,state,file");
	return printer;
}

void duplicate_printer_free(DuplicatePrinter *printer)
{
	if (!printer)
		return;

	table_free(printer->table);
	g_free(printer);
}

static const char *state_of(const DuplicateGroup *group, guint number)
{
	const DuplicateFile *file = group->files->pdata[number];

	if (number == 0)
		return "first";
	return file->is_shared ? "shared" : "own";
}

/* Escaped for a terminal. */
static char *name_of(const DuplicateFile *file)
{
	return name_text(file->path, strlen(file->path));
}

static void print_rows(DuplicatePrinter *printer, const DuplicateGroup *group, const char *uuid)
{
	for (guint i = 0; i < group->files->len; i++) {
		g_autofree char *name = name_of(group->files->pdata[i]);

		table_add_row(printer->table);
		if (i == 0) {
			table_set_size(printer->table, DUPLICATE_RECLAIMABLE,
				       group->reclaimable_bytes);
			table_set_size(printer->table, DUPLICATE_SIZE, group->size_bytes);
			table_set_count(printer->table, DUPLICATE_FILES, group->files->len);
		}
		table_set_text(printer->table, DUPLICATE_STATE, state_of(group, i));
		table_set_text(printer->table, DUPLICATE_FILE, name);
		table_set_count(printer->table, DUPLICATE_GROUP, printer->n_groups);
		table_set_text(printer->table, DUPLICATE_UUID, uuid);
	}

	if (table_count_rows(printer->table) < TABLE_ROWS)
		return;
	table_print(printer->table);
	table_free(printer->table);
	printer->options.no_headings = true;
	printer->table = table_new_asked(&table_of_duplicates, &printer->options);
}

static void print_names(const DuplicatePrinter *printer, const DuplicateGroup *group)
{
	for (guint i = 0; i < group->files->len; i++) {
		const DuplicateFile *file = group->files->pdata[i];
		g_autofree char *name = name_of(file);

		if (printer->format == DUPLICATES_NUL)
			fwrite(file->path, 1, strlen(file->path) + 1, stdout);
		else
			puts(name);
	}

	putchar(printer->format == DUPLICATES_NUL ? '\0' : '\n');
}

/* Escaped text has neither control characters nor invalid UTF-8. */
static void print_json_text(const char *text)
{
	json_t *json = json_string(text);

	json_dumpf(json, stdout, JSON_ENCODE_ANY);
	json_decref(json);
}

static void print_csv_text(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		if (*text == '"')
			putchar('"');
		putchar(*text);
	}
	putchar('"');
}

static void print_json(const DuplicatePrinter *printer, const DuplicateGroup *group,
		       const char *uuid)
{
	printf("%s\n      {\"uuid\": \"%s\", \"reclaimable_bytes\": %" PRIu64
	       ", \"size_bytes\": %" PRIu64 ", \"files\": [",
	       printer->n_groups > 1 ? "," : "", uuid, group->reclaimable_bytes, group->size_bytes);
	for (guint i = 0; i < group->files->len; i++) {
		g_autofree char *name = name_of(group->files->pdata[i]);

		printf("%s\n         {\"state\": \"%s\", \"file\": ", i > 0 ? "," : "",
		       state_of(group, i));
		print_json_text(name);
		putchar('}');
	}
	fputs("\n      ]}", stdout);
}

static void print_csv(const DuplicatePrinter *printer, const DuplicateGroup *group)
{
	for (guint i = 0; i < group->files->len; i++) {
		g_autofree char *name = name_of(group->files->pdata[i]);

		printf("%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%s,", printer->n_groups,
		       group->reclaimable_bytes, group->size_bytes, state_of(group, i));
		print_csv_text(name);
		putchar('\n');
	}
}

void duplicate_printer_print(DuplicatePrinter *printer, const DuplicateGroup *group,
			     const char *uuid)
{
	printer->n_groups++;
	switch (printer->format) {
	case DUPLICATES_TABLE:
		print_rows(printer, group, uuid);
		break;
	case DUPLICATES_JSON:
		print_json(printer, group, uuid);
		break;
	case DUPLICATES_CSV:
		print_csv(printer, group);
		break;
	default:
		print_names(printer, group);
	}
}

void duplicate_printer_finish(DuplicatePrinter *printer, const DuplicatesLeftOut *left_out)
{
	if (printer->format == DUPLICATES_JSON) {
		printf("%s],\n   \"stale\": %" PRIu64 ",\n   \"fresh\": %" PRIu64
		       ",\n   \"gone_extents\": %" PRIu64 "\n}\n",
		       printer->n_groups > 0 ? "\n   " : "",
		       left_out->stale + left_out->fresh + left_out->gone, left_out->fresh,
		       left_out->gone);
		return;
	}

	if (printer->format == DUPLICATES_TABLE)
		table_print(printer->table);
}
