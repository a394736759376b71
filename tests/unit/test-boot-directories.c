/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/context/boot-directories.h"

#include <glib.h>

/* A path that lies in several of them names each. */
static void test_a_path_names_the_directories_that_it_lies_in(void)
{
	static const struct {
		const char *path;
		unsigned named; /* bits of the numbers */
	} cases[] = {
		{ "/boot", 1 },     { "/boot/", 1 },        { "/boot/vmlinuz", 1 },
		{ "/boot/efi", 3 }, { "/boot/efi/EFI", 3 }, { "/boot/efi2", 1 },
		{ "/efi", 4 },      { "/efi/EFI", 4 },      { "/", 0 },
		{ "/boo", 0 },      { "/boot2", 0 },        { "/efivars", 0 },
		{ "/srv/boot", 0 }, { "/EFI", 0 },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
		for (size_t number = 0; number < BOOT_DIRECTORIES; number++)
			g_assert_cmpint(boot_directory_is_named(number, cases[i].path), ==,
					cases[i].named >> number & 1);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/boot-directories/a-path-names-the-directories-that-it-lies-in",
			test_a_path_names_the_directories_that_it_lies_in);
	return g_test_run();
}
