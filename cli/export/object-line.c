/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/export/object-line.h"

#include "common/files/skip.h"
#include "common/text/name-text.h"

#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>

/* The kinds of objects, by their subvolume. */
typedef enum {
	OF_FILE = 1 << 0,
	OF_EXTENT = 1 << 1,
	OF_STRETCH = 1 << 2,
	OF_DIRECTORY = 1 << 3,
} Kind;

#define OF_OBJECT (OF_FILE | OF_EXTENT | OF_STRETCH)

static const struct {
	Kind kind;
	const char *type;
} types[] = {
	{ OF_FILE, "file" },
	{ OF_EXTENT, "extent" },
	{ OF_STRETCH, "stretch" },
};

typedef enum {
	NUMBER_32,
	NUMBER_64,
	TEXT_64, /* a number of 64 bits with its sign, as decimal text */
} FieldType;

typedef struct {
	const char *name;
	FieldType type;
	size_t offset; /* in Object or DirectoryName */
	unsigned kinds;
} Field;

#define OBJECT(member)    offsetof(Object, member)
#define DIRECTORY(member) offsetof(DirectoryName, member)

/* objects.h describes the members of each kind. */
static const Field fields[] = {
	{ "id", NUMBER_32, OBJECT(id), OF_OBJECT },
	{ "subvolume", NUMBER_64, OBJECT(subvolume), OF_FILE },
	{ "inode", NUMBER_64, OBJECT(inode), OF_FILE },
	{ "generation", NUMBER_32, OBJECT(generation), OF_FILE },
	{ "size_bytes", NUMBER_64, OBJECT(size_bytes), OF_OBJECT },
	{ "born_nsec", TEXT_64, OBJECT(btime_nsec), OF_FILE },
	{ "modified_nsec", TEXT_64, OBJECT(mtime_nsec), OF_FILE },
	{ "changed_nsec", TEXT_64, OBJECT(ctime_nsec), OF_FILE },
	{ "directory", NUMBER_64, OBJECT(parent), OF_FILE },
	{ "stand", TEXT_64, OBJECT(stand), OF_FILE },
	{ "address", NUMBER_64, OBJECT(inode), OF_EXTENT },
	{ "transaction", NUMBER_64, OBJECT(ctime_nsec), OF_EXTENT },
	{ "summed_blocks", NUMBER_64, OBJECT(mtime_nsec), OF_EXTENT },
	{ "zero_bytes", NUMBER_64, OBJECT(btime_nsec), OF_EXTENT },
	{ "stretch", NUMBER_64, OBJECT(parent), OF_EXTENT },
	{ "number", NUMBER_64, OBJECT(inode), OF_STRETCH },
	{ "subvolume", NUMBER_64, OBJECT(ctime_nsec), OF_STRETCH },
	{ "inode", NUMBER_64, OBJECT(parent), OF_STRETCH },
	{ "offset_bytes", NUMBER_64, OBJECT(mtime_nsec), OF_STRETCH },
	{ "rank_bytes", NUMBER_32, OBJECT(generation), OF_EXTENT | OF_STRETCH },
	{ "doubted_day", NUMBER_32, OBJECT(doubted_day), OF_OBJECT },
	{ "times_changed", NUMBER_32, OBJECT(changes), OF_OBJECT },
	{ "last_changed_sec", NUMBER_64, OBJECT(changed_sec), OF_OBJECT },
	{ "subvolume", NUMBER_64, DIRECTORY(subvolume), OF_DIRECTORY },
	{ "inode", NUMBER_64, DIRECTORY(inode), OF_DIRECTORY },
	{ "parent_subvolume", NUMBER_64, DIRECTORY(parent_subvolume), OF_DIRECTORY },
	{ "parent", NUMBER_64, DIRECTORY(parent), OF_DIRECTORY },
	{ "stamp", TEXT_64, DIRECTORY(stamp), OF_DIRECTORY },
};

static const struct {
	unsigned flag;
	const char *name;
} flag_names[] = {
	{ OBJECT_RACY, "racy" },
	{ OBJECT_IMMUTABLE, "immutable" },
	{ OBJECT_NO_COW, "no-cow" },
	{ OBJECT_SHARED, "shared" },
	{ OBJECT_KEEP_ZEROS, "keep-zeros" },
	{ OBJECT_FOREIGN, "foreign" },
	{ OBJECT_PLAIN, "plain" },
	{ OBJECT_WHOLE, "whole" },
	{ OBJECT_CLONED, "cloned" },
};

static const char *const state_names[] = {
	[OBJECT_DONE] = "done",
	[OBJECT_SKIPPED] = "skipped",
	[OBJECT_SEEN] = "seen",
};

static Kind kind_of(const Object *object, bool has_extents)
{
	if (has_extents && object->subvolume == OBJECT_EXTENTS)
		return OF_EXTENT;
	if (has_extents && object->subvolume == OBJECT_STRETCHES)
		return OF_STRETCH;
	return OF_FILE;
}

static const char *type_of(Kind kind)
{
	for (size_t i = 0; i < G_N_ELEMENTS(types); i++)
		if (types[i].kind == kind)
			return types[i].type;
	g_assert_not_reached();
}

static bool find_type(const char *type, Kind *ret)
{
	for (size_t i = 0; i < G_N_ELEMENTS(types); i++) {
		if (strcmp(types[i].type, type) != 0)
			continue;
		*ret = types[i].kind;
		return true;
	}
	return false;
}

static void set_text(json_t *line, const char *name, const char *text)
{
	json_object_set_new(line, name, json_string(text));
}

static void write_field(json_t *line, const Field *field, const void *from)
{
	const uint8_t *member = (const uint8_t *)from + field->offset;
	char text[32];
	uint32_t narrow;
	int64_t wide;

	memcpy(&narrow, member, sizeof(narrow));
	if (field->type == NUMBER_32)
		wide = narrow;
	else
		memcpy(&wide, member, sizeof(wide));
	if (wide == 0)
		return;

	if (field->type == TEXT_64) {
		g_snprintf(text, sizeof(text), "%" PRId64, wide);
		set_text(line, field->name, text);
	} else {
		json_object_set_new(line, field->name, json_integer(wide));
	}
}

static void write_fields(json_t *line, Kind kind, const void *from)
{
	for (size_t i = 0; i < G_N_ELEMENTS(fields); i++)
		if (fields[i].kinds & kind)
			write_field(line, &fields[i], from);
}

static void write_name(json_t *line, const uint8_t *name, size_t name_bytes)
{
	g_autofree char *text = name_bytes > 0 ? name_text(name, name_bytes) : NULL;

	if (text)
		set_text(line, "name", text);
}

static json_t *flags_to_json(unsigned flags)
{
	json_t *names = json_array();

	for (size_t i = 0; i < G_N_ELEMENTS(flag_names); i++)
		if (flags & flag_names[i].flag)
			json_array_append_new(names, json_string(flag_names[i].name));
	return names;
}

bool object_line_takes(const Object *object)
{
	SkipReason ignored;

	/* Reasons that are no longer used have no name. */
	return object->state != OBJECT_HALF &&
	       (object->state != OBJECT_SKIPPED ||
		skip_reason_parse(skip_reason_name(object->skip_reason), &ignored));
}

json_t *object_line_write(const Object *object, bool has_extents, const char *path)
{
	Kind kind = kind_of(object, has_extents);
	json_t *line = json_object();

	set_text(line, "type", type_of(kind));
	write_fields(line, kind, object);
	write_name(line, object->name, object->name_bytes);
	if (path && strlen(path) <= EXPORT_TEXT_MOST)
		set_text(line, "path", path);
	set_text(line, "state", state_names[object->state]);
	if (object->state == OBJECT_SKIPPED)
		set_text(line, "reason", skip_reason_name(object->skip_reason));
	json_object_set_new(line, "flags", flags_to_json(object->flags));
	if (object->state == OBJECT_DONE)
		json_object_set_new(line, "digest", export_digest_new(object->digest));
	if (object->flags & OBJECT_HAS_HEAD)
		json_object_set_new(line, "head", export_digest_new(object->head));

	return line;
}

bool object_line_is_type(const char *type)
{
	Kind ignored;

	return find_type(type, &ignored);
}

static bool read_text_64(const json_t *line, const char *name, int64_t *ret, GError **error)
{
	const json_t *value = json_object_get(line, name);
	const char *text = json_string_value(value);

	*ret = 0;
	if (!value)
		return true;
	if (text && g_ascii_string_to_signed(text, 10, INT64_MIN, INT64_MAX, ret, NULL))
		return true;

	return export_set_wrong(name, "a number as text", error);
}

static bool read_field(const json_t *line, const Field *field, void *to, GError **error)
{
	uint8_t *member = (uint8_t *)to + field->offset;
	uint64_t most = field->type == NUMBER_32 ? UINT32_MAX : INT64_MAX;
	uint64_t number;
	uint32_t narrow;
	int64_t wide;

	if (field->type == TEXT_64) {
		if (!read_text_64(line, field->name, &wide, error))
			return false;
		memcpy(member, &wide, sizeof(wide));
		return true;
	}

	if (!export_number_read(line, field->name, most, &number, error))
		return false;
	narrow = (uint32_t)number;
	memcpy(member, field->type == NUMBER_32 ? (void *)&narrow : (void *)&number,
	       field->type == NUMBER_32 ? sizeof(narrow) : sizeof(number));
	return true;
}

static bool read_fields(const json_t *line, Kind kind, void *to, GError **error)
{
	for (size_t i = 0; i < G_N_ELEMENTS(fields); i++)
		if (fields[i].kinds & kind && !read_field(line, &fields[i], to, error))
			return false;
	return true;
}

/* With @is_path it may be more than one name. */
static bool read_name(const json_t *line, bool is_path, GByteArray *name, GError **error)
{
	const json_t *value = json_object_get(line, "name");
	const char *text = json_string_value(value);
	size_t n_bytes = 0;

	g_byte_array_set_size(name, 0);
	if (!value)
		return true;

	g_autofree char *bytes = text ? name_text_bytes(text, &n_bytes) : NULL;
	if (!bytes || memchr(bytes, '\0', n_bytes) ||
	    (!is_path && (n_bytes > NAME_MAX || memchr(bytes, '/', n_bytes) ||
			  strcmp(bytes, ".") == 0 || strcmp(bytes, "..") == 0)))
		return export_set_wrong("name", is_path ? "a path" : "the name of a file", error);

	g_byte_array_append(name, (const guint8 *)bytes, (guint)n_bytes);
	return true;
}

static bool read_digest(const json_t *line, const char *name, uint64_t *ret, GError **error)
{
	return export_digest_read(json_object_get(line, name), ret) ||
	       export_set_wrong(name, "16 hexadecimal digits", error);
}

static bool read_flag(const json_t *value, unsigned *flags)
{
	for (size_t i = 0; i < G_N_ELEMENTS(flag_names); i++) {
		if (g_strcmp0(json_string_value(value), flag_names[i].name) != 0)
			continue;
		*flags |= flag_names[i].flag;
		return true;
	}
	return false;
}

static bool read_flags(const json_t *line, unsigned *ret, GError **error)
{
	const json_t *names = json_object_get(line, "flags");

	*ret = 0;
	if (names && !json_is_array(names))
		return export_set_wrong("flags", "an array", error);
	for (size_t i = 0; i < json_array_size(names); i++)
		if (!read_flag(json_array_get(names, i), ret))
			return export_set_wrong("flags", "an array of flags that are known", error);
	return true;
}

static bool read_reason(const json_t *line, uint32_t *ret, GError **error)
{
	SkipReason reason;

	if (!skip_reason_parse(json_string_value(json_object_get(line, "reason")), &reason))
		return export_set_wrong("reason", "a reason that is known", error);

	*ret = reason;
	return true;
}

static bool read_state(const json_t *line, Object *ret, GError **error)
{
	const char *name = json_string_value(json_object_get(line, "state"));

	for (size_t i = 0; i < G_N_ELEMENTS(state_names); i++) {
		if (!name || g_strcmp0(state_names[i], name) != 0)
			continue;
		ret->state = (ObjectState)i;
		if (ret->state == OBJECT_SKIPPED)
			return read_reason(line, &ret->skip_reason, error);
		return ret->state != OBJECT_DONE ||
		       read_digest(line, "digest", &ret->digest, error);
	}
	return export_set_wrong("state", "done, skipped or seen", error);
}

/* Check combinations of members that no object has. */
static bool check(const Object *object, Kind kind, bool has_extents, GError **error)
{
	if (object->id == 0 || object->id == UINT32_MAX)
		return export_set_wrong("id", "the id of an object", error);
	if (kind != OF_FILE && !has_extents)
		return export_set_wrong("type", "one that there is on XFS", error);
	if (kind != OF_FILE && object->size_bytes > OBJECT_EXTENT_BYTES_MAX)
		return export_set_wrong("size_bytes", "what an extent can have", error);
	if (kind == OF_FILE && (object->subvolume > OBJECT_STRETCHES) != has_extents)
		return export_set_wrong("subvolume", "one that such a filesystem has", error);
	return true;
}

bool object_line_read(const json_t *line, bool has_extents, GByteArray *name, Object *ret,
		      GError **error)
{
	Kind kind = OF_FILE;

	find_type(json_string_value(json_object_get(line, "type")), &kind);
	*ret = (Object){ .subvolume = kind == OF_STRETCH ? OBJECT_STRETCHES : OBJECT_EXTENTS };
	if (!read_fields(line, kind, ret, error) || !read_name(line, false, name, error) ||
	    !read_flags(line, &ret->flags, error) || !read_state(line, ret, error) ||
	    !check(ret, kind, has_extents, error))
		return false;

	ret->name = name->data;
	ret->name_bytes = name->len;
	if (!json_object_get(line, "head"))
		return true;
	ret->flags |= OBJECT_HAS_HEAD;
	return read_digest(line, "head", &ret->head, error);
}

json_t *directory_line_write(const DirectoryName *directory)
{
	json_t *line = json_object();

	set_text(line, "type", "directory");
	write_fields(line, OF_DIRECTORY, directory);
	write_name(line, directory->name, directory->name_bytes);
	return line;
}

bool directory_line_read(const json_t *line, GByteArray *name, DirectoryName *ret, GError **error)
{
	*ret = (DirectoryName){ 0 };
	if (!read_fields(line, OF_DIRECTORY, ret, error) ||
	    !read_name(line, ret->parent == 0, name, error))
		return false;

	ret->name = name->data;
	ret->name_bytes = name->len;
	return true;
}
