/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/system/name-buffer.h"
#include "tests/unit/scratch.h"

#include <string.h>

#define MEMORY_BYTES (4 << 20)

static uint64_t add(NameBuffer *spool, const char *name)
{
	g_autoptr(GError) error = NULL;
	uint64_t position;

	if (!name_buffer_add(spool, name, &position, &error))
		g_error("%s", error->message);
	return position;
}

static void assert_name(NameBuffer *spool, uint64_t position, const char *expected)
{
	g_autoptr(GError) error = NULL;
	const char *name = NULL;

	if (!name_buffer_get(spool, position, &name, &error))
		g_error("%s", error->message);
	g_assert_cmpstr(name, ==, expected);
}

static void test_names_are_found_in_any_order(void)
{
	static const char *const names[] = { "a", "", "a\nb", "\xff\xfe", "a", "/srv/dir" };
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(NameBuffer) spool = name_buffer_new(scratch->path);
	uint64_t positions[G_N_ELEMENTS(names)];

	for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
		positions[i] = add(spool, names[i]);
	for (size_t i = G_N_ELEMENTS(names); i > 0; i--)
		assert_name(spool, positions[i - 1], names[i - 1]);
}

static char *long_name(uint32_t number, size_t length)
{
	char *name = g_strnfill(length, 'a' + (gchar)(number % 26));
	g_autofree char *digits = g_strdup_printf("%u-", number);

	memcpy(name, digits, MIN(strlen(digits), length));
	return name;
}

static void test_names_are_found_when_they_were_spilled(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(NameBuffer) spool = name_buffer_new(scratch->path);
	g_autoptr(GArray) positions = g_array_new(false, false, sizeof(uint64_t));
	uint32_t n = 3 * MEMORY_BYTES / 1000;

	for (uint32_t i = 0; i < n; i++) {
		g_autofree char *name = long_name(i, 1 + i * 37 % 2000);
		uint64_t position = add(spool, name);

		g_array_append_val(positions, position);
		/* Reading between writes does no harm. */
		if (i % 1000 == 999) {
			g_autofree char *earlier = long_name(i / 2, 1 + (i / 2) * 37 % 2000);

			assert_name(spool, g_array_index(positions, uint64_t, i / 2), earlier);
		}
	}

	for (uint32_t i = 0; i < n; i++) {
		g_autofree char *name = long_name(i, 1 + i * 37 % 2000);

		assert_name(spool, g_array_index(positions, uint64_t, i), name);
	}
}

static void test_long_names_are_kept_whole(void)
{
	static const size_t lengths[] = { 255, 4095, 4096, 5000, 70000 };
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(NameBuffer) spool = name_buffer_new(scratch->path);
	uint64_t positions[G_N_ELEMENTS(lengths)];

	for (size_t i = 0; i < G_N_ELEMENTS(lengths); i++) {
		g_autofree char *name = long_name((uint32_t)i, lengths[i]);

		positions[i] = add(spool, name);
	}
	for (int i = 0; i < 2000; i++) {
		g_autofree char *name = long_name(7, 4095);

		add(spool, name);
	}
	for (size_t i = 0; i < G_N_ELEMENTS(lengths); i++) {
		g_autofree char *name = long_name((uint32_t)i, lengths[i]);

		assert_name(spool, positions[i], name);
	}
}

static void test_what_cannot_be_spilled_is_an_error_that_names_the_directory(void)
{
	g_autoptr(NameBuffer) spool = name_buffer_new("/nowhere/at/all");
	g_autofree char *name = long_name(7, 4000);
	g_autoptr(GError) error = NULL;
	uint64_t position;
	int i = 0;

	while (i < 2000 && name_buffer_add(spool, name, &position, &error))
		i++;
	g_assert_cmpint(i, >, 1000);
	g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT);
	g_assert_nonnull(strstr(error->message, "/nowhere/at/all"));
}

static void test_nothing_is_left_behind(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(NameBuffer) spool = name_buffer_new(scratch->path);
	g_autofree char *name = long_name(7, 4000);
	g_autoptr(GDir) directory = NULL;

	for (int i = 0; i < 2000; i++)
		add(spool, name);
	directory = g_dir_open(scratch->path, 0, NULL);
	g_assert_null(g_dir_read_name(directory));
	name_buffer_free(NULL);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/name-spool/names-are-found-in-any-order",
			test_names_are_found_in_any_order);
	g_test_add_func("/name-spool/names-are-found-when-they-were-spilled",
			test_names_are_found_when_they_were_spilled);
	g_test_add_func("/name-spool/long-names-are-kept-whole", test_long_names_are_kept_whole);
	g_test_add_func("/name-spool/what-cannot-be-spilled-is-an-error-that-names-the-directory",
			test_what_cannot_be_spilled_is_an_error_that_names_the_directory);
	g_test_add_func("/name-spool/nothing-is-left-behind", test_nothing_is_left_behind);

	return g_test_run();
}
