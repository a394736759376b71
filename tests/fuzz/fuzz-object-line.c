/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/export/object-line.h"
#include "tests/fuzz/fuzz.h"

const char *const fuzz_seeds[] = {
	"{\"type\":\"file\",\"id\":17,\"inode\":256,\"generation\":7,\"size_bytes\":123,"
	"\"born_nsec\":\"1700000000000000001\",\"modified_nsec\":\"-5\",\"directory\":128,"
	"\"name\":\"b\\\\xff\",\"path\":\"/a/b\",\"state\":\"done\",\"flags\":[\"racy\"],"
	"\"digest\":\"0123456789abcdef\",\"head\":\"fedcba9876543210\"}",
	"{\"type\":\"file\",\"id\":1,\"subvolume\":5,\"inode\":257,\"state\":\"skipped\","
	"\"reason\":\"swap-file\",\"flags\":[\"no-cow\",\"immutable\"],\"doubted_day\":3}",
	"{\"type\":\"extent\",\"id\":2,\"address\":4096,\"size_bytes\":8192,\"transaction\":9,"
	"\"summed_blocks\":2,\"stretch\":1,\"rank_bytes\":8192,\"state\":\"seen\"}",
	"{\"type\":\"stretch\",\"id\":3,\"number\":1,\"subvolume\":5,\"inode\":257,"
	"\"offset_bytes\":4096,\"state\":\"seen\",\"times_changed\":2,\"last_changed_sec\":5}",
	"{\"type\":\"directory\",\"inode\":256,\"parent\":0,\"name\":\"/srv/a\\\\n\"}",
	NULL,
};

/* What was taken is written, and read again, as it was. */
static void check_object(const Object *object, bool has_extents)
{
	g_autoptr(json_t) written = object_line_write(object, has_extents, NULL);
	g_autoptr(GByteArray) name = g_byte_array_new();
	GError *error = NULL;
	Object again;

	g_assert_true(object_line_read(written, has_extents, name, &again, &error));
	g_assert_no_error(error);
	g_autoptr(json_t) rewritten = object_line_write(&again, has_extents, NULL);
	g_assert_true(json_equal(written, rewritten));
}

static void read_object(const json_t *line, bool has_extents)
{
	g_autoptr(GByteArray) name = g_byte_array_new();
	g_autoptr(GError) error = NULL;
	Object object;

	if (object_line_read(line, has_extents, name, &object, &error))
		check_object(&object, has_extents);
	else
		g_assert_nonnull(error);
}

static void read_directory(const json_t *line)
{
	g_autoptr(GByteArray) name = g_byte_array_new();
	g_autoptr(GError) error = NULL;
	DirectoryName directory, again;

	if (!directory_line_read(line, name, &directory, &error)) {
		g_assert_nonnull(error);
		return;
	}

	g_autoptr(json_t) written = directory_line_write(&directory);
	g_assert_true(directory_line_read(written, name, &again, &error));
	g_autoptr(json_t) rewritten = directory_line_write(&again);
	g_assert_true(json_equal(written, rewritten));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autoptr(json_t) line = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);
	const char *type = json_string_value(json_object_get(line, "type"));

	if (!type)
		return 0;
	if (object_line_is_type(type)) {
		read_object(line, false);
		read_object(line, true);
	} else {
		read_directory(line);
	}
	return 0;
}
