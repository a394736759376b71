/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/estimate/address-set.h"

static void add(AddressSet *set, uint64_t address)
{
	g_autoptr(GError) error = NULL;

	g_assert_true(address_set_add(set, address, &error));
	g_assert_no_error(error);
}

static void test_what_was_added_is_in_and_its_neighbours_are_not(void)
{
	g_autoptr(AddressSet) set = address_set_new(g_get_tmp_dir(), 4096, NULL);
	/* The last addresses are the largest of btrfs. */
	static const uint64_t addresses[] = { 0, 4096 * UINT64_C(9), UINT64_C(1) << 35,
					      (UINT64_C(1) << 35) - 4096, UINT64_C(1) << 50 };

	g_assert_nonnull(set);
	g_assert_false(address_set_has(set, 0));
	for (size_t i = 0; i < G_N_ELEMENTS(addresses); i++) {
		g_assert_false(address_set_has(set, addresses[i]));
		add(set, addresses[i]);
		g_assert_true(address_set_has(set, addresses[i]));
		g_assert_true(address_set_has(set, addresses[i] + 4095));
		g_assert_false(address_set_has(set, addresses[i] + 2 * 4096));
	}
	for (size_t i = 0; i < G_N_ELEMENTS(addresses); i++)
		g_assert_true(address_set_has(set, addresses[i]));
	g_assert_false(address_set_has(set, UINT64_C(1) << 51));
}

static void test_a_directory_that_is_not_there_is_an_error(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(AddressSet) set = address_set_new("/proc/nonexistent", 4096, &error);

	g_assert_null(set);
	g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/address-set/what-was-added-is-in-and-its-neighbours-are-not",
			test_what_was_added_is_in_and_its_neighbours_are_not);
	g_test_add_func("/address-set/a-directory-that-is-not-there-is-an-error",
			test_a_directory_that_is_not_there_is_an_error);
	return g_test_run();
}
