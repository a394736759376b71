/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/store/store-fixture.h"

static void test_key_of_a_fleet_stays_until_another_one_is_asked_for(void)
{
	static const uint8_t secret[HASH_STORE_SECRET_BYTES] = { 1, 2, 3 };
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = NULL;
	HashStoreAbout about;

	fixture->options.secret = secret;
	fixture->options.fleet_key = "0123456789abcdef";
	store = store_fixture_open(fixture);
	about = *hash_store_about(store);
	g_assert_cmpstr(about.fleet_key, ==, "0123456789abcdef");
	g_assert_cmpmem(about.secret, sizeof(about.secret), secret, sizeof(secret));
	g_assert_cmpuint(about.number, !=, 0);
	g_clear_pointer(&store, hash_store_close);

	fixture->options.fleet_key = "";
	store_fixture_refused(fixture, HASH_STORE_ERROR_FAILED, "fleet key 0123456789abcdef");
	fixture->options.fleet_key = "fedcba9876543210";
	store_fixture_refused(fixture, HASH_STORE_ERROR_FAILED, "--rebuild");
	fixture->options.fleet_key = NULL;
	store = store_fixture_open(fixture);
	g_assert_cmpuint(hash_store_about(store)->number, ==, about.number);
	g_clear_pointer(&store, hash_store_close);

	/* A store that begins anew is another one. */
	fixture->options.fleet_key = about.fleet_key;
	fixture->options.rebuild = true;
	store = store_fixture_open(fixture);
	g_assert_cmpuint(hash_store_about(store)->number, !=, about.number);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/fleet-key/key-of-a-fleet-stays-until-another-one-is-asked-for",
			test_key_of_a_fleet_stays_until_another_one_is_asked_for);

	return g_test_run();
}
