/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/export/thrift-writer.h"

#include <stdbool.h>
#include <string.h>

/* Types of the compact protocol. */
enum {
	TYPE_I32 = 5,
	TYPE_I64 = 6,
	TYPE_BINARY = 8,
	TYPE_LIST = 9,
	TYPE_STRUCT = 12,
};

static void put_byte(ThriftWriter *writer, unsigned byte)
{
	const uint8_t one = (uint8_t)byte;

	g_byte_array_append(writer->bytes, &one, 1);
}

static void put_varint(ThriftWriter *writer, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		put_byte(writer, (unsigned)(value & 0x7f) | 0x80);
	put_byte(writer, (unsigned)value);
}

/* Small numbers of either sign become small ones. */
static void put_zigzag(ThriftWriter *writer, int64_t value)
{
	put_varint(writer, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

static void put_binary(ThriftWriter *writer, const char *text)
{
	size_t length = strlen(text);

	put_varint(writer, length);
	g_byte_array_append(writer->bytes, (const uint8_t *)text, (guint)length);
}

static void put_field(ThriftWriter *writer, unsigned field, unsigned type)
{
	unsigned *last = &g_array_index(writer->last, unsigned, writer->last->len - 1);

	g_assert(field > *last && field - *last <= 15);
	put_byte(writer, (field - *last) << 4 | type);
	*last = field;
}

static void put_list(ThriftWriter *writer, unsigned field, unsigned type, size_t n)
{
	put_field(writer, field, TYPE_LIST);
	if (n < 15) {
		put_byte(writer, (unsigned)n << 4 | type);
		return;
	}
	put_byte(writer, 0xf0 | type);
	put_varint(writer, n);
}

void thrift_writer_init(ThriftWriter *writer)
{
	writer->bytes = g_byte_array_new();
	writer->last = g_array_new(false, false, sizeof(unsigned));
	thrift_begin_element(writer);
}

GByteArray *thrift_writer_finish(ThriftWriter *writer)
{
	thrift_end_struct(writer);
	g_assert(writer->last->len == 0);
	g_clear_pointer(&writer->last, g_array_unref);
	return g_steal_pointer(&writer->bytes);
}

void thrift_put_int32(ThriftWriter *writer, unsigned field, int32_t value)
{
	put_field(writer, field, TYPE_I32);
	put_zigzag(writer, value);
}

void thrift_put_int64(ThriftWriter *writer, unsigned field, int64_t value)
{
	put_field(writer, field, TYPE_I64);
	put_zigzag(writer, value);
}

void thrift_put_text(ThriftWriter *writer, unsigned field, const char *text)
{
	put_field(writer, field, TYPE_BINARY);
	put_binary(writer, text);
}

void thrift_put_int32s(ThriftWriter *writer, unsigned field, const int32_t *values, size_t n)
{
	put_list(writer, field, TYPE_I32, n);
	for (size_t i = 0; i < n; i++)
		put_zigzag(writer, values[i]);
}

void thrift_put_texts(ThriftWriter *writer, unsigned field, const char *const *texts, size_t n)
{
	put_list(writer, field, TYPE_BINARY, n);
	for (size_t i = 0; i < n; i++)
		put_binary(writer, texts[i]);
}

void thrift_begin_struct(ThriftWriter *writer, unsigned field)
{
	put_field(writer, field, TYPE_STRUCT);
	thrift_begin_element(writer);
}

void thrift_end_struct(ThriftWriter *writer)
{
	put_byte(writer, 0);
	g_array_set_size(writer->last, writer->last->len - 1);
}

void thrift_begin_structs(ThriftWriter *writer, unsigned field, size_t n)
{
	put_list(writer, field, TYPE_STRUCT, n);
}

void thrift_begin_element(ThriftWriter *writer)
{
	const unsigned none = 0;

	g_array_append_val(writer->last, none);
}
