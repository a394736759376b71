/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/export/parquet-file.h"

#include "cli/export/thrift-writer.h"

#include <glib/gstdio.h>
#include <string.h>

static const ParquetColumn columns[] = {
	{ "number", PARQUET_INT64 },
	{ "text", PARQUET_TEXT },
};

/* The bytes are those of the description of the compact protocol. */
static void test_thrift_is_as_its_protocol_says(void)
{
	const uint8_t expected[] = { 0x15, 0x03, 0x26, 0xac, 0x02, 0x18, 2,    'a', 'b', 0x1c,
				     0x15, 0x02, 0,    0x19, 0x1c, 0x15, 0x04, 0,   0 };
	ThriftWriter writer;

	thrift_writer_init(&writer);
	thrift_put_int32(&writer, 1, -2);
	thrift_put_int64(&writer, 3, 150);
	thrift_put_text(&writer, 4, "ab");
	thrift_begin_struct(&writer, 5);
	thrift_put_int32(&writer, 1, 1);
	thrift_end_struct(&writer);
	thrift_begin_structs(&writer, 6, 1);
	thrift_begin_element(&writer);
	thrift_put_int32(&writer, 1, 2);
	thrift_end_struct(&writer);

	g_autoptr(GByteArray) bytes = thrift_writer_finish(&writer);
	g_assert_cmpmem(bytes->data, bytes->len, expected, sizeof(expected));
}

static void test_a_file_appears_once_it_is_whole(void)
{
	g_autofree char *directory = g_dir_make_tmp("dedupd-parquet-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(directory, "rows.parquet", NULL);
	g_autofree char *made = g_strconcat(path, ".new", NULL);
	g_autoptr(GError) error = NULL;
	g_autofree char *text = NULL;
	uint32_t footer_bytes;
	gsize length;

	for (int finishes = 0; finishes < 2; finishes++) {
		g_autoptr(ParquetFile) file =
			parquet_file_new(made, columns, G_N_ELEMENTS(columns), &error);

		g_assert_no_error(error);
		parquet_file_put_number(file, 0, -1);
		parquet_file_put_text(file, 1, "one");
		g_assert_true(parquet_file_end_row(file, &error));
		g_assert_cmpuint(parquet_file_rows(file), ==, 1);
		g_assert_true(g_file_test(made, G_FILE_TEST_EXISTS));
		if (finishes)
			g_assert_true(parquet_file_finish(file, path, &error));
	}

	g_assert_false(g_file_test(made, G_FILE_TEST_EXISTS));
	g_assert_true(g_file_get_contents(path, &text, &length, &error));
	g_assert_no_error(error);
	g_assert_cmpmem(text, 4, "PAR1", 4);
	g_assert_cmpmem(text + length - 4, 4, "PAR1", 4);
	memcpy(&footer_bytes, text + length - 8, sizeof(footer_bytes));
	g_assert_cmpuint(GUINT32_FROM_LE(footer_bytes), <, length - 8);
	g_assert_cmpint(g_remove(path), ==, 0);
	g_assert_cmpint(g_rmdir(directory), ==, 0);
}

static void test_what_cannot_be_made_is_named(void)
{
	g_autoptr(GError) error = NULL;

	g_assert_null(parquet_file_new("/nowhere/rows", columns, G_N_ELEMENTS(columns), &error));
	g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT);
	g_assert_nonnull(strstr(error->message, "/nowhere/rows"));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/parquet-file/thrift-is-as-its-protocol-says",
			test_thrift_is_as_its_protocol_says);
	g_test_add_func("/parquet-file/a-file-appears-once-it-is-whole",
			test_a_file_appears_once_it_is_whole);
	g_test_add_func("/parquet-file/what-cannot-be-made-is-named",
			test_what_cannot_be_made_is_named);
	return g_test_run();
}
