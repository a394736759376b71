/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/export/parquet-file.h"

#include "cli/export/thrift-writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

/* A row group ends with whichever comes first.  Sizes of pages have 32 bits. */
#define GROUP_ROWS  ((uint64_t)1 << 20)
#define GROUP_BYTES ((size_t)64 << 20)

#define ZSTD_LEVEL 3

#define MAGIC "PAR1"

/* Numbers and fields of parquet.thrift in the Parquet format, version 2.10. */
enum {
	TYPE_INT64 = 2,
	TYPE_BYTE_ARRAY = 6,
	REPETITION_REQUIRED = 0,
	CONVERTED_UTF8 = 0,
	ENCODING_PLAIN = 0,
	ENCODING_RLE = 3,
	CODEC_ZSTD = 6,
	PAGE_OF_DATA = 0,
};

/* The location of a column of a row group. */
typedef struct {
	uint64_t offset;
	uint64_t plain_bytes;
	uint64_t packed_bytes;
} Chunk;

struct ParquetFile {
	char *made_path;
	FILE *file;
	const ParquetColumn *columns;
	size_t n_columns;
	uint64_t offset; /* in the file */
	uint64_t n_rows; /* of the row groups that were written */
	/* The present row group. */
	uint64_t n_group_rows;
	GByteArray **values; /* of each column */
	/* Those that were written. */
	GArray *chunks;     /* Chunk: n_columns of each */
	GArray *group_rows; /* uint64_t */
	ZSTD_CCtx *zstd;
	GByteArray *packed;
};

static bool fail(const ParquetFile *file, GError **error)
{
	int cause = errno;

	g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(cause), "cannot write %s: %s",
		    file->made_path, g_strerror(cause));
	return false;
}

static bool write_bytes(ParquetFile *file, const void *bytes, size_t n, GError **error)
{
	file->offset += n;
	return fwrite(bytes, 1, n, file->file) == n || fail(file, error);
}

ParquetFile *parquet_file_new(const char *made_path, const ParquetColumn *columns, size_t n_columns,
			      GError **error)
{
	g_autoptr(ParquetFile) file = g_new0(ParquetFile, 1);
	int fd;

	file->made_path = g_strdup(made_path);
	file->columns = columns;
	file->n_columns = n_columns;
	file->values = g_new0(GByteArray *, n_columns);
	for (size_t i = 0; i < n_columns; i++)
		file->values[i] = g_byte_array_new();
	file->chunks = g_array_new(false, false, sizeof(Chunk));
	file->group_rows = g_array_new(false, false, sizeof(uint64_t));
	file->packed = g_byte_array_new();
	file->zstd = ZSTD_createCCtx();

	fd = open(file->made_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	file->file = fd < 0 ? NULL : fdopen(fd, "w");
	if (!file->file) {
		fail(file, error);
		return NULL;
	}
	return write_bytes(file, MAGIC, strlen(MAGIC), error) ? g_steal_pointer(&file) : NULL;
}

void parquet_file_free(ParquetFile *file)
{
	if (!file)
		return;

	if (file->file) {
		fclose(file->file);
		unlink(file->made_path);
	}
	for (size_t i = 0; i < file->n_columns; i++)
		g_byte_array_unref(file->values[i]);
	g_free(file->values);
	g_array_unref(file->chunks);
	g_array_unref(file->group_rows);
	g_byte_array_unref(file->packed);
	ZSTD_freeCCtx(file->zstd);
	g_free(file->made_path);
	g_free(file);
}

void parquet_file_put_number(ParquetFile *file, size_t column, int64_t value)
{
	int64_t little = GINT64_TO_LE(value);

	g_byte_array_append(file->values[column], (const uint8_t *)&little, sizeof(little));
}

void parquet_file_put_text(ParquetFile *file, size_t column, const char *text)
{
	uint32_t length = (uint32_t)strlen(text);
	uint32_t little = GUINT32_TO_LE(length);

	g_byte_array_append(file->values[column], (const uint8_t *)&little, sizeof(little));
	g_byte_array_append(file->values[column], (const uint8_t *)text, length);
}

/* The header of a page with the values of one column. */
static GByteArray *page_header(uint64_t n_values, size_t plain_bytes, size_t packed_bytes)
{
	ThriftWriter header;

	thrift_writer_init(&header);
	thrift_put_int32(&header, 1, PAGE_OF_DATA);
	thrift_put_int32(&header, 2, (int32_t)plain_bytes);
	thrift_put_int32(&header, 3, (int32_t)packed_bytes);
	thrift_begin_struct(&header, 5);
	thrift_put_int32(&header, 1, (int32_t)n_values);
	thrift_put_int32(&header, 2, ENCODING_PLAIN);
	thrift_put_int32(&header, 3, ENCODING_RLE);
	thrift_put_int32(&header, 4, ENCODING_RLE);
	thrift_end_struct(&header);
	return thrift_writer_finish(&header);
}

static bool write_column(ParquetFile *file, GByteArray *values, GError **error)
{
	Chunk chunk = { .offset = file->offset };
	size_t packed_bytes;

	g_byte_array_set_size(file->packed, (guint)ZSTD_compressBound(values->len));
	packed_bytes = ZSTD_compressCCtx(file->zstd, file->packed->data, file->packed->len,
					 values->data, values->len, ZSTD_LEVEL);
	if (ZSTD_isError(packed_bytes)) {
		errno = ENOMEM;
		return fail(file, error);
	}

	g_autoptr(GByteArray) header = page_header(file->n_group_rows, values->len, packed_bytes);
	if (!write_bytes(file, header->data, header->len, error) ||
	    !write_bytes(file, file->packed->data, packed_bytes, error))
		return false;

	chunk.plain_bytes = header->len + values->len;
	chunk.packed_bytes = header->len + packed_bytes;
	g_array_append_val(file->chunks, chunk);
	g_byte_array_set_size(values, 0);
	return true;
}

static bool write_group(ParquetFile *file, GError **error)
{
	if (file->n_group_rows == 0)
		return true;
	for (size_t i = 0; i < file->n_columns; i++)
		if (!write_column(file, file->values[i], error))
			return false;

	g_array_append_val(file->group_rows, file->n_group_rows);
	file->n_rows += file->n_group_rows;
	file->n_group_rows = 0;
	return true;
}

bool parquet_file_end_row(ParquetFile *file, GError **error)
{
	bool is_full = ++file->n_group_rows == GROUP_ROWS;

	for (size_t i = 0; i < file->n_columns; i++)
		is_full |= file->values[i]->len >= GROUP_BYTES;
	return !is_full || write_group(file, error);
}

uint64_t parquet_file_rows(const ParquetFile *file)
{
	return file->n_rows + file->n_group_rows;
}

static void put_schema(const ParquetFile *file, ThriftWriter *footer)
{
	thrift_begin_structs(footer, 2, file->n_columns + 1);
	thrift_begin_element(footer);
	thrift_put_text(footer, 4, "dedupd");
	thrift_put_int32(footer, 5, (int32_t)file->n_columns);
	thrift_end_struct(footer);
	for (const ParquetColumn *column = file->columns; column < file->columns + file->n_columns;
	     column++) {
		bool is_text = column->type == PARQUET_TEXT;

		thrift_begin_element(footer);
		thrift_put_int32(footer, 1, is_text ? TYPE_BYTE_ARRAY : TYPE_INT64);
		thrift_put_int32(footer, 3, REPETITION_REQUIRED);
		thrift_put_text(footer, 4, column->name);
		if (is_text)
			thrift_put_int32(footer, 6, CONVERTED_UTF8);
		thrift_end_struct(footer);
	}
}

static void put_chunk(ThriftWriter *footer, const ParquetColumn *column, const Chunk *chunk,
		      uint64_t n_rows)
{
	const int32_t encodings[] = { ENCODING_PLAIN, ENCODING_RLE };

	thrift_begin_element(footer);
	thrift_put_int64(footer, 2, (int64_t)chunk->offset);
	thrift_begin_struct(footer, 3);
	thrift_put_int32(footer, 1, column->type == PARQUET_TEXT ? TYPE_BYTE_ARRAY : TYPE_INT64);
	thrift_put_int32s(footer, 2, encodings, G_N_ELEMENTS(encodings));
	thrift_put_texts(footer, 3, &column->name, 1);
	thrift_put_int32(footer, 4, CODEC_ZSTD);
	thrift_put_int64(footer, 5, (int64_t)n_rows);
	thrift_put_int64(footer, 6, (int64_t)chunk->plain_bytes);
	thrift_put_int64(footer, 7, (int64_t)chunk->packed_bytes);
	thrift_put_int64(footer, 9, (int64_t)chunk->offset);
	thrift_end_struct(footer);
	thrift_end_struct(footer);
}

static void put_groups(const ParquetFile *file, ThriftWriter *footer)
{
	thrift_begin_structs(footer, 4, file->group_rows->len);
	for (guint i = 0; i < file->group_rows->len; i++) {
		const Chunk *chunks = &g_array_index(file->chunks, Chunk, i * file->n_columns);
		uint64_t n_rows = g_array_index(file->group_rows, uint64_t, i);
		uint64_t plain_bytes = 0;

		thrift_begin_element(footer);
		thrift_begin_structs(footer, 1, file->n_columns);
		for (size_t at = 0; at < file->n_columns; at++) {
			put_chunk(footer, &file->columns[at], &chunks[at], n_rows);
			plain_bytes += chunks[at].plain_bytes;
		}
		thrift_put_int64(footer, 2, (int64_t)plain_bytes);
		thrift_put_int64(footer, 3, (int64_t)n_rows);
		thrift_end_struct(footer);
	}
}

static bool write_footer(ParquetFile *file, GError **error)
{
	ThriftWriter writer;
	uint32_t length;

	thrift_writer_init(&writer);
	thrift_put_int32(&writer, 1, 1);
	put_schema(file, &writer);
	thrift_put_int64(&writer, 3, (int64_t)file->n_rows);
	put_groups(file, &writer);
	thrift_put_text(&writer, 6, "dedupctl");

	g_autoptr(GByteArray) footer = thrift_writer_finish(&writer);
	length = GUINT32_TO_LE(footer->len);
	return write_bytes(file, footer->data, footer->len, error) &&
	       write_bytes(file, &length, sizeof(length), error) &&
	       write_bytes(file, MAGIC, strlen(MAGIC), error);
}

bool parquet_file_finish(ParquetFile *file, const char *path, GError **error)
{
	if (!write_group(file, error) || !write_footer(file, error))
		return false;

	if (fflush(file->file) != 0 || fsync(fileno(file->file)) != 0 ||
	    rename(file->made_path, path) != 0)
		return fail(file, error);
	fclose(g_steal_pointer(&file->file));
	return true;
}
