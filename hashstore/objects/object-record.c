/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/objects/object-record.h"

#include <string.h>

/* Bits of the first number: the state, whether the day of doubt follows, the flags. */
#define STATE_MASK    3
#define DOUBTED_SHIFT 2
#define FLAGS_SHIFT   3

typedef struct {
	const uint8_t *next;
	const uint8_t *end;
	bool valid; /* no read went beyond the end */
} Reader;

/* Write seven bits per byte, low ones first. */
static void write_number(GByteArray *bytes, uint64_t number)
{
	uint8_t out[10];
	guint n = 0;

	while (number >= 0x80) {
		out[n++] = (uint8_t)(number | 0x80);
		number >>= 7;
	}
	out[n++] = (uint8_t)number;
	g_byte_array_append(bytes, out, n);
}

static uint64_t read_number(Reader *reader)
{
	uint64_t number = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t byte;

		if (reader->next == reader->end)
			break;
		byte = *reader->next++;
		number |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return number;
	}
	reader->valid = false;

	return 0;
}

/* Write the difference of two numbers, which wraps around; small differences of any sign are short. */
static void write_difference(GByteArray *bytes, uint64_t number, uint64_t base)
{
	uint64_t difference = number - base;

	write_number(bytes, difference << 1 ^ (difference >> 63 ? UINT64_MAX : 0));
}

static uint64_t read_difference(Reader *reader, uint64_t base)
{
	uint64_t folded = read_number(reader);

	return base + (folded >> 1 ^ (folded & 1 ? UINT64_MAX : 0));
}

static void write_fixed(GByteArray *bytes, uint64_t number)
{
	uint64_t little = GUINT64_TO_LE(number);

	g_byte_array_append(bytes, (const guint8 *)&little, sizeof(little));
}

static uint64_t read_fixed(Reader *reader)
{
	uint64_t little;

	if (reader->end - reader->next < (ptrdiff_t)sizeof(little)) {
		reader->valid = false;
		return 0;
	}
	memcpy(&little, reader->next, sizeof(little));
	reader->next += sizeof(little);

	return GUINT64_FROM_LE(little);
}

void object_record_write(const Object *object, GByteArray *bytes)
{
	bool doubted = object->doubted_day != 0;
	unsigned flags = object->flags & ~(unsigned)(OBJECT_CHANGES | OBJECT_RELIES);

	flags |= object->changes > 0 ? OBJECT_CHANGES : 0;
	flags |= object->stand != 0 ? OBJECT_RELIES : 0;
	write_number(bytes, (uint64_t)object->state | (uint64_t)doubted << DOUBTED_SHIFT |
				    (uint64_t)flags << FLAGS_SHIFT);
	write_number(bytes, object->generation);
	write_number(bytes, object->size_bytes);
	write_fixed(bytes, (uint64_t)object->mtime_nsec);
	write_difference(bytes, (uint64_t)object->ctime_nsec, (uint64_t)object->mtime_nsec);
	write_difference(bytes, (uint64_t)object->btime_nsec, (uint64_t)object->ctime_nsec);
	if (doubted)
		write_number(bytes, object->doubted_day);
	if (object->state == OBJECT_SKIPPED)
		write_number(bytes, object->skip_reason);
	if (object->state == OBJECT_DONE)
		write_fixed(bytes, object->digest);
	if (object->flags & OBJECT_HAS_HEAD)
		write_fixed(bytes, object->head);
	if (flags & OBJECT_CHANGES) {
		write_number(bytes, object->changes);
		write_number(bytes, object->changed_sec);
	}
	if (flags & OBJECT_RELIES)
		write_number(bytes, object->stand);
	write_difference(bytes, object->parent, object->inode);
	if (object->name_bytes > 0)
		g_byte_array_append(bytes, object->name, (guint)object->name_bytes);
}

bool object_record_read(const uint8_t *bytes, size_t n_bytes, Object *ret)
{
	Reader reader = { .next = bytes, .end = bytes + n_bytes, .valid = true };
	uint64_t first = read_number(&reader);

	ret->state = (ObjectState)(first & STATE_MASK);
	ret->flags = (unsigned)(first >> FLAGS_SHIFT);
	ret->generation = (uint32_t)read_number(&reader);
	ret->size_bytes = read_number(&reader);
	ret->mtime_nsec = (int64_t)read_fixed(&reader);
	ret->ctime_nsec = (int64_t)read_difference(&reader, (uint64_t)ret->mtime_nsec);
	ret->btime_nsec = (int64_t)read_difference(&reader, (uint64_t)ret->ctime_nsec);
	ret->doubted_day = first >> DOUBTED_SHIFT & 1 ? (uint32_t)read_number(&reader) : 0;
	ret->skip_reason = ret->state == OBJECT_SKIPPED ? (uint32_t)read_number(&reader) : 0;
	ret->digest = ret->state == OBJECT_DONE ? read_fixed(&reader) : 0;
	ret->head = ret->flags & OBJECT_HAS_HEAD ? read_fixed(&reader) : 0;
	ret->changes = ret->flags & OBJECT_CHANGES ? (uint32_t)read_number(&reader) : 0;
	ret->changed_sec = ret->flags & OBJECT_CHANGES ? read_number(&reader) : 0;
	ret->stand = ret->flags & OBJECT_RELIES ? read_number(&reader) : 0;
	ret->flags &= ~(unsigned)(OBJECT_CHANGES | OBJECT_RELIES);
	ret->parent = read_difference(&reader, ret->inode);
	ret->name = reader.next;
	ret->name_bytes = (size_t)(reader.end - reader.next);

	return reader.valid;
}
