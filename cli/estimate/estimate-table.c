/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/estimate/estimate-table.h"

#include "cli/terminal/message.h"
#include "cli/terminal/plot.h"
#include "common/text/size-text.h"

#include <stdio.h>

/* The size of the drawing.  A bar is as wide as its label, with a blank. */
#define DRAWING_HEIGHT 6
#define BAR_COLUMNS    6

#define ESTIMATE_COLUMNS(COLUMN)                                                                   \
	COLUMN(ESTIMATE_MOUNT, "MOUNT", "mount_point", COLUMN_TEXT)                                \
	COLUMN(ESTIMATE_UUID, NULL, "uuid", COLUMN_TEXT)                                           \
	COLUMN(ESTIMATE_KIND, NULL, "kind", COLUMN_TEXT)                                           \
	COLUMN(ESTIMATE_BY, "BY", "by", COLUMN_TEXT)                                               \
	COLUMN(ESTIMATE_PERCENT, "SAMPLE", "sample", COLUMN_TEXT)                                  \
	COLUMN(ESTIMATE_FILES, "FILES", "files", COLUMN_NUMBER)                                    \
	COLUMN(ESTIMATE_LEFT_OUT, NULL, "left_out", COLUMN_NUMBER)                                 \
	COLUMN(ESTIMATE_UNREADABLE, NULL, "unreadable", COLUMN_NUMBER)                             \
	COLUMN(ESTIMATE_DATA, "DATA", "data_bytes", COLUMN_NUMBER)                                 \
	COLUMN(ESTIMATE_SHARED, "SHARED", "shared_bytes", COLUMN_NUMBER)                           \
	COLUMN(ESTIMATE_PASS, "TO FREE", "pass_bytes", COLUMN_NUMBER)                              \
	COLUMN(ESTIMATE_LOW, "LEAST", "pass_low_bytes", COLUMN_NUMBER)                             \
	COLUMN(ESTIMATE_HIGH, "MOST", "pass_high_bytes", COLUMN_NUMBER)                            \
	COLUMN(ESTIMATE_DEFERRED, NULL, "deferred_bytes", COLUMN_NUMBER)                           \
	COLUMN(ESTIMATE_DEFERRED_WRITTEN, NULL, "deferred_written_bytes", COLUMN_NUMBER)           \
	COLUMN(ESTIMATE_IDENTICAL, "IDENTICAL", "identical_bytes", COLUMN_NUMBER)                  \
	COLUMN(ESTIMATE_ZEROS, "ZEROS", "zeros_bytes", COLUMN_NUMBER)                              \
	COLUMN(ESTIMATE_READ, NULL, "read_bytes", COLUMN_NUMBER)                                   \
	COLUMN(ESTIMATE_PASS_READ, NULL, "pass_read_bytes", COLUMN_NUMBER)                         \
	COLUMN(ESTIMATE_PASS_RATE, NULL, "pass_rate_bytes", COLUMN_NUMBER)                         \
	COLUMN(ESTIMATE_RATE_FROM, NULL, "pass_rate_from", COLUMN_TEXT)                            \
	COLUMN(ESTIMATE_PASS_TIME, "TIME", "pass_seconds", COLUMN_NUMBER)                          \
	COLUMN(ESTIMATE_PASS_MEMORY, NULL, "pass_memory_bytes", COLUMN_NUMBER)                     \
	COLUMN(ESTIMATE_STORE, "STORE", "store_bytes", COLUMN_NUMBER)                              \
	COLUMN(ESTIMATE_METADATA, NULL, "metadata_bytes", COLUMN_NUMBER)                           \
	COLUMN(ESTIMATE_IDENTICAL_BOUNDS, NULL, "identical", COLUMN_TABLE)                         \
	COLUMN(ESTIMATE_ZEROS_BOUNDS, NULL, "zeros", COLUMN_TABLE)                                 \
	COLUMN(ESTIMATE_BLOCKS, NULL, "blocks", COLUMN_TABLE)

TABLE_COLUMNS(columns, ESTIMATE_COLUMNS);

const TableKind table_of_estimate = { "estimates", columns, G_N_ELEMENTS(columns),
				      "dedupctl-estimate", 2 };

enum { CURVE_OF, CURVE_FREED, CURVE_LOW, CURVE_HIGH };

#define CURVE_COLUMNS(heading, key)                                                                \
	{                                                                                          \
		[CURVE_OF] = { heading, key, COLUMN_NUMBER },                                      \
		[CURVE_FREED] = { "FREES", "bytes", COLUMN_NUMBER },                               \
		[CURVE_LOW] = { "LEAST", "low_bytes", COLUMN_NUMBER },                             \
		[CURVE_HIGH] = { "MOST", "high_bytes", COLUMN_NUMBER },                            \
	}

static const TableColumn block_columns[] = CURVE_COLUMNS("FIXED BLOCKS", "block_bytes");
static const TableColumn bounds_columns[] = CURVE_COLUMNS(NULL, "unit_bytes");

static const TableKind block_kind = { "blocks", block_columns, G_N_ELEMENTS(block_columns), NULL,
				      0 };
static const TableKind bounds_kind = { "bounds", bounds_columns, G_N_ELEMENTS(bounds_columns), NULL,
				       0 };

static void add_point(Table *table, const Bounded *bytes)
{
	table_set_size(table, CURVE_FREED, bytes->bytes);
	table_set_size(table, CURVE_LOW, bytes->low);
	table_set_size(table, CURVE_HIGH, bytes->high);
}

static Table *bounds_table(const Options *options, const Bounded *bytes)
{
	Table *table = table_new(&bounds_kind, options);

	table_add_row(table);
	add_point(table, bytes);
	return table;
}

static Table *blocks_table(const Options *options, const Estimate *estimate)
{
	Table *table = table_new(&block_kind, options);

	for (size_t i = 0; i < ESTIMATE_BLOCK_SIZES; i++) {
		table_add_row(table);
		table_set_size(table, CURVE_OF, estimate_block_bytes[i]);
		add_point(table, &estimate->blocks[i]);
	}
	return table;
}

static void set_curves(Table *table, const Options *options, const Estimate *estimate)
{
	g_autoptr(Table) identical = bounds_table(options, &estimate->identical);
	g_autoptr(Table) zeros = bounds_table(options, &estimate->zeros);
	g_autoptr(Table) blocks = blocks_table(options, estimate);

	table_set_table(table, ESTIMATE_IDENTICAL_BOUNDS, identical);
	table_set_table(table, ESTIMATE_ZEROS_BOUNDS, zeros);
	table_set_table(table, ESTIMATE_BLOCKS, blocks);
}

static char *percent_text(double fraction)
{
	return fraction >= 1 ? g_strdup("all") : g_strdup_printf("%.4g%%", fraction * 100);
}

static void set_forecast(Table *table, const EstimateForecast *forecast)
{
	table_set_size(table, ESTIMATE_PASS_READ, forecast->read_bytes);
	table_set_size(table, ESTIMATE_PASS_RATE, forecast->rate_bytes);
	table_set_text(table, ESTIMATE_RATE_FROM, rate_origin_name(forecast->rate_origin));
	table_set_duration(table, ESTIMATE_PASS_TIME, forecast->usec);
	table_set_size(table, ESTIMATE_PASS_MEMORY, forecast->memory_bytes);
	table_set_size(table, ESTIMATE_STORE, forecast->store_bytes);
}

void estimate_table_add(Table *table, const Options *options, const EstimateSubject *subject,
			const Estimate *estimate, const EstimateForecast *forecast)
{
	g_autofree char *sample = percent_text(estimate->fraction);
	const Bounded *pass = &estimate->pass;

	table_add_row(table);
	table_set_escaped(table, ESTIMATE_MOUNT, subject->mount_point);
	table_set_text(table, ESTIMATE_UUID, subject->uuid);
	table_set_text(table, ESTIMATE_KIND, subject->kind);
	table_set_text(table, ESTIMATE_BY, estimate->by_checksums ? "checksums" : "read");
	table_set_text(table, ESTIMATE_PERCENT, sample);
	table_set_count(table, ESTIMATE_FILES, estimate->n_files);
	table_set_count(table, ESTIMATE_LEFT_OUT, estimate->n_left_out);
	table_set_count(table, ESTIMATE_UNREADABLE, estimate->n_unreadable);
	table_set_size(table, ESTIMATE_DATA, estimate->data_bytes);
	table_set_size(table, ESTIMATE_SHARED, estimate->shared_bytes);
	table_set_size(table, ESTIMATE_PASS, pass->bytes);
	table_set_size(table, ESTIMATE_LOW, pass->low);
	table_set_size(table, ESTIMATE_HIGH, pass->high);
	/* Without access to the trees, this is not known. */
	if (estimate->by_checksums) {
		table_set_size(table, ESTIMATE_DEFERRED, estimate->deferred_bytes);
		table_set_size(table, ESTIMATE_DEFERRED_WRITTEN, estimate->deferred_written_bytes);
	}
	table_set_size(table, ESTIMATE_IDENTICAL, estimate->identical.bytes);
	table_set_size(table, ESTIMATE_ZEROS, estimate->zeros.bytes);
	table_set_size(table, ESTIMATE_READ, estimate->read_bytes);
	set_forecast(table, forecast);
	/* A sample does not tell how many runs there are. */
	if (estimate->fraction >= 1)
		table_set_size(table, ESTIMATE_METADATA, forecast->metadata_bytes);
	set_curves(table, options, estimate);
}

static void print_deferred(const Estimate *estimate)
{
	g_autofree char *deferred = size_text(estimate->deferred_bytes);
	g_autofree char *written = size_text(estimate->deferred_written_bytes);

	if (estimate->deferred_bytes == 0)
		return;
	printf("\nIn addition to a first pass, deleting read-only snapshots would free at least "
	       "%s.\n",
	       deferred);
	if (estimate->deferred_written_bytes > 0)
		printf("A pass would write %s for that; these are not subtracted from the space "
		       "that it frees.\n",
		       written);
}

void estimate_table_print_curves(const Options *options, const EstimateSubject *subject,
				 const Estimate *estimate, const EstimateForecast *forecast)
{
	g_autoptr(Table) blocks = blocks_table(options, estimate);
	g_autofree char *where = message_terminal_text(subject->mount_point);
	g_autofree char *read = size_text(forecast->read_bytes);
	g_autofree char *rate = size_text(forecast->rate_bytes);
	g_autofree char *memory = size_text(forecast->memory_bytes);
	g_autofree char *metadata = size_text(forecast->metadata_bytes);

	printf("\n%s\n", where);
	table_print(blocks);
	print_deferred(estimate);
	printf("\nA first pass would read %s, at %s/s (%s), and sort within %s.\n", read, rate,
	       rate_origin_name(forecast->rate_origin), memory);
	if (estimate->fraction >= 1)
		printf("It would add %s of metadata.\n", metadata);
	if (estimate->fraction < 1)
		printf("All bounds hold together with a chance of 95%% at least; --full reads "
		       "everything.\n");
}

void estimate_table_draw(const EstimateSubject *subject, const Estimate *estimate)
{
	g_autofree char *where = message_terminal_text(subject->mount_point);
	uint64_t values[ESTIMATE_BLOCK_SIZES * BAR_COLUMNS] = { 0 };

	for (size_t i = 0; i < G_N_ELEMENTS(values); i++)
		if (i % BAR_COLUMNS > 0 && i % BAR_COLUMNS < BAR_COLUMNS - 1)
			values[i] = estimate->blocks[i / BAR_COLUMNS].bytes;
	g_autofree char *most = size_text(plot_largest(values, G_N_ELEMENTS(values)));

	printf("\n%s: space that fixed blocks of each size would free\n", where);
	plot_print(values, G_N_ELEMENTS(values), DRAWING_HEIGHT, "\033[32m", most);
	printf("%*s ", PLOT_LABEL_COLUMNS - 1, "");
	for (size_t i = 0; i < ESTIMATE_BLOCK_SIZES; i++) {
		bool is_large = estimate_block_bytes[i] >= 1 << 20;

		printf("%*" G_GUINT64_FORMAT "%c ", BAR_COLUMNS - 2,
		       estimate_block_bytes[i] >> (is_large ? 20 : 10), is_large ? 'M' : 'K');
	}
	putchar('\n');
}
