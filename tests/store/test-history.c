/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/objects/history.h"
#include "tests/store/store-fixture.h"

static PassRecord record_of(uint64_t n)
{
	return (PassRecord){
		.started_usec = (int64_t)n * 1000,
		.ended_usec = (int64_t)n * 1000 + 5,
		.outcome = n % 3 == 0   ? PASS_COMPLETE
			   : n % 3 == 1 ? PASS_INTERRUPTED
					: PASS_FAILED,
		.mount_point = g_strdup("/srv/\xff"),
		.files = n + 1,
		.objects_read = n + 2,
		.finding_bytes = n + 3,
		.compare_bytes = n + 4,
		.shared_bytes = n + 5,
		.freed_bytes = n + 6,
		.hole_bytes = n + 7,
		.runs_shared = n + 8,
		.runs_differed = n + 9,
		.capped = n + 10,
		.pinned_bytes = n + 11,
		.rewritten_bytes = n + 12,
		.metadata_delta_bytes = 13 - (int64_t)n,
		.is_checked = n % 2 == 0,
		.drift_bytes = -(int64_t)n,
		.deferred_bytes = n + 14,
		.released_bytes = n + 15,
		.deferred_written_bytes = n + 16,
		.has_extents = n % 4 == 0,
		.has_net = n % 5 != 0,
		.net_bytes = n % 5 == 0 ? 0 : 17 - (int64_t)n,
		.used_bytes = n + 18,
	};
}

static void put_pass(HashStore *store, uint64_t n)
{
	g_auto(PassRecord) record = record_of(n);
	GError *error = NULL;

	g_assert_true(hash_store_put_pass(store, &record, &error));
	g_assert_no_error(error);
	g_assert_cmpint(record.id, ==, n);
}

static void check_record(const PassRecord *record, uint64_t n)
{
	g_auto(PassRecord) expected = record_of(n);

	g_assert_cmpint(record->id, ==, n);
	g_assert_cmpint(record->started_usec, ==, expected.started_usec);
	g_assert_cmpint(record->ended_usec, ==, expected.ended_usec);
	g_assert_cmpint(record->outcome, ==, expected.outcome);
	g_assert_cmpstr(record->mount_point, ==, expected.mount_point);
	g_assert_cmpuint(record->files, ==, expected.files);
	g_assert_cmpuint(record->objects_read, ==, expected.objects_read);
	g_assert_cmpuint(record->finding_bytes, ==, expected.finding_bytes);
	g_assert_cmpuint(record->compare_bytes, ==, expected.compare_bytes);
	g_assert_cmpuint(record->shared_bytes, ==, expected.shared_bytes);
	g_assert_cmpuint(record->freed_bytes, ==, expected.freed_bytes);
	g_assert_cmpuint(record->hole_bytes, ==, expected.hole_bytes);
	g_assert_cmpuint(record->runs_shared, ==, expected.runs_shared);
	g_assert_cmpuint(record->runs_differed, ==, expected.runs_differed);
	g_assert_cmpuint(record->capped, ==, expected.capped);
	g_assert_cmpuint(record->pinned_bytes, ==, expected.pinned_bytes);
	g_assert_cmpuint(record->rewritten_bytes, ==, expected.rewritten_bytes);
	g_assert_cmpint(record->metadata_delta_bytes, ==, expected.metadata_delta_bytes);
	g_assert_cmpint(record->is_checked, ==, expected.is_checked);
	g_assert_cmpint(record->drift_bytes, ==, expected.drift_bytes);
	g_assert_cmpuint(record->deferred_bytes, ==, expected.deferred_bytes);
	g_assert_cmpuint(record->released_bytes, ==, expected.released_bytes);
	g_assert_cmpuint(record->deferred_written_bytes, ==, expected.deferred_written_bytes);
	g_assert_cmpint(record->has_extents, ==, expected.has_extents);
	g_assert_cmpint(record->has_net, ==, expected.has_net);
	g_assert_cmpint(record->net_bytes, ==, expected.net_bytes);
	g_assert_cmpuint(record->used_bytes, ==, expected.used_bytes);
}

static void test_passes_come_back_newest_first_and_totals_count_all(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	g_autoptr(HashStore) reader = NULL;
	g_autoptr(PassCursor) cursor = NULL;
	const PassRecord *record;
	GError *error = NULL;
	PassTotals totals;
	uint64_t n = 10000;

	for (uint64_t i = 1; i <= n; i++)
		put_pass(store, i);
	g_assert_true(hash_store_commit(store, &error));

	reader = hash_store_open_to_read(fixture->path, &error);
	g_assert_no_error(error);
	g_assert_true(hash_store_pass_totals(reader, &totals, &error));
	g_assert_cmpuint(totals.passes, ==, 10000);
	g_assert_cmpuint(totals.freed_bytes, ==, 10000 * 10001 / 2 + 10000 * 6);
	g_assert_cmpuint(totals.finding_bytes, ==, 10000 * 10001 / 2 + 10000 * 3);
	g_assert_cmpuint(totals.compare_bytes, ==, 10000 * 10001 / 2 + 10000 * 4);

	cursor = pass_cursor_open(reader, &error);
	g_assert_no_error(error);
	for (;;) {
		g_assert_true(pass_cursor_next(cursor, &record, &error));
		if (!record)
			break;
		check_record(record, n--);
	}
	/* The oldest are forgotten. */
	g_assert_cmpuint(n, ==, 10000 - 8760);
}

static void check_outcomes(HashStore *store, uint64_t interrupted, uint64_t failed, uint64_t wasted)
{
	GError *error = NULL;
	PassTotals totals;

	g_assert_true(hash_store_pass_totals(store, &totals, &error));
	g_assert_no_error(error);
	g_assert_cmpuint(totals.passes, ==, 6);
	g_assert_cmpuint(totals.interrupted, ==, interrupted);
	g_assert_cmpuint(totals.failed, ==, failed);
	g_assert_cmpuint(totals.wasted_bytes, ==, wasted);
}

/* An earlier version counted no outcomes.  Its passes are counted by the upgrade. */
static void test_totals_count_outcomes(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	HashStore *store = store_fixture_open(fixture);
	GError *error = NULL;

	for (unsigned i = 0; i < 6; i++) {
		PassRecord record = { .outcome = i < 1   ? PASS_COMPLETE
						 : i < 3 ? PASS_INTERRUPTED
							 : PASS_FAILED,
				      .wasted_bytes = 10 + i };

		g_assert_true(hash_store_put_pass(store, &record, &error));
	}
	g_assert_true(hash_store_commit(store, &error));
	check_outcomes(store, 2, 3, 75);
	hash_store_close(store);

	store_fixture_set_back(fixture->path, 15);
	store = hash_store_open_to_read(fixture->path, &error);
	g_assert_no_error(error);
	check_outcomes(store, 0, 0, 0);
	hash_store_close(store);
	store = store_fixture_open(fixture);
	check_outcomes(store, 2, 3, 0);
	hash_store_close(store);
}

static void put_skip(HashStore *store, const char *reason, uint64_t bytes, const char *const *paths)
{
	const SkipRecord skip = {
		.reason = reason,
		.count = bytes + 1,
		.bytes = bytes,
		.examples = paths,
	};
	GError *error = NULL;

	g_assert_true(hash_store_put_skip(store, &skip, &error));
	g_assert_no_error(error);
}

static void check_skip(SkipCursor *cursor, const char *reason, uint64_t bytes,
		       const char *const *paths)
{
	const SkipRecord *skip;
	GError *error = NULL;

	g_assert_true(skip_cursor_next(cursor, &skip, &error));
	g_assert_no_error(error);
	if (!reason) {
		g_assert_null(skip);
		return;
	}
	g_assert_cmpstr(skip->reason, ==, reason);
	g_assert_cmpuint(skip->bytes, ==, bytes);
	g_assert_cmpuint(skip->count, ==, bytes + 1);
	g_assert_cmpstrv((gpointer)skip->examples, (gpointer)paths);
}

static void test_skips_come_back_largest_first_until_they_are_replaced(void)
{
	static const char *const none[] = { NULL };
	static const char *const some[] = { "/srv/a", "", "/srv/b\\n", NULL };
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	GError *error = NULL;

	for (int pass = 0; pass < 2; pass++) {
		g_autoptr(SkipCursor) cursor = NULL;

		g_assert_true(hash_store_clear_skips(store, &error));
		put_skip(store, "leased", 10, some);
		put_skip(store, "busy", 30, none);
		put_skip(store, "small", 20, NULL);
		g_assert_true(hash_store_commit(store, &error));
		cursor = skip_cursor_open(store, &error);
		g_assert_no_error(error);
		check_skip(cursor, "busy", 30, none);
		check_skip(cursor, "small", 20, none);
		check_skip(cursor, "leased", 10, some);
		check_skip(cursor, NULL, 0, NULL);
	}
}

static void test_notes_are_kept_and_replaced(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	g_autofree char *absent = NULL;
	g_autofree char *text = NULL;
	GError *error = NULL;

	g_assert_true(hash_store_get_note(store, "policy", &absent, &error));
	g_assert_null(absent);
	g_assert_true(hash_store_set_note(store, "policy", "one", &error));
	g_assert_true(hash_store_set_note(store, "policy", "two", &error));
	g_assert_true(hash_store_set_note(store, "other", "three", &error));
	g_assert_true(hash_store_get_note(store, "policy", &text, &error));
	g_assert_cmpstr(text, ==, "two");
}

/* A reader does not wait for the next pass, which upgrades the store. */
static void test_passes_of_an_older_store_are_read(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	g_autoptr(HashStore) reader = NULL;
	g_autoptr(PassCursor) cursor = NULL;
	const PassRecord *record;
	GError *error = NULL;

	put_pass(store, 1);
	g_assert_true(hash_store_commit(store, &error));
	hash_store_close(g_steal_pointer(&store));
	store_fixture_set_back(fixture->path, 14);

	reader = hash_store_open_to_read(fixture->path, &error);
	g_assert_no_error(error);
	cursor = pass_cursor_open(reader, &error);
	g_assert_no_error(error);
	g_assert_true(pass_cursor_next(cursor, &record, &error));
	g_assert_cmpuint(record->freed_bytes, ==, 7);
	g_assert_cmpuint(record->used_bytes, ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/history/outcomes", test_totals_count_outcomes);
	g_test_add_func("/history/passes-come-back-newest-first-and-totals-count-all",
			test_passes_come_back_newest_first_and_totals_count_all);
	g_test_add_func("/history/passes-of-an-older-store-are-read",
			test_passes_of_an_older_store_are_read);
	g_test_add_func("/history/skips-come-back-largest-first-until-they-are-replaced",
			test_skips_come_back_largest_first_until_they_are_replaced);
	g_test_add_func("/history/notes-are-kept-and-replaced", test_notes_are_kept_and_replaced);

	return g_test_run();
}
