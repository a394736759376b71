/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * ParquetFile - writes a table as a file of Apache Parquet, which DuckDB, Spark and others read.
 *
 * It uses the least of the format: required columns, plain values, one page per column and row group, zstd.
 * Debian 12 has no C library for the format.  Rows are held in memory until a row group is full.
 *
 * The file grows at one path, and gets another one once it is complete and on the disk.
 *
 * Thread: one at a time.
 */
typedef struct ParquetFile ParquetFile;

typedef enum {
	PARQUET_INT64,
	PARQUET_TEXT, /* UTF-8 */
} ParquetType;

typedef struct {
	const char *name;
	ParquetType type;
} ParquetColumn;

/* Begin a file that grows at @made_path.  @columns is an array that outlives the file. */
ParquetFile *parquet_file_new(const char *made_path, const ParquetColumn *columns, size_t n_columns,
			      GError **error);

/* Unless parquet_file_finish() succeeded, nothing stays. */
void parquet_file_free(ParquetFile *file);

/* Fill the columns of a row in any order, then end it. */
void parquet_file_put_number(ParquetFile *file, size_t column, int64_t value);
void parquet_file_put_text(ParquetFile *file, size_t column, const char *text);
bool parquet_file_end_row(ParquetFile *file, GError **error) G_GNUC_WARN_UNUSED_RESULT;

uint64_t parquet_file_rows(const ParquetFile *file);

/* Complete the file, and rename it to @path. */
bool parquet_file_finish(ParquetFile *file, const char *path, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ParquetFile, parquet_file_free)
