/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/report/report.h"

#include "common/files/advice.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define UUID "3d0e6d5b-7c4f-4b4a-9d51-0c5e8a1b2c3d"

/* 2026-11-21T04:06:19Z */
#define STARTED_USEC (INT64_C(1795233979) * 1000000 + 999999)

typedef struct {
	Settings settings;
	FilesystemRoot root;
	Filesystem filesystem;
	PassResult result;
	ReportedPass pass;
} Sample;

static Sample *sample_new(const char *path)
{
	Sample *sample = g_new0(Sample, 1);

	sample->root.path = (char *)path;
	sample->filesystem.roots = g_ptr_array_new();
	g_ptr_array_add(sample->filesystem.roots, &sample->root);
	sample->filesystem.mount_point = (char *)path;
	sample->filesystem.identity.kind = FS_KIND_XFS;
	sample->filesystem.identity.block_bytes = 4096;
	memcpy(sample->filesystem.uuid, UUID, sizeof(UUID));

	sample->result.started_usec = STARTED_USEC;
	sample->result.ended_usec = STARTED_USEC + 1250000;
	sample->result.store.path = g_strdup("/state/store.sqlite");
	skip_ledger_add(&sample->result.skips, SKIP_LEASED, 8388608, "/srv/a");
	pin_ledger_add(&sample->result.pins, PIN_UNCOVERED, 8388608, 4096, 1, "/srv/b");
	sample->pass = (ReportedPass){ &sample->filesystem, &sample->result };
	return sample;
}

static void sample_free(Sample *sample)
{
	g_ptr_array_unref(sample->filesystem.roots);
	pass_result_clear(&sample->result);
	g_free(sample);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Sample, sample_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(json_t, json_decref)

static json_t *report_of(const Settings *settings, const ReportedPass *passes, size_t n_passes)
{
	char *text = report_json(settings, passes, n_passes);
	json_error_t failed;
	json_t *report;

	g_assert_nonnull(text);
	report = json_loads(text, JSON_REJECT_DUPLICATES, &failed);
	if (!report)
		g_error("%s in line %d: %s", failed.text, failed.line, text);
	free(text);
	return report;
}

static json_t *sample_report(const Sample *sample)
{
	return report_of(&sample->settings, &sample->pass, 1);
}

/* The value at a path such as "filesystems.0.files.seen". */
static json_t *value_at(json_t *json, const char *path)
{
	g_auto(GStrv) steps = g_strsplit(path, ".", -1);

	for (char **step = steps; *step; step++) {
		json = json_is_array(json) ? json_array_get(json, (size_t)atoi(*step))
					   : json_object_get(json, *step);
		if (!json)
			g_error("%s is absent", path);
	}

	return json;
}

static void assert_text(json_t *report, const char *path, const char *expected)
{
	g_assert_cmpstr(json_string_value(value_at(report, path)), ==, expected);
}

static void assert_number(json_t *report, const char *path, uint64_t expected)
{
	g_assert_true(json_is_integer(value_at(report, path)));
	g_assert_cmpint(json_integer_value(value_at(report, path)), ==, (json_int_t)expected);
}

static void add_keys(json_t *json, const char *prefix, GString *keys)
{
	const char *key;
	json_t *value;
	size_t i;

	json_object_foreach(json, key, value)
	{
		g_string_append_printf(keys, "%s%s\n", prefix, key);
		add_keys(value, prefix, keys);
	}
	json_array_foreach(json, i, value) add_keys(value, prefix, keys);
}

/* The keys of the page's example in order.  It is JSON, except for its alternatives. */
static char *documented_keys(void)
{
	g_autofree char *page = NULL;
	g_auto(GStrv) fenced = NULL;
	g_autoptr(GRegex) pattern = g_regex_new("\"([a-z_]+)\":", 0, 0, NULL);
	g_autoptr(GMatchInfo) match = NULL;
	g_autoptr(GString) keys = g_string_new(NULL);
	g_autoptr(GError) error = NULL;

	g_file_get_contents(REPORT_PAGE, &page, NULL, &error);
	g_assert_no_error(error);
	fenced = g_strsplit(page, "```", 3);
	g_assert_cmpuint(g_strv_length(fenced), ==, 3);

	for (g_regex_match(pattern, fenced[1], 0, &match); g_match_info_matches(match);
	     g_match_info_next(match, NULL)) {
		g_autofree char *key = g_match_info_fetch(match, 1);

		g_string_append_printf(keys, "%s\n", key);
	}
	return g_string_free(g_steal_pointer(&keys), false);
}

static void test_fields_are_those_of_the_page_in_its_order(void)
{
	g_autoptr(Sample) sample = sample_new("/srv");
	g_autoptr(json_t) report = sample_report(sample);
	g_autofree char *documented = documented_keys();
	g_autoptr(GString) keys = g_string_new(NULL);

	add_keys(report, "", keys);
	g_assert_cmpstr(keys->str, ==, documented);
}

static void test_every_reason_is_on_the_page(void)
{
	g_autofree char *page = NULL;

	g_assert_true(g_file_get_contents(REPORT_PAGE, &page, NULL, NULL));
	for (size_t reason = 0; reason < SKIP_REASONS; reason++) {
		g_autofree char *quoted = g_strdup_printf("`%s`", skip_reason_name(reason));

		if (!skip_reason_is_known(reason))
			continue;
		if (!strstr(page, quoted))
			g_error("%s is not on the page", quoted);
	}
}

static void assert_inventory(Sample *sample, const char *by, const char *reason)
{
	g_autoptr(json_t) report = sample_report(sample);

	assert_text(report, "filesystems.0.inventory.by", by);
	assert_text(report, "filesystems.0.inventory.reason", reason);
}

static void test_how_files_were_met_is_told_with_the_reason(void)
{
	g_autoptr(Sample) sample = sample_new("/srv");
	PassResult *result = &sample->result;

	result->found_by_checksums = false;
	result->listed_inodes = true;
	result->walk_reason = NULL;
	assert_inventory(sample, "bulkstat", NULL);
	result->listed_inodes = false;
	result->walk_reason = "it is a test";
	assert_inventory(sample, "walk", "it is a test");
	result->found_by_checksums = true;
	result->walk_reason = NULL;
	assert_inventory(sample, "trees", NULL);
}

static void test_every_cause_is_on_the_page(void)
{
	g_autofree char *page = NULL;

	g_assert_true(g_file_get_contents(REPORT_PAGE, &page, NULL, NULL));
	for (size_t cause = PIN_NONE + 1; cause < PIN_CAUSES; cause++) {
		g_autofree char *quoted = g_strdup_printf("`%s`", pin_cause_name(cause));

		if (!strstr(page, quoted))
			g_error("%s is not on the page", quoted);
	}
}

static void test_what_pins_extents_is_told_by_its_cause(void)
{
	g_autoptr(Sample) sample = sample_new("/srv");
	PinLedger *pins = &sample->result.pins;
	g_autofree char *text = NULL;
	g_autoptr(json_t) report = NULL;

	pin_ledger_add(pins, PIN_TOO_COSTLY, 4096, 0, 99, NULL);
	pin_ledger_add(pins, PIN_UNCOVERED, 3 << 20, 2 << 20, 1, "/srv/c");
	report = sample_report(sample);
	g_assert_cmpuint(json_array_size(value_at(report, "filesystems.0.pinned")), ==, 2);
	assert_text(report, "filesystems.0.pinned.0.cause", "uncovered");
	assert_number(report, "filesystems.0.pinned.0.count", 2);
	assert_number(report, "filesystems.0.pinned.0.bytes", (3 << 20) + 8388608);
	assert_number(report, "filesystems.0.pinned.0.uncovered_bytes", (2 << 20) + 4096);
	assert_text(report, "filesystems.0.pinned.0.examples.1.path", "/srv/c");
	assert_number(report, "filesystems.0.pinned.0.examples.1.uncovered_bytes", 2 << 20);
	assert_number(report, "filesystems.0.pinned.0.examples.1.places", 1);
	assert_text(report, "filesystems.0.pinned.1.cause", "too-costly");

	assert_text(report, "filesystems.0.pinned.1.advice", advice_of_pin(PIN_TOO_COSTLY));

	/* The text shows all that stays, from any pass. */
	sample->result.ledger.pinned[PIN_UNCOVERED] = (PinnedSum){ 7, 64 << 20, 4096 };
	sample->settings.verbose = true;
	text = report_text(&sample->settings, &sample->pass);
	g_assert_nonnull(strstr(text, "uncovered                 7      64 MiB"));
	g_assert_nonnull(strstr(text, advice_of_pin(PIN_UNCOVERED)));
	g_assert_nonnull(strstr(text, "/srv/c (2 MiB uncovered)"));
}

static void test_every_figure_is_in_its_field(void)
{
	/* The fields of the result behind the figures of the report. */
	static const struct {
		const char *field;
		size_t offset;
	} figures[] = {
		{ "files.seen", offsetof(PassResult, files.seen) },
		{ "files.unchanged", offsetof(PassResult, files.unchanged) },
		{ "files.new", offsetof(PassResult, files.new) },
		{ "files.changed", offsetof(PassResult, files.changed) },
		{ "files.doubted", offsetof(PassResult, files.doubted) },
		{ "files.gone", offsetof(PassResult, files.gone) },
		{ "files.read", offsetof(PassResult, files.read) },
		{ "read.finding_bytes", offsetof(PassResult, finding_bytes) },
		{ "read.compare_bytes", offsetof(PassResult, compare_bytes) },
		{ "read.wasted_bytes", offsetof(PassResult, wasted_bytes) },
		{ "read.restored_bytes", offsetof(PassResult, restored_bytes) },
		{ "read.disk_bytes", offsetof(PassResult, disk_bytes) },
		{ "shared.runs", offsetof(PassResult, shared.runs) },
		{ "shared.bytes", offsetof(PassResult, shared.bytes) },
		{ "shared.already_bytes", offsetof(PassResult, shared.already_bytes) },
		{ "shared.calls", offsetof(PassResult, shared.calls) },
		{ "shared.short_rounds", offsetof(PassResult, shared.short_rounds) },
		{ "shared.differed", offsetof(PassResult, shared.differed) },
		{ "shared.capped", offsetof(PassResult, shared.capped) },
		{ "freed.bytes", offsetof(PassResult, freed.bytes) },
		{ "freed.hole_bytes", offsetof(PassResult, freed.hole_bytes) },
		{ "freed.used_before_bytes", offsetof(PassResult, freed.used_before_bytes) },
		{ "freed.used_after_bytes", offsetof(PassResult, freed.used_after_bytes) },
		{ "rewritten.bytes", offsetof(PassResult, rewritten.bytes) },
		{ "rewritten.extents", offsetof(PassResult, rewritten.extents) },
		{ "deferred.written_bytes", offsetof(PassResult, deferred.written_bytes) },
		{ "ledger.pinned_bytes", offsetof(PassResult, ledger.pinned[PIN_PIECES].bytes) },
		{ "store.bytes", offsetof(PassResult, store.bytes) },
		{ "store.objects", offsetof(PassResult, store.objects) },
		{ "store.anchors", offsetof(PassResult, store.anchors) },
	};
	g_autoptr(Sample) sample = sample_new("/srv");
	PassResult *result = &sample->result;
	g_autoptr(json_t) report = NULL;

	for (size_t i = 0; i < G_N_ELEMENTS(figures); i++)
		*(uint64_t *)(void *)((char *)result + figures[i].offset) = (UINT64_C(1) << 62) + i;
	result->store.segments = 7;
	report = sample_report(sample);
	for (size_t i = 0; i < G_N_ELEMENTS(figures); i++) {
		g_autofree char *path = g_strconcat("filesystems.0.", figures[i].field, NULL);

		assert_number(report, path, (UINT64_C(1) << 62) + i);
	}
	assert_number(report, "filesystems.0.store.segments", 7);
}

static void test_the_ledger_has_what_other_sections_have(void)
{
	g_autoptr(Sample) sample = sample_new("/srv");
	PassResult *result = &sample->result;
	g_autoptr(json_t) report = NULL;
	g_autoptr(json_t) checked = NULL;

	result->compare_bytes = 5;
	result->shared.bytes = 4;
	result->freed.bytes = 3;
	result->rewritten.bytes = 2;
	result->ledger.metadata_delta_bytes = -16384;
	result->ledger.unchecked_reason = "others wrote to it meanwhile";
	report = sample_report(sample);
	assert_number(report, "filesystems.0.ledger.compared_bytes", 5);
	assert_number(report, "filesystems.0.ledger.shared_bytes", 4);
	assert_number(report, "filesystems.0.ledger.freed_bytes", 3);
	assert_number(report, "filesystems.0.ledger.rewritten_bytes", 2);
	assert_number(report, "filesystems.0.ledger.metadata_delta_bytes", (uint64_t)-16384);
	assert_number(report, "filesystems.0.ledger.drift_bytes", 0);
	g_assert_true(json_is_false(value_at(report, "filesystems.0.ledger.checked")));
	assert_text(report, "filesystems.0.ledger.unchecked_reason",
		    "others wrote to it meanwhile");

	result->ledger.unchecked_reason = NULL;
	result->ledger.is_checked = true;
	result->ledger.drift_bytes = -4096;
	checked = sample_report(sample);
	assert_number(checked, "filesystems.0.ledger.drift_bytes", (uint64_t)-4096);
	g_assert_true(json_is_true(value_at(checked, "filesystems.0.ledger.checked")));
	g_assert_true(json_is_null(value_at(checked, "filesystems.0.ledger.unchecked_reason")));
}

static void test_a_pass_is_described(void)
{
	g_autoptr(Sample) sample = sample_new("/srv");
	g_autoptr(json_t) report = sample_report(sample);
	json_t *seconds = value_at(report, "filesystems.0.seconds");

	assert_text(report, "schema", "dedupd-report");
	assert_number(report, "version", 1);
	g_assert_true(g_ascii_isdigit(*json_string_value(value_at(report, "dedupd"))));
	g_assert_true(json_is_false(value_at(report, "dry_run")));
	assert_text(report, "filesystems.0.uuid", UUID);
	assert_text(report, "filesystems.0.kind", "XFS");
	assert_text(report, "filesystems.0.mount_point", "/srv");
	assert_text(report, "filesystems.0.paths.0", "/srv");
	assert_number(report, "filesystems.0.block_bytes", 4096);
	assert_text(report, "filesystems.0.outcome", "complete");
	g_assert_true(json_is_null(value_at(report, "filesystems.0.error")));
	assert_text(report, "filesystems.0.started", "2026-11-21T04:06:19Z");
	g_assert_cmpfloat_with_epsilon(json_real_value(seconds), 1.25, 1e-6);
	assert_text(report, "filesystems.0.skipped.0.reason", "leased");
	assert_number(report, "filesystems.0.skipped.0.count", 1);
	assert_number(report, "filesystems.0.skipped.0.bytes", 8388608);
	assert_text(report, "filesystems.0.skipped.0.examples.0", "/srv/a");
	assert_text(report, "filesystems.0.store.path", "/state/store.sqlite");
}

static void test_a_failed_pass_says_why(void)
{
	g_autoptr(Sample) sample = sample_new("/srv");
	g_autoptr(json_t) report = NULL;

	sample->result.outcome = PASS_FAILED;
	sample->result.error = g_error_new_literal(G_FILE_ERROR, 0, "cannot read /srv: \xff\n");
	g_clear_pointer(&sample->result.store.path, g_free);
	skip_ledger_clear(&sample->result.skips);
	sample->settings.dry_run = true;
	report = sample_report(sample);
	assert_text(report, "filesystems.0.outcome", "failed");
	assert_text(report, "filesystems.0.error", "cannot read /srv: \\xff\\n");
	g_assert_true(json_is_null(value_at(report, "filesystems.0.store")));
	g_assert_cmpuint(json_array_size(value_at(report, "filesystems.0.skipped")), ==, 0);
	g_assert_true(json_is_true(value_at(report, "dry_run")));
}

static void test_the_worst_outcome_is_that_of_all(void)
{
	static const struct {
		PassOutcome first, second;
		const char *name;
	} cases[] = {
		{ PASS_COMPLETE, PASS_COMPLETE, "complete" },
		{ PASS_INTERRUPTED, PASS_COMPLETE, "interrupted" },
		{ PASS_COMPLETE, PASS_INTERRUPTED, "interrupted" },
		{ PASS_FAILED, PASS_INTERRUPTED, "failed" },
		{ PASS_COMPLETE, PASS_FAILED, "failed" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(Sample) first = sample_new("/srv");
		g_autoptr(Sample) second = sample_new("/home");
		ReportedPass passes[] = { first->pass, second->pass };
		g_autoptr(json_t) report = NULL;

		first->result.outcome = cases[i].first;
		second->result.outcome = cases[i].second;
		report = report_of(&first->settings, passes, 2);
		assert_text(report, "outcome", cases[i].name);
		assert_text(report, "filesystems.0.mount_point", "/srv");
		assert_text(report, "filesystems.1.mount_point", "/home");
	}
}

static void test_no_pass_at_all_is_a_report_too(void)
{
	Settings settings = { 0 };
	g_autoptr(json_t) report = report_of(&settings, NULL, 0);

	assert_text(report, "outcome", "complete");
	g_assert_cmpuint(json_array_size(value_at(report, "filesystems")), ==, 0);
}

static void test_odd_names_are_escaped(void)
{
	static const struct {
		const char *name;
		const char *shown;
	} cases[] = {
		{ "/\xff", "/\\xff" },
		{ "/a\nb\t", "/a\\nb\\t" },
		{ "/\033[2J", "/\\e[2J" },
		{ "/\"quoted\"", "/\"quoted\"" },
		{ "/back\\slash", "/back\\\\slash" },
		{ "/gr\xc3\xbc\xc3\x9f", "/gr\xc3\xbc\xc3\x9f" },
		{ "/%s%n", "/%s%n" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(Sample) sample = sample_new(cases[i].name);
		g_autoptr(json_t) report = NULL;
		g_autofree char *text = NULL;

		sample->settings.verbose = true;
		skip_ledger_add(&sample->result.skips, SKIP_BUSY, 1, cases[i].name);
		report = sample_report(sample);
		assert_text(report, "filesystems.0.mount_point", cases[i].shown);
		assert_text(report, "filesystems.0.paths.0", cases[i].shown);
		assert_text(report, "filesystems.0.skipped.1.examples.0", cases[i].shown);

		text = report_text(&sample->settings, &sample->pass);
		g_assert_true(g_str_has_prefix(text, cases[i].shown));
		g_assert_true(g_utf8_validate(text, -1, NULL));
		g_assert_null(strchr(text, '\033'));
	}
}

static void assert_says(const Sample *sample, const char *words)
{
	g_autofree char *text = report_text(&sample->settings, &sample->pass);

	if (!strstr(text, words))
		g_error("\"%s\" is not in:\n%s", words, text);
}

static void assert_does_not_say(const Sample *sample, const char *words)
{
	g_autofree char *text = report_text(&sample->settings, &sample->pass);

	if (strstr(text, words))
		g_error("\"%s\" is in:\n%s", words, text);
}

static void test_where_quota_is_on_its_users_are_told_that_it_stays(void)
{
	g_autoptr(Sample) sample = sample_new("/srv");
	g_autoptr(json_t) before = sample_report(sample);
	g_autoptr(json_t) after = NULL;

	g_assert_cmpuint(json_array_size(value_at(before, "filesystems.0.notes")), ==, 0);
	assert_does_not_say(sample, "quota");

	sample->filesystem.counts_quota = true;
	after = sample_report(sample);
	g_assert_cmpuint(json_array_size(value_at(after, "filesystems.0.notes")), ==, 1);
	g_assert_nonnull(
		strstr(json_string_value(value_at(after, "filesystems.0.notes.0")), "quota"));
	assert_says(sample, "quota is on");
}

static void test_people_are_told_what_was_done(void)
{
	g_autoptr(Sample) sample = sample_new("/srv");

	sample->result.files.seen = 12345;
	sample->result.shared.bytes = 3 << 20;
	sample->result.freed.bytes = 2 << 20;
	sample->result.freed.used_before_bytes = 10 << 20;
	sample->result.freed.used_after_bytes = 9 << 20;
	assert_says(sample, "/srv (XFS " UUID "): complete in 1.2 s\n");
	assert_says(sample, "12345");
	assert_says(sample, "3 MiB");
	assert_says(sample, "2 MiB");
	assert_says(sample, "1 MiB less");
	assert_does_not_say(sample, "would");

	sample->result.freed.used_after_bytes = 15 << 20;
	assert_says(sample, "5 MiB more");
	sample->result.freed.hole_bytes = 1 << 19;
	assert_says(sample, "512 KiB of it zeros");
	sample->result.outcome = PASS_INTERRUPTED;
	assert_says(sample, "): interrupted in");
}

static void test_people_see_the_ledger_of_what_was_found_by_checksums(void)
{
	g_autoptr(Sample) sample = sample_new("/srv");
	PassResult *result = &sample->result;

	assert_does_not_say(sample, "ledger");
	sample->filesystem.identity.kind = FS_KIND_BTRFS;
	result->found_by_checksums = true;
	result->compare_bytes = 742 << 20;
	result->shared.bytes = 371 << 20;
	result->freed.bytes = 383 << 20;
	result->ledger.pinned[PIN_UNCOVERED] = (PinnedSum){ 3, 214 << 20, 4096 };
	result->rewritten.bytes = 20 << 10;
	result->ledger.metadata_delta_bytes = -(1536 << 10);
	result->ledger.unchecked_reason = "others wrote to it meanwhile";
	assert_says(sample, "  ledger         compared    shared     freed    pinned rewritten"
			    "  metadata     drift\n"
			    "                  742 MiB   371 MiB   383 MiB   214 MiB    20 KiB"
			    "  -1.5 MiB unchecked\n");
	assert_does_not_say(sample, "others wrote");
	sample->settings.verbose = true;
	assert_says(sample, "unchecked, as others wrote to it meanwhile");

	result->ledger.unchecked_reason = NULL;
	result->ledger.is_checked = true;
	result->ledger.drift_bytes = 8192;
	assert_says(sample, "+8 KiB\n");
	result->ledger.drift_bytes = 0;
	assert_does_not_say(sample, "unchecked");
}

static void test_people_see_what_was_written_for_deferred_extents(void)
{
	g_autoptr(Sample) sample = sample_new("/srv");

	sample->result.deferred.waiting_bytes = 3 << 20;
	sample->result.deferred.snapshots = 2;
	sample->result.deferred.last_id = 296;
	assert_says(sample, "will be freed when 2 snapshots are deleted (last: subvolume 296)");
	sample->result.deferred.last_snapshot = g_strdup("/srv/kept");
	assert_says(sample, "3 MiB will be freed when 2 snapshots are deleted (last: /srv/kept)");
	sample->result.deferred.written_bytes = 4096;
	assert_says(sample, "4 KiB were written anew for deferred space, and not subtracted");
	sample->settings.dry_run = true;
	assert_says(sample, "4 KiB would be written anew for deferred space");
	assert_does_not_say(sample, "released");
	sample->result.deferred.released_bytes = 8192;
	assert_says(sample, "8 KiB, as");
}

static void test_a_dry_run_tells_what_would_be(void)
{
	g_autoptr(Sample) sample = sample_new("/srv");

	sample->settings.dry_run = true;
	sample->result.freed.bytes = 2 << 20;
	assert_says(sample, "about 2 MiB (dry run: nothing on the filesystem was changed)");
	assert_does_not_say(sample, "deduplicated");
	assert_does_not_say(sample, "  freed");
}

static void test_what_was_left_alone_is_told_and_named_on_demand(void)
{
	g_autoptr(Sample) sample = sample_new("/srv");

	skip_ledger_add(&sample->result.skips, SKIP_UNREADABLE, 4096, "/srv/broken");
	skip_ledger_add(&sample->result.skips, SKIP_EXCLUDED, 0, NULL);
	assert_says(sample, "excluded            1           -\n");
	assert_says(sample, "leased");
	assert_says(sample, "8 MiB");
	assert_does_not_say(sample, "/srv/a");
	assert_does_not_say(sample, "busy");
	/* A file that the disk can no longer read is always named. */
	assert_says(sample, "/srv/broken");
	sample->settings.verbose = true;
	assert_says(sample, "/srv/a");
}

int main(int argc, char **argv)
{
	static const struct {
		const char *path;
		void (*test)(void);
	} tests[] = {
		{ "/report/how-files-were-met", test_how_files_were_met_is_told_with_the_reason },
		{ "/report/where-quota", test_where_quota_is_on_its_users_are_told_that_it_stays },
		{ "/report/every-cause-is-on-the-page", test_every_cause_is_on_the_page },
		{ "/report/pins-extents-told-cause", test_what_pins_extents_is_told_by_its_cause },
		{ "/report/fields-those-page", test_fields_are_those_of_the_page_in_its_order },
		{ "/report/every-reason-is-on-the-page", test_every_reason_is_on_the_page },
		{ "/report/every-figure-is-in-its-field", test_every_figure_is_in_its_field },
		{ "/report/ledger-has-other", test_the_ledger_has_what_other_sections_have },
		{ "/report/people-see", test_people_see_the_ledger_of_what_was_found_by_checksums },
		{ "/report/a-pass-is-described", test_a_pass_is_described },
		{ "/report/a-failed-pass-says-why", test_a_failed_pass_says_why },
		{ "/report/worst-outcome-all", test_the_worst_outcome_is_that_of_all },
		{ "/report/no-pass-at-all-is-a-report-too", test_no_pass_at_all_is_a_report_too },
		{ "/report/odd-names-are-escaped", test_odd_names_are_escaped },
		{ "/report/people-are-told-what-was-done", test_people_are_told_what_was_done },
		{ "/report/what-was-written-for-deferred-extents",
		  test_people_see_what_was_written_for_deferred_extents },
		{ "/report/a-dry-run-tells-what-would-be", test_a_dry_run_tells_what_would_be },
		{ "/report/left-alone-told", test_what_was_left_alone_is_told_and_named_on_demand },
	};

	g_test_init(&argc, &argv, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(tests); i++)
		g_test_add_func(tests[i].path, tests[i].test);
	return g_test_run();
}
