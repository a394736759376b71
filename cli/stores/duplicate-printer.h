/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/stores/duplicate-finder.h"
#include "cli/terminal/table.h"

/*
 * DuplicatePrinter - prints groups of equal files on standard output, one after another.  It keeps only some
 * rows of a table.
 *
 * Thread: main.
 */
typedef struct DuplicatePrinter DuplicatePrinter;

typedef enum {
	DUPLICATES_TABLE,
	DUPLICATES_FDUPES, /* one name per line, an empty line after each group */
	DUPLICATES_NUL,    /* unescaped names that end with NUL, an empty one after each group */
	DUPLICATES_JSON,
	DUPLICATES_CSV,
} DuplicateFormat;

extern const TableKind table_of_duplicates;

/* @options is borrowed. */
DuplicatePrinter *duplicate_printer_new(DuplicateFormat format, const Options *options);
void duplicate_printer_free(DuplicatePrinter *printer);

void duplicate_printer_print(DuplicatePrinter *printer, const DuplicateGroup *group,
			     const char *uuid);

/* Finish the output.  JSON includes the numbers of what was left out. */
void duplicate_printer_finish(DuplicatePrinter *printer, const DuplicatesLeftOut *left_out);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(DuplicatePrinter, duplicate_printer_free)
