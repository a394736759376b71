/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stddef.h>
#include <stdint.h>

/*
 * ThriftWriter - writes one struct in Apache Thrift's compact protocol, in which Parquet has its metadata.
 *
 * Fields are written in the order of their numbers, each at most 15 above the one before.
 *
 * Thread: any.
 */
typedef struct {
	GByteArray *bytes;
	GArray *last; /* the last field of each open struct */
} ThriftWriter;

/* Begin the outermost struct. */
void thrift_writer_init(ThriftWriter *writer);

/* End it; the bytes are to be unref'd. */
GByteArray *thrift_writer_finish(ThriftWriter *writer);

void thrift_put_int32(ThriftWriter *writer, unsigned field, int32_t value);
void thrift_put_int64(ThriftWriter *writer, unsigned field, int64_t value);
void thrift_put_text(ThriftWriter *writer, unsigned field, const char *text);
void thrift_put_int32s(ThriftWriter *writer, unsigned field, const int32_t *values, size_t n);
void thrift_put_texts(ThriftWriter *writer, unsigned field, const char *const *texts, size_t n);

/* A field that is a struct, to be ended. */
void thrift_begin_struct(ThriftWriter *writer, unsigned field);
void thrift_end_struct(ThriftWriter *writer);

/* A field that is a list of @n structs.  Each one begins as an element, and is to be ended. */
void thrift_begin_structs(ThriftWriter *writer, unsigned field, size_t n);
void thrift_begin_element(ThriftWriter *writer);
