/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/terminal/skipped-table.h"

#include "cli/terminal/message.h"
#include "common/files/advice.h"

#define SKIPPED_COLUMNS(COLUMN)                                                                    \
	COLUMN(SKIPPED_REASON, "REASON", "reason", COLUMN_TEXT)                                    \
	COLUMN(SKIPPED_COUNT, "COUNT", "count", COLUMN_NUMBER)                                     \
	COLUMN(SKIPPED_BYTES, "SIZE", "bytes", COLUMN_NUMBER)                                      \
	COLUMN(SKIPPED_EXAMPLES, "FOR EXAMPLE", "examples", COLUMN_LINES)                          \
	COLUMN(SKIPPED_ADVICE, "WHY; WHAT TO DO", "advice", COLUMN_TEXT)

TABLE_COLUMNS(skipped_columns, SKIPPED_COLUMNS);

static const TableKind table_of_skipped = { "skipped", skipped_columns,
					    G_N_ELEMENTS(skipped_columns), NULL, 0 };

static void add_skip(Table *table, const SkipRecord *skip, const Options *options)
{
	/* In text, one example is enough. */
	size_t examples_most = options->json || options->verbose ? SIZE_MAX : 1;
	size_t n_examples = g_strv_length((char **)skip->examples);
	SkipReason known;
	g_autofree char *examples =
		message_join(skip->examples, MIN(n_examples, examples_most), "\n");

	table_add_row(table);
	table_set_escaped(table, SKIPPED_REASON, skip->reason);
	table_set_count(table, SKIPPED_COUNT, skip->count);
	/* Directories and files that were not opened have no known size. */
	if (skip->bytes > 0 || options_are_for_programs(options))
		table_set_size(table, SKIPPED_BYTES, skip->bytes);
	else
		table_set_text(table, SKIPPED_BYTES, "-");
	if (skip_reason_parse(skip->reason, &known))
		table_set_text(table, SKIPPED_ADVICE, advice_of_skip(known));
	if (examples[0] != '\0')
		table_set_text(table, SKIPPED_EXAMPLES, examples);
}

Table *skipped_table_read(HashStore *store, const Options *options, GError **error)
{
	g_autoptr(Table) table = table_new(&table_of_skipped, options);
	g_autoptr(SkipCursor) cursor = skip_cursor_open(store, error);
	const SkipRecord *skip;

	if (!cursor)
		return NULL;

	while (true) {
		if (!skip_cursor_next(cursor, &skip, error))
			return NULL;
		if (!skip)
			return g_steal_pointer(&table);
		add_skip(table, skip, options);
	}
}
