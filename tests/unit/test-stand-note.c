/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/objects/stand-note.h"

#include "tests/unit/failing-store.h"
#include "tests/unit/pass-fixture.h"

static void assert_note(HashStore *store, bool are_expected, bool are_noted)
{
	bool ret;

	g_assert_true(stand_note_is_expected(store, &ret, NULL));
	g_assert_cmpint(ret, ==, are_expected);
	g_assert_true(stand_note_is_lost(store, &ret, NULL));
	g_assert_cmpint(ret, ==, are_noted);
}

/* In a store without objects that rely on others, nothing can be lost. */
static void test_a_loss_is_noted_until_all_were_read_again(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	HashStore *store = fixture->pass.store;
	const Object plain = { .inode = 1, .stand = 500 };
	const Object cloned = { .inode = 2, .flags = OBJECT_CLONED };

	assert_note(store, false, false);
	g_assert_true(stand_note_lose(store, NULL));
	g_assert_true(stand_note_drop(store, &cloned, NULL));
	g_assert_true(stand_note_clear(store, NULL));
	assert_note(store, false, false);

	g_assert_true(stand_note_expect(store, NULL));
	assert_note(store, true, false);
	g_assert_true(stand_note_drop(store, &plain, NULL));
	assert_note(store, true, false);
	g_assert_true(stand_note_drop(store, &cloned, NULL));
	assert_note(store, true, true);
	/* Others that rely on some are no reason to forget it. */
	g_assert_true(stand_note_expect(store, NULL));
	assert_note(store, true, true);
	g_assert_true(stand_note_clear(store, NULL));
	assert_note(store, true, false);
	g_assert_true(stand_note_lose(store, NULL));
	assert_note(store, true, true);
}

static bool note_a_loss(void *data, GError **error)
{
	const Object cloned = { .inode = 2, .flags = OBJECT_CLONED };
	bool are_expected, are_noted;

	return stand_note_expect(data, error) &&
	       stand_note_is_expected(data, &are_expected, error) &&
	       stand_note_drop(data, &cloned, error) &&
	       stand_note_is_lost(data, &are_noted, error) && stand_note_clear(data, error) &&
	       stand_note_lose(data, error);
}

static void test_errors_are_passed_on(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();

	failing_store_try(fixture->pass.store, note_a_loss, fixture->pass.store);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

#define ADD(name, test) g_test_add_func("/stand-note/" name, test)
	ADD("a-loss-is-noted", test_a_loss_is_noted_until_all_were_read_again);
	ADD("errors-are-passed-on", test_errors_are_passed_on);

	return g_test_run();
}
