/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/context/pass-note.h"

#include "hashstore/objects/history.h"
#include "tests/unit/failing-store.h"
#include "tests/unit/pass-fixture.h"

#include <string.h>

#define HOUR_USEC (INT64_C(3600) * G_USEC_PER_SEC)

static void note(PassFixture *fixture)
{
	g_autoptr(GError) error = NULL;
	bool noted = pass_note(&fixture->pass, &error);

	g_assert_no_error(error);
	g_assert_true(noted);
}

static unsigned count_passes(PassFixture *fixture)
{
	g_autoptr(PassCursor) cursor = pass_cursor_open(fixture->pass.store, NULL);
	const PassRecord *record;
	unsigned n = 0;

	while (pass_cursor_next(cursor, &record, NULL) && record)
		n++;
	return n;
}

/* The store has exactly the reasons of the ledger, with all of their fields. */
static void assert_skips_are_stored(const PassFixture *fixture)
{
	g_autoptr(SkipCursor) cursor = skip_cursor_open(fixture->pass.store, NULL);
	const SkipRecord *record;
	size_t n_stored = 0, n_counted = 0;
	SkipReason reason;

	while (skip_cursor_next(cursor, &record, NULL) && record) {
		const SkipEntry *entry;

		g_assert_true(skip_reason_parse(record->reason, &reason));
		entry = &fixture->result.skips.entries[reason];
		g_assert_cmpuint(record->count, ==, entry->count);
		g_assert_cmpuint(record->bytes, ==, entry->bytes);
		g_assert_true(g_strv_equal(record->examples, (const char *const *)entry->examples));
		n_stored++;
	}
	for (reason = 0; reason < SKIP_REASONS; reason++)
		n_counted += fixture->result.skips.entries[reason].count > 0;
	g_assert_cmpuint(n_stored, ==, n_counted);
}

static void test_every_reason_is_kept_until_the_next_pass(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	SkipLedger *skips = &fixture->result.skips;

	fixture->result.files.read = 1;
	for (SkipReason reason = 0; reason < SKIP_REASONS; reason++) {
		if (!skip_reason_is_known(reason))
			continue;
		skip_ledger_add(skips, reason, UINT64_C(4096) << reason % 8, "/srv/first");
		skip_ledger_add(skips, reason, reason, "/srv/second");
	}
	note(fixture);
	assert_skips_are_stored(fixture);

	skip_ledger_clear(skips);
	skip_ledger_add(skips, SKIP_CLONES, 1, NULL);
	note(fixture);
	assert_skips_are_stored(fixture);
}

static void test_the_history_has_the_figures_of_the_pass(void)
{
	/* Fields of the result, and where the record has them; both have 8 bytes. */
#define FIELD(in_result, in_record)                                                                \
	{                                                                                          \
		offsetof(PassResult, in_result), offsetof(PassRecord, in_record)                   \
	}
	static const struct {
		size_t in_result, in_record;
	} figures[] = {
		FIELD(started_usec, started_usec),
		FIELD(files.seen, files),
		FIELD(files.read, objects_read),
		FIELD(finding_bytes, finding_bytes),
		FIELD(compare_bytes, compare_bytes),
		FIELD(shared.bytes, shared_bytes),
		FIELD(freed.bytes, freed_bytes),
		FIELD(freed.hole_bytes, hole_bytes),
		FIELD(freed.used_after_bytes, used_bytes),
		FIELD(shared.runs, runs_shared),
		FIELD(shared.differed, runs_differed),
		FIELD(shared.capped, capped),
		FIELD(ledger.pinned[PIN_METADATA].bytes, pinned_bytes),
		FIELD(deferred.bytes, deferred_bytes),
		FIELD(deferred.released_bytes, released_bytes),
		FIELD(deferred.written_bytes, deferred_written_bytes),
		FIELD(rewritten.bytes, rewritten_bytes),
		FIELD(ledger.metadata_delta_bytes, metadata_delta_bytes),
		FIELD(ledger.drift_bytes, drift_bytes),
	};
#undef FIELD
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	g_autoptr(PassCursor) cursor = NULL;
	int64_t begun_usec = g_get_real_time();
	const PassRecord *record;
	PassTotals totals;

	for (size_t i = 0; i < G_N_ELEMENTS(figures); i++) {
		char *field = (char *)&fixture->result + figures[i].in_result;

		*(uint64_t *)(void *)field = (UINT64_C(1) << 40) + i;
	}
	fixture->result.wasted_bytes = 77;
	fixture->result.freed.kept_bytes = 100;
	fixture->result.outcome = PASS_INTERRUPTED;
	fixture->result.found_by_checksums = true;
	fixture->result.ledger.is_checked = true;
	note(fixture);

	cursor = pass_cursor_open(fixture->pass.store, NULL);
	g_assert_true(pass_cursor_next(cursor, &record, NULL));
	g_assert_nonnull(record);
	for (size_t i = 0; i < G_N_ELEMENTS(figures); i++) {
		const char *field = (const char *)record + figures[i].in_record;

		g_assert_cmpuint(*(const uint64_t *)(const void *)field, ==,
				 (UINT64_C(1) << 40) + i);
	}
	g_assert_cmpint(record->ended_usec, >=, begun_usec);
	g_assert_cmpint(record->ended_usec, <=, g_get_real_time());
	g_assert_cmpint(record->outcome, ==, PASS_INTERRUPTED);
	g_assert_cmpstr(record->mount_point, ==, fixture->filesystem.mount_point);
	g_assert_true(record->has_extents);
	g_assert_true(record->is_checked);
	g_assert_true(record->has_net);
	g_assert_cmpint(record->net_bytes, ==, pass_result_net_bytes(&fixture->result));
	g_assert_true(hash_store_pass_totals(fixture->pass.store, &totals, NULL));
	g_assert_cmpuint(totals.wasted_bytes, ==, 77);
}

static void test_a_pass_that_did_anything_is_noted_with_its_skips(void)
{
	static const size_t figures[] = {
		offsetof(PassResult, files.read),    offsetof(PassResult, files.set_aside),
		offsetof(PassResult, files.doubted), offsetof(PassResult, files.gone),
		offsetof(PassResult, shared.runs),
	};

	for (size_t i = 0; i < G_N_ELEMENTS(figures); i++) {
		g_autoptr(PassFixture) fixture = pass_fixture_new();

		*(uint64_t *)(void *)((char *)&fixture->result + figures[i]) = 1;
		skip_ledger_add(&fixture->result.skips, SKIP_BUSY, 4096, NULL);
		note(fixture);
		g_assert_cmpuint(count_passes(fixture), ==, 1);
		assert_skips_are_stored(fixture);
	}
}

/* If it is noted, the note changes the filesystem, and that would be a reason for the next pass. */
static void test_of_passes_that_found_nothing_two_a_day_are_noted(void)
{
	static const struct {
		int64_t started_usec;
		unsigned n_passes;
	} cases[] = {
		{ 20 * HOUR_USEC, 1 },     { 21 * HOUR_USEC, 1 }, { 32 * HOUR_USEC - 1, 1 },
		{ 32 * HOUR_USEC, 2 },     { 33 * HOUR_USEC, 2 }, { 44 * HOUR_USEC - 1, 2 },
		{ 44 * HOUR_USEC + 1, 3 },
	};
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	FsIdentity identity;

	g_assert_true(fs_identity_read(fixture->scratch->fd, &identity, NULL));
	memcpy(fixture->filesystem.identity.uuid, identity.uuid, FS_UUID_BYTES);
	g_assert_true(pass_writes_to_itself(&fixture->pass));
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		fixture->result.started_usec = cases[i].started_usec;
		note(fixture);
		g_assert_cmpuint(count_passes(fixture), ==, cases[i].n_passes);
	}
}

static void test_with_the_store_elsewhere_each_pass_is_noted(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();

	memset(fixture->filesystem.identity.uuid, 7, FS_UUID_BYTES);
	g_assert_false(pass_writes_to_itself(&fixture->pass));
	for (unsigned i = 1; i <= 3; i++) {
		fixture->result.started_usec = i;
		note(fixture);
		g_assert_cmpuint(count_passes(fixture), ==, i);
	}
}

static void test_a_dry_run_is_not_noted(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	g_autoptr(SkipCursor) cursor = NULL;
	const SkipRecord *record;

	fixture->settings.dry_run = true;
	note(fixture);
	fixture->result.files.read = fixture->result.shared.runs = 1;
	skip_ledger_add(&fixture->result.skips, SKIP_BUSY, 4096, NULL);
	note(fixture);
	g_assert_cmpuint(count_passes(fixture), ==, 0);
	cursor = skip_cursor_open(fixture->pass.store, NULL);
	g_assert_true(skip_cursor_next(cursor, &record, NULL));
	g_assert_null(record);
}

static bool note_it(void *data, GError **error)
{
	return pass_note(data, error);
}

static void test_errors_are_passed_on(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();

	fixture->result.files.read = 1;
	skip_ledger_add(&fixture->result.skips, SKIP_BUSY, 1, "/path");
	failing_store_try(fixture->pass.store, note_it, &fixture->pass);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

#define ADD(name, test) g_test_add_func("/pass-note/" name, test)
	ADD("every-reason-is-kept-until-the-next-pass",
	    test_every_reason_is_kept_until_the_next_pass);
	ADD("the-history-has-the-figures-of-the-pass",
	    test_the_history_has_the_figures_of_the_pass);
	ADD("a-pass-that-did-anything-is-noted-with-its-skips",
	    test_a_pass_that_did_anything_is_noted_with_its_skips);
	ADD("of-passes-that-found-nothing-two-a-day-are-noted",
	    test_of_passes_that_found_nothing_two_a_day_are_noted);
	ADD("with-the-store-elsewhere-each-pass-is-noted",
	    test_with_the_store_elsewhere_each_pass_is_noted);
	ADD("a-dry-run-is-not-noted", test_a_dry_run_is_not_noted);
	g_test_add_func("/pass-note/errors-are-passed-on", test_errors_are_passed_on);

	return g_test_run();
}
