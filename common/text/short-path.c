/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/text/short-path.h"

#include "common/text/name-text.h"

#include <stdbool.h>
#include <string.h>

#define CUT "/…"

/* The bytes that stay at each end of a cut path, less partial names. */
#define END_BYTES ((SHORT_PATH_BYTES_MAX - sizeof(CUT)) / 2)

/* Room for the names next to the top.  When it is full, the lowest of them are dropped. */
#define UPPER_BYTES (4 * (size_t)SHORT_PATH_BYTES_MAX)

/* Text that is filled from its end, each name with a slash before it. */
typedef struct {
	size_t begin;
	size_t end;
	char bytes[UPPER_BYTES];
} Names;

struct ShortPath {
	bool is_long;
	Names lower; /* all names, until they are too long; then the last ones */
	Names upper; /* the names above those */
};

static void names_clear(Names *names)
{
	names->begin = names->end = sizeof(names->bytes);
}

static size_t names_length(const Names *names)
{
	return names->end - names->begin;
}

static void names_prepend(Names *names, const char *name, size_t length)
{
	names->begin -= length + 1;
	names->bytes[names->begin] = '/';
	memcpy(names->bytes + names->begin + 1, name, length);
}

/* The length of the longest prefix of @text, at most @most bytes, that ends before a slash. */
static size_t head_length(const char *text, size_t length, size_t most)
{
	if (length <= most)
		return length;
	while (most > 0 && text[most] != '/')
		most--;
	return most;
}

/* The offset of the longest suffix of @text, at most @most bytes, that begins with a slash. */
static size_t tail_begin(const char *text, size_t length, size_t most)
{
	size_t begin = length <= most ? 0 : length - most;

	while (begin < length && text[begin] != '/')
		begin++;
	return begin;
}

/* Keep only the uppermost names, at the end of the room. */
static void names_drop_lowest(Names *names)
{
	const char *text = names->bytes + names->begin;
	size_t kept = head_length(text, names_length(names), 2 * END_BYTES);

	memmove(names->bytes + sizeof(names->bytes) - kept, text, kept);
	names->end = sizeof(names->bytes);
	names->begin = names->end - kept;
}

ShortPath *short_path_new(void)
{
	ShortPath *path = g_new(ShortPath, 1);

	short_path_clear(path);
	return path;
}

void short_path_free(ShortPath *path)
{
	g_free(path);
}

void short_path_clear(ShortPath *path)
{
	path->is_long = false;
	names_clear(&path->lower);
	names_clear(&path->upper);
}

void short_path_prepend(ShortPath *path, const char *name)
{
	size_t length = MIN(strlen(name), END_BYTES);

	if (!path->is_long && names_length(&path->lower) + length < SHORT_PATH_BYTES_MAX) {
		names_prepend(&path->lower, name, length);
		return;
	}

	path->is_long = true;
	if (path->upper.begin < length + 1)
		names_drop_lowest(&path->upper);
	names_prepend(&path->upper, name, length);
}

static void append_names(GString *text, const Names *names)
{
	g_string_append_len(text, names->bytes + names->begin, (gssize)names_length(names));
}

char *short_path_text(const ShortPath *path, const char *top)
{
	g_autoptr(GString) text = g_string_new(top);

	if (text->len > 0 && text->str[text->len - 1] == '/')
		g_string_truncate(text, text->len - 1);
	append_names(text, &path->upper);
	append_names(text, &path->lower);
	return path->is_long || text->len > SHORT_PATH_BYTES_MAX
		       ? short_path_of(text->str)
		       : g_string_free(g_steal_pointer(&text), false);
}

char *short_path_of(const char *text)
{
	size_t length = strlen(text);
	size_t head, tail;

	if (length <= SHORT_PATH_BYTES_MAX)
		return g_strdup(text);

	head = head_length(text, length, END_BYTES);
	tail = tail_begin(text, length, END_BYTES);
	return g_strdup_printf("%.*s" CUT "%s", (int)head, text, text + tail);
}

char *short_path_escaped(const char *text)
{
	g_autofree char *path = short_path_of(text);

	return name_text(path, strlen(path));
}
