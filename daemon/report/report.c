/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/report/report.h"

#include "common/config/policies.h"
#include "common/files/advice.h"
#include "common/text/name-text.h"
#include "common/text/size-text.h"

#include <jansson.h>
#include <string.h>

#define REPORT_SCHEMA  "dedupd-report"
#define REPORT_VERSION 1

static json_t *number(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static json_t *text(const char *bytes)
{
	g_autofree char *escaped = name_text(bytes, strlen(bytes));

	return json_string(escaped);
}

static json_t *started_json(const PassResult *result)
{
	g_autoptr(GDateTime) started =
		g_date_time_new_from_unix_utc(result->started_usec / G_USEC_PER_SEC);
	g_autofree char *formatted = g_date_time_format(started, "%Y-%m-%dT%H:%M:%SZ");

	return json_string(formatted);
}

static json_t *paths_json(const Filesystem *filesystem)
{
	json_t *paths = json_array();

	for (size_t i = 0; i < filesystem->roots->len; i++) {
		const FilesystemRoot *root = filesystem->roots->pdata[i];

		json_array_append_new(paths, text(root->path));
	}

	return paths;
}

static const char quota_note[] =
	"quota is on: XFS counts a shared block to each owner, so nobody's usage shrinks";

static json_t *notes_json(const Filesystem *filesystem)
{
	json_t *notes = json_array();

	if (filesystem->counts_quota)
		json_array_append_new(notes, json_string(quota_note));
	return notes;
}

static json_t *unmatched_json(const PassResult *result)
{
	json_t *patterns = json_array();

	for (char **pattern = result->unmatched; pattern && *pattern; pattern++)
		json_array_append_new(patterns, text(*pattern));
	return patterns;
}

static json_t *skips_json(const PassResult *result)
{
	const SkipLedger *skips = &result->skips;
	json_t *list = json_array();

	for (size_t reason = 0; reason < SKIP_REASONS; reason++) {
		const SkipEntry *entry = &skips->entries[reason];
		g_autofree char *advice =
			advice_of_costs(reason, entry->bytes, result->costly_bytes);
		json_t *examples;

		if (entry->count == 0)
			continue;

		examples = json_array();
		for (size_t i = 0; entry->examples[i]; i++)
			json_array_append_new(examples, json_string(entry->examples[i]));
		json_array_append_new(list,
				      json_pack("{s:s, s:o, s:o, s:o, s:s?}", "reason",
						skip_reason_name(reason), "count",
						number(entry->count), "bytes", number(entry->bytes),
						"examples", examples, "advice", advice));
	}

	return list;
}

static json_t *pin_examples_json(const PinEntry *entry)
{
	json_t *list = json_array();

	for (size_t i = 0; i < entry->n_examples; i++) {
		const PinExample *example = &entry->examples[i];

		json_array_append_new(list,
				      json_pack("{s:s, s:o, s:o}", "path", example->path,
						"uncovered_bytes", number(example->uncovered_bytes),
						"places", number(example->places)));
	}

	return list;
}

static json_t *pins_json(const PinLedger *pins)
{
	json_t *list = json_array();

	for (size_t cause = PIN_NONE + 1; cause < PIN_CAUSES; cause++) {
		const PinEntry *entry = &pins->entries[cause];

		if (entry->count == 0)
			continue;
		json_array_append_new(
			list,
			json_pack("{s:s, s:o, s:o, s:o, s:o, s:s?}", "cause", pin_cause_name(cause),
				  "count", number(entry->count), "bytes", number(entry->bytes),
				  "uncovered_bytes", number(entry->uncovered_bytes), "examples",
				  pin_examples_json(entry), "advice", advice_of_pin(cause)));
	}

	return list;
}

static json_t *inventory_json(const PassResult *result)
{
	const char *by = result->found_by_checksums ? "trees"
			 : result->listed_inodes    ? "bulkstat"
						    : "walk";

	return json_pack("{s:s, s:s?}", "by", by, "reason", result->walk_reason);
}

static json_t *found_json(const Settings *settings, const PassResult *result)
{
	bool by_checksums = result->found_by_checksums;
	int64_t look_usec = result->looked_at_all_usec;

	return json_pack("{s:s, s:s?, s:s?, s:o, s:o}", "by",
			 by_checksums ? "checksums" : "reading", "reason", result->find_reason,
			 "read", by_checksums ? NULL : read_policy_names[settings->read], "sets",
			 number(result->sets), "full_look_seconds",
			 look_usec > 0 ? json_real((double)look_usec / G_USEC_PER_SEC)
				       : json_null());
}

static json_t *files_json(const PassResult *result)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "seen", number(result->files.seen),
			 "unchanged", number(result->files.unchanged), "new",
			 number(result->files.new), "changed", number(result->files.changed),
			 "doubted", number(result->files.doubted), "gone",
			 number(result->files.gone), "read", number(result->files.read));
}

static json_t *shared_json(const PassResult *result)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "runs", number(result->shared.runs),
			 "bytes", number(result->shared.bytes), "already_bytes",
			 number(result->shared.already_bytes), "calls",
			 number(result->shared.calls), "short_rounds",
			 number(result->shared.short_rounds), "differed",
			 number(result->shared.differed), "capped", number(result->shared.capped));
}

static json_t *freed_json(const PassResult *result)
{
	json_t *net = result->is_dry_run ? json_null()
					 : json_integer((json_int_t)pass_result_net_bytes(result));

	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "bytes",
			 number(result->freed.bytes), "low_bytes",
			 number(pass_result_freed_low(result)), "high_bytes",
			 number(pass_result_freed_high(result)), "net_bytes", net, "hole_bytes",
			 number(result->freed.hole_bytes), "used_before_bytes",
			 number(result->freed.used_before_bytes), "used_after_bytes",
			 number(result->freed.used_after_bytes));
}

static json_t *rewritten_json(const PassResult *result)
{
	return json_pack("{s:o, s:o}", "bytes", number(result->rewritten.bytes), "extents",
			 number(result->rewritten.extents));
}

static json_t *deferred_json(const PassResult *result)
{
	return json_pack(
		"{s:o, s:o, s:o, s:o, s:o, s:o, s:s?, s:o}", "bytes",
		number(result->deferred.bytes), "extents", number(result->deferred.extents),
		"written_bytes", number(result->deferred.written_bytes), "waiting_bytes",
		number(result->deferred.waiting_bytes), "waiting_extents",
		number(result->deferred.waiting_extents), "snapshots",
		number(result->deferred.snapshots), "last_snapshot", result->deferred.last_snapshot,
		"released_bytes", number(result->deferred.released_bytes));
}

static json_t *space_ledger_json(const PassResult *result)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:I, s:b, s:s?, s:I}", "compared_bytes",
			 number(result->compare_bytes), "shared_bytes",
			 number(result->shared.bytes), "freed_bytes", number(result->freed.bytes),
			 "pinned_bytes", number(pass_result_pinned_bytes(result)),
			 "rewritten_bytes", number(result->rewritten.bytes), "metadata_delta_bytes",
			 (json_int_t)result->ledger.metadata_delta_bytes, "checked",
			 (int)result->ledger.is_checked, "unchecked_reason",
			 result->ledger.unchecked_reason, "drift_bytes",
			 (json_int_t)result->ledger.drift_bytes);
}

static json_t *store_json(const PassResult *result)
{
	if (!result->store.path)
		return json_null();

	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "path", text(result->store.path),
			 "bytes", number(result->store.bytes), "objects",
			 number(result->store.objects), "anchors", number(result->store.anchors),
			 "segments", number(result->store.segments), "anchor_blocks",
			 number(result->store.anchor_blocks), "window",
			 number(result->store.window_anchors));
}

static json_t *pass_json(const Settings *settings, const ReportedPass *pass)
{
	const Filesystem *filesystem = pass->filesystem;
	const PassResult *result = pass->result;
	json_t *json = json_pack("{s:s, s:s, s:o, s:o, s:o}", "uuid", filesystem->uuid, "kind",
				 fs_kind_name(filesystem->identity.kind), "mount_point",
				 text(filesystem->mount_point), "paths", paths_json(filesystem),
				 "block_bytes", number(filesystem->identity.block_bytes));

	json_object_set_new(json, "outcome", json_string(pass_outcome_name(result->outcome)));
	json_object_set_new(json, "error",
			    result->error ? text(result->error->message) : json_null());
	json_object_set_new(json, "stopped_reason",
			    result->stopped_reason ? text(result->stopped_reason) : json_null());
	json_object_set_new(json, "started", started_json(result));
	json_object_set_new(
		json, "seconds",
		json_real((double)(result->ended_usec - result->started_usec) / G_USEC_PER_SEC));
	json_object_set_new(json, "found", found_json(settings, result));
	json_object_set_new(json, "inventory", inventory_json(result));
	json_object_set_new(json, "files", files_json(result));
	json_object_set_new(json, "read",
			    json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "finding_bytes",
				      number(result->finding_bytes), "compare_bytes",
				      number(result->compare_bytes), "wasted_bytes",
				      number(result->wasted_bytes), "costly_bytes",
				      number(result->costly_bytes), "restored_bytes",
				      number(result->restored_bytes), "disk_bytes",
				      number(result->disk_bytes)));
	json_object_set_new(json, "shared", shared_json(result));
	json_object_set_new(json, "freed", freed_json(result));
	json_object_set_new(json, "rewritten", rewritten_json(result));
	json_object_set_new(json, "deferred", deferred_json(result));
	json_object_set_new(json, "ledger", space_ledger_json(result));
	json_object_set_new(json, "skipped", skips_json(result));
	json_object_set_new(json, "pinned", pins_json(&result->pins));
	json_object_set_new(json, "unmatched_patterns", unmatched_json(result));
	json_object_set_new(json, "notes", notes_json(filesystem));
	json_object_set_new(json, "store", store_json(result));
	return json;
}

char *report_json(const Settings *settings, const ReportedPass *passes, size_t n_passes)
{
	PassOutcome outcome = PASS_COMPLETE;
	json_t *filesystems = json_array();
	json_t *report;
	char *dumped;

	for (size_t i = 0; i < n_passes; i++) {
		json_array_append_new(filesystems, pass_json(settings, &passes[i]));
		outcome = MAX(outcome, passes[i].result->outcome);
	}

	report = json_pack("{s:s, s:i, s:s, s:s, s:b, s:o}", "schema", REPORT_SCHEMA, "version",
			   REPORT_VERSION, "dedupd", DEDUPD_VERSION, "outcome",
			   pass_outcome_name(outcome), "dry_run", settings->dry_run, "filesystems",
			   filesystems);
	dumped = json_dumps(report, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
	json_decref(report);
	return dumped;
}

static void add_line(GString *lines, const char *label, const char *format, ...)
	G_GNUC_PRINTF(3, 4);

static void add_line(GString *lines, const char *label, const char *format, ...)
{
	va_list arguments;

	g_string_append_printf(lines, "  %-15s", label);
	va_start(arguments, format);
	g_string_append_vprintf(lines, format, arguments);
	va_end(arguments);
	g_string_append_c(lines, '\n');
}

static void add_work(GString *lines, const Settings *settings, const PassResult *result)
{
	g_autofree char *finding = size_text(result->finding_bytes);
	g_autofree char *comparing = size_text(result->compare_bytes);
	g_autofree char *disk = size_text(result->disk_bytes);
	g_autofree char *shared = size_text(result->shared.bytes);
	g_autofree char *already = size_text(result->shared.already_bytes);
	g_autofree char *freed = size_text(result->freed.bytes);

	add_line(lines, result->found_by_checksums ? "extents" : "files",
		 "%" G_GUINT64_FORMAT " looked at, %" G_GUINT64_FORMAT " new, %" G_GUINT64_FORMAT
		 " changed, %" G_GUINT64_FORMAT " gone",
		 result->files.seen, result->files.new, result->files.changed, result->files.gone);
	if (result->find_reason && settings->verbose)
		add_line(lines, "", "found by reading, as %s", result->find_reason);
	if (!result->found_by_checksums && settings->read == READ_POLICY_SAME_SIZE)
		add_line(lines, "",
			 "%" G_GUINT64_FORMAT
			 " read that may equal others of their size, %" G_GUINT64_FORMAT
			 " sets of equal files",
			 result->files.read, result->sets);
	add_line(lines, "read", "%s to find, %s to compare: %s from disk", finding, comparing,
		 disk);
	if (settings->dry_run)
		add_line(lines, "would share",
			 "%s of references (%" G_GUINT64_FORMAT " runs; %s is shared already)",
			 shared, result->shared.runs, already);
	else
		add_line(lines, "deduplicated",
			 "%s of references, %s on disk (%" G_GUINT64_FORMAT
			 " runs; %s was shared already)",
			 shared, freed, result->shared.runs, already);
}

static char *signed_size_text(int64_t bytes)
{
	g_autofree char *size = size_text((uint64_t)ABS(bytes));

	return g_strconcat(bytes < 0 ? "-" : bytes > 0 ? "+" : "", size, NULL);
}

static void add_freed(GString *lines, const Settings *settings, const ReportedPass *pass)
{
	const PassResult *result = pass->result;
	int64_t gained =
		(int64_t)(result->freed.used_before_bytes - result->freed.used_after_bytes);
	g_autofree char *freed = size_text(result->freed.bytes);
	int64_t net_bytes = pass_result_net_bytes(result);
	g_autofree char *net = size_text((uint64_t)ABS(net_bytes));
	g_autofree char *holes = size_text(result->freed.hole_bytes);
	g_autofree char *counted = size_text((uint64_t)ABS(gained));

	if (settings->dry_run) {
		g_autofree char *low = size_text(pass_result_freed_low(result));
		g_autofree char *high = size_text(pass_result_freed_high(result));

		add_line(lines, "would free",
			 "about %s (dry run: nothing on the filesystem was changed)", freed);
		if (strcmp(low, high) != 0)
			add_line(lines, "", "%s at least, %s at most", low, high);
		return;
	}

	/* A pass over files may leave the rest of an extent in use on btrfs. */
	if (pass->filesystem->identity.kind == FS_KIND_BTRFS && !result->found_by_checksums) {
		add_line(lines, "freed", "%s by the filesystem's count%s", counted,
			 gained < 0 ? " MORE in use: others write, too" : "");
		add_line(lines, "",
			 "%s that no file uses any more: btrfs gives an extent back "
			 "when all of it is unused",
			 freed);
	} else {
		add_line(lines, "freed", "%s (the filesystem counts %s %s in use)", freed, counted,
			 gained < 0 ? "more" : "less");
	}
	add_line(lines, "", "%s%s net of metadata", net_bytes < 0 ? "-" : "", net);
	if (result->freed.hole_bytes > 0)
		add_line(lines, "",
			 "%s of it zeros, now holes: space the files will need again "
			 "when written",
			 holes);
}

/* Two lines, a word above each figure. */
static void add_ledger(GString *lines, const Settings *settings, const PassResult *result)
{
	g_autofree char *compared = size_text(result->compare_bytes);
	g_autofree char *shared = size_text(result->shared.bytes);
	g_autofree char *freed = size_text(result->freed.bytes);
	g_autofree char *pinned = size_text(pass_result_pinned_bytes(result));
	g_autofree char *rewritten = size_text(result->rewritten.bytes);
	g_autofree char *metadata = signed_size_text(result->ledger.metadata_delta_bytes);
	g_autofree char *drift = signed_size_text(result->ledger.drift_bytes);

	add_line(lines, "ledger", "%8s %9s %9s %9s %9s %9s %9s", "compared", "shared", "freed",
		 "pinned", "rewritten", "metadata", "drift");
	add_line(lines, "", "%8s %9s %9s %9s %9s %9s %9s", compared, shared, freed, pinned,
		 rewritten, metadata, result->ledger.is_checked ? drift : "unchecked");
	if (result->ledger.unchecked_reason && settings->verbose)
		add_line(lines, "", "unchecked, as %s", result->ledger.unchecked_reason);
}

/* Extents that snapshots hold, and space that was released. */
static void add_deferred(GString *lines, const Settings *settings, const PassResult *result)
{
	g_autofree char *bytes = size_text(result->deferred.bytes);
	g_autofree char *waiting = size_text(result->deferred.waiting_bytes);
	g_autofree char *released = size_text(result->deferred.released_bytes);
	g_autofree char *written = size_text(result->deferred.written_bytes);
	g_autofree char *id =
		g_strdup_printf("subvolume %" G_GUINT64_FORMAT, result->deferred.last_id);
	uint64_t n = result->deferred.snapshots;

	if (settings->dry_run && result->deferred.bytes > 0)
		add_line(lines, "deferred", "at least %s would be freed when snapshots are deleted",
			 bytes);
	if (result->deferred.waiting_bytes > 0)
		add_line(lines, "deferred",
			 "%s will be freed when %" G_GUINT64_FORMAT
			 " snapshot%s deleted (last: %s)",
			 waiting, n, n == 1 ? " is" : "s are",
			 result->deferred.last_snapshot ? result->deferred.last_snapshot : id);
	if (result->deferred.written_bytes > 0)
		add_line(lines, "",
			 "%s %s written anew for deferred space, and not subtracted from the space "
			 "freed",
			 written, settings->dry_run ? "would be" : "were");
	if (result->deferred.released_bytes > 0)
		add_line(lines, "released", "%s, as snapshots were deleted since", released);
}

/* Pinned extents have lines of their own. */
static void add_skips(GString *lines, const PassResult *result, bool verbose)
{
	const SkipLedger *skips = &result->skips;
	const char *label = "skipped";

	for (size_t reason = 0; reason < SKIP_REASONS; reason++) {
		const SkipEntry *entry = &skips->entries[reason];
		/* A file or directory that was not opened has no known size. */
		g_autofree char *bytes = entry->bytes > 0 ? size_text(entry->bytes) : g_strdup("-");
		g_autofree char *advice =
			advice_of_costs(reason, entry->bytes, result->costly_bytes);

		if (entry->count == 0 || (reason == SKIP_PINNED && result->found_by_checksums))
			continue;

		add_line(lines, label, "%-12s %8" G_GUINT64_FORMAT "  %10s",
			 skip_reason_name(reason), entry->count, bytes);
		add_line(lines, "", "  %s", advice);
		label = "";
		for (size_t i = 0; (verbose || reason == SKIP_UNREADABLE) && entry->examples[i];
		     i++)
			add_line(lines, "", "  %s", entry->examples[i]);
	}
}

/* The patterns as in the configuration: a user who mistyped one sees it here. */
static void add_unmatched(GString *lines, const PassResult *result)
{
	const char *label = "no match";

	for (char **pattern = result->unmatched; pattern && *pattern; pattern++) {
		bool is_include = **pattern == '!';
		g_autofree char *shown =
			name_text(*pattern + is_include, strlen(*pattern + is_include));

		add_line(lines, label, "%s=%s", is_include ? "Include" : "Exclude", shown);
		label = "";
	}
}

/* All pinned extents, by cause.  With @verbose also the files that keep extents which this pass planned. */
static void add_pins(GString *lines, const PassResult *result, bool verbose)
{
	const char *label = "pinned by";

	for (size_t cause = PIN_NONE + 1; cause < PIN_CAUSES; cause++) {
		const PinnedSum *sum = &result->ledger.pinned[cause];
		const PinEntry *entry = &result->pins.entries[cause];
		g_autofree char *bytes = size_text(sum->bytes);

		if (sum->extents == 0)
			continue;

		add_line(lines, label, "%-18s %8" G_GUINT64_FORMAT "  %10s", pin_cause_name(cause),
			 sum->extents, bytes);
		if (advice_of_pin(cause))
			add_line(lines, "", "  %s", advice_of_pin(cause));
		label = "";
		for (size_t i = 0; verbose && i < entry->n_examples; i++) {
			const PinExample *example = &entry->examples[i];
			g_autofree char *uncovered = size_text(example->uncovered_bytes);

			add_line(lines, "", "  %s (%s uncovered)", example->path, uncovered);
		}
	}
}

/* The store's size and shape. */
static void add_store(GString *lines, const PassResult *result)
{
	g_autofree char *bytes = size_text(result->store.bytes);

	if (!result->store.path)
		return;

	add_line(lines, "store",
		 "%s, %" G_GUINT64_FORMAT " anchors: of %u blocks, at one position in %u", bytes,
		 result->store.anchors, result->store.anchor_blocks, result->store.window_anchors);
}

char *report_text(const Settings *settings, const ReportedPass *pass)
{
	const PassResult *result = pass->result;
	g_autoptr(GString) lines = g_string_new(NULL);
	g_autofree char *mount_point =
		name_text(pass->filesystem->mount_point, strlen(pass->filesystem->mount_point));

	g_string_append_printf(lines, "%s (%s %s): %s in %.1f s\n", mount_point,
			       fs_kind_name(pass->filesystem->identity.kind),
			       pass->filesystem->uuid, pass_outcome_name(result->outcome),
			       (double)(result->ended_usec - result->started_usec) /
				       G_USEC_PER_SEC);
	if (result->stopped_reason)
		add_line(lines, "stopped", "%s: the next pass goes on", result->stopped_reason);
	if (pass->filesystem->counts_quota)
		add_line(lines, "note", "%s", quota_note);
	add_work(lines, settings, result);
	add_freed(lines, settings, pass);
	if (result->found_by_checksums && !settings->dry_run)
		add_ledger(lines, settings, result);
	add_deferred(lines, settings, result);
	add_skips(lines, result, settings->verbose);
	add_unmatched(lines, result);
	add_pins(lines, result, settings->verbose);
	if (settings->verbose)
		add_store(lines, result);
	return g_string_free(g_steal_pointer(&lines), false);
}
