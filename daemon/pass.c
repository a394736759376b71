/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/pass.h"

#include "daemon/anchor-shape.h"
#include "daemon/clone-pairs.h"
#include "daemon/clone-scan.h"
#include "daemon/clone-sharer.h"
#include "daemon/deferred-extents.h"
#include "daemon/disk-turn.h"
#include "daemon/extent-finder.h"
#include "daemon/extent-guard.h"
#include "daemon/extent-pass.h"
#include "daemon/file-opener.h"
#include "daemon/filesystem-hold.h"
#include "daemon/filesystem-lock.h"
#include "daemon/fingerprint.h"
#include "daemon/fs-history.h"
#include "daemon/given-limits.h"
#include "daemon/inode-inventory.h"
#include "daemon/inventory.h"
#include "daemon/kept-files.h"
#include "daemon/match.h"
#include "daemon/object-table.h"
#include "daemon/pass-devices.h"
#include "daemon/pass-note.h"
#include "daemon/pattern-look.h"
#include "daemon/pinned-extents.h"
#include "daemon/place-cost.h"
#include "daemon/planner.h"
#include "daemon/policies.h"
#include "daemon/reader-count.h"
#include "daemon/run.h"
#include "daemon/share.h"
#include "daemon/space-count.h"
#include "hashstore/objects.h"
#include "hashstore/sorter.h"
#include "kernel-ioctl/dedupe-range.h"
#include "kernel-ioctl/fd.h"
#include "kernel-ioctl/thread-io.h"

/* Under which policies everything was settled: others may find more.  First this was of zeros only. */
#define POLICY_NOTE "zeros"

/* How the last pass found equal data: "checksums" or "read". */
#define WAY_NOTE "found-by"

#define COMMIT_USEC (30 * G_USEC_PER_SEC)
#define USEC_NSEC   INT64_C(1000)
#define DAY_USEC    (INT64_C(86400) * G_USEC_PER_SEC)

/* Smaller files lie inline in btrfs's metadata (max_inline); on XFS each takes a block. */
#define BTRFS_MIN_SIZE_BYTES 2048
#define XFS_MIN_SIZE_BYTES   1

static uint64_t min_size_bytes(const Pass *pass)
{
	if (pass->settings->min_size_bytes != SETTINGS_MIN_SIZE_UNSET)
		return pass->settings->min_size_bytes;

	return pass->filesystem->identity.kind == FS_KIND_BTRFS ? BTRFS_MIN_SIZE_BYTES
								: XFS_MIN_SIZE_BYTES;
}

static void set_young(Pass *pass)
{
	const uint64_t most_usec = G_MAXINT64 / USEC_NSEC;
	int64_t now_nsec = g_get_real_time() * USEC_NSEC;
	uint64_t age_usec = MIN(pass->settings->min_age_usec, most_usec);

	filter_set_young(pass->filter, now_nsec - (int64_t)age_usec * USEC_NSEC, now_nsec);
}

static void store_joins(void *data)
{
	throttle_join(((Pass *)data)->throttle);
}

static void store_leaves(void *data)
{
	throttle_leave(((Pass *)data)->throttle);
}

static void store_pays(void *data)
{
	pass_may_continue(data);
}

static bool may_find_by_checksums(const Pass *pass)
{
	const char *reason;

	return pass->settings->find != FIND_READ && extent_pass_is_possible(pass, &reason);
}

static uint64_t store_limit(const Pass *pass)
{
	uint64_t limit = pass->settings->store_limit_bytes;

	return limit == SETTINGS_STORE_LIMIT_AUTO
		       ? store_room_default_bytes(fs_total_bytes(pass->filesystem->fd))
		       : limit;
}

static uint64_t compare_factor(const Pass *pass)
{
	if (pass->settings->max_compare != SETTINGS_MAX_COMPARE_AUTO)
		return pass->settings->max_compare;
	return pass->n_readers == 1 ? PLACE_COST_FACTOR_ROTATING : PLACE_COST_FACTOR;
}

static bool pass_open(Pass *pass, DiskTable *disks, GError **error)
{
	const Filesystem *filesystem = pass->filesystem;
	const Settings *settings = pass->settings;
	AnchorShape shape = anchor_shape(may_find_by_checksums(pass));
	HashStoreOptions options = {
		.directory = settings->state_directory,
		.uuid = filesystem->uuid,
		.kind = fs_kind_name(filesystem->identity.kind),
		.block_bytes = pass->block_bytes,
		.anchor_blocks = settings->anchor_blocks,
		.window_anchors = settings->window_anchors,
		.new_anchor_blocks = shape.blocks,
		.new_window_anchors = shape.window,
		.memory_bytes = settings->memory_bytes / 2,
		.stop = pass->stop,
		.count_reads = thread_io_read_bytes,
		.payer = &pass->payer,
		.rebuild = settings->rebuild,
	};

	if (filesystem->refusal) {
		g_propagate_error(error, g_error_copy(filesystem->refusal));
		return false;
	}

	pass->payer = (HashStorePayer){ store_joins, store_leaves, store_pays, pass };
	pass->store = hash_store_open(&options, error);
	if (!pass->store)
		return false;

	pass->room = store_room_new(pass->store, settings->state_directory, store_limit(pass));
	pass->throttle = disk_table_throttle(disks, settings, filesystem->fd);
	disk_table_add_store(disks, pass->throttle, settings->state_directory);
	pass->n_readers = reader_count(disks, filesystem);
	pass->compare_factor = compare_factor(pass);
	pass->filter = filter_new(settings->excludes, min_size_bytes(pass));
	filter_set_patterns(pass->filter, settings->patterns, filesystem->mount_point);
	set_young(pass);
	pass->kept = kept_pages_new(NULL);
	pass->hot = hot_objects_new();
	pass->postponed = postponed_new();
	pass->subvolumes = read_only_subvolumes_new(settings->read_only_snapshots);
	pass->committed_usec = g_get_monotonic_time();
	return true;
}

static void pass_close(Pass *pass)
{
	g_clear_pointer(&pass->clones, clone_pairs_free);
	g_clear_pointer(&pass->zero_source, g_free);
	g_clear_pointer(&pass->pinned, pinned_extents_free);
	g_clear_pointer(&pass->deferred, deferred_extents_free);
	g_clear_pointer(&pass->places, extent_places_free);
	g_clear_pointer(&pass->ref_bound, btrfs_ref_bound_free);
	g_clear_pointer(&pass->guard, extent_guard_free);
	g_clear_pointer(&pass->filter, filter_free);
	g_clear_pointer(&pass->throttle, throttle_free);
	g_clear_pointer(&pass->watch, pass_watch_free);
	g_clear_pointer(&pass->kept, kept_pages_free);
	g_clear_pointer(&pass->hot, hot_objects_free);
	g_clear_pointer(&pass->postponed, postponed_free);
	g_clear_pointer(&pass->subvolumes, read_only_subvolumes_free);
	g_clear_pointer(&pass->room, store_room_free);
	g_clear_pointer(&pass->store, hash_store_close);
}

bool pass_may_continue(const Pass *pass)
{
	if (pass->throttle && !atomic_load(pass->stop))
		throttle_settle(pass->throttle, pass->stop);

	if (pass->watch && !atomic_load(pass->stop))
		pass_devices_look(pass);

	return !atomic_load(pass->stop);
}

uint32_t pass_day(const Pass *pass)
{
	return (uint32_t)(pass->result->started_usec / DAY_USEC);
}

bool pass_commit(Pass *pass, GError **error)
{
	return pass_devices_fail(pass) || hash_store_commit(pass->store, error);
}

bool pass_commit_when_due(Pass *pass, GError **error)
{
	int64_t now_usec = g_get_monotonic_time();

	if (now_usec - pass->committed_usec < COMMIT_USEC)
		return true;

	pass->committed_usec = now_usec;
	return pass_commit(pass, error);
}

/*
 * Match everything anew if the policies are not those under which it was settled, and look again at files
 * that they had left alone.  A dry run leaves the store settled as it is, and says so.
 */
static bool apply_policy(Pass *pass, GError **error)
{
	g_autofree char *policy = policies_text(pass->settings);
	g_autofree char *known = NULL;

	if (!hash_store_get_note(pass->store, POLICY_NOTE, &known, error))
		return false;
	if (g_strcmp0(known, policy) == 0)
		return true;
	if (pass->settings->dry_run) {
		if (known)
			g_warning(
				"the last pass over %s had other policies: what it left alone for "
				"these is not foretold, but 'dedupctl estimate' foretells it",
				pass->filesystem->mount_point);
		return true;
	}

	return hash_store_unsettle(pass->store, error) && inode_inventory_begin_anew(pass, error) &&
	       hash_store_set_note(pass->store, POLICY_NOTE, policy, error);
}

void pass_note_unmatched(const Pass *pass, bool looked_at_all)
{
	g_autofree const char **patterns = filter_unmatched_patterns(pass->filter);
	g_autoptr(GStrvBuilder) noted = g_strv_builder_new();

	for (size_t i = 0; patterns[i]; i++)
		if (looked_at_all || pattern_is_of_nothing(pass->filesystem->mount_point,
							   patterns[i] + (*patterns[i] == '!')))
			g_strv_builder_add(noted, patterns[i]);
	pass->result->unmatched = g_strv_builder_end(noted);
}

static void warn_of_unmatched(Pass *pass)
{
	g_autofree const char **globs = filter_unmatched(pass->filter);

	for (size_t i = 0; globs[i]; i++)
		g_warning("--exclude %s matched nothing on %s", globs[i],
			  pass->filesystem->mount_point);
	pass_note_unmatched(pass, true);
}

static bool note_outside(Inventory *inventory, ObjectTable *table, GError **error)
{
	uint32_t object;

	do {
		if (!inventory_next_outside(inventory, &object, error))
			return false;
		object_table_add_fact(table, object, FACT_OUTSIDE);
	} while (object);

	return inventory_rewind_outside(inventory, error);
}

/*
 * What an earlier pass did not settle and this one did not meet would count as settled from now on: it is
 * left to the next pass that meets it.  *ret_n: how much that is.
 */
static bool postpone_outside(Pass *pass, Inventory *inventory, uint64_t *ret_n, GError **error)
{
	*ret_n = 0;
	while (pass_may_continue(pass)) {
		uint32_t object;

		if (!inventory_next_outside(inventory, &object, error))
			return false;
		if (!object)
			break;
		postponed_add(pass->postponed, pass->store, object);
		++*ret_n;
	}

	return true;
}

/* All that was matched is settled, save what was postponed. */
static bool pass_settle(Pass *pass, Inventory *inventory, ObjectTable *table, GError **error)
{
	uint64_t n_unsettled = inventory_unsettled(inventory) + pass->result->files.read;
	uint64_t n_outside;

	if (!postpone_outside(pass, inventory, &n_outside, error))
		return false;
	if (!pass_may_continue(pass) || postponed_is_all(pass->postponed, n_unsettled + n_outside))
		return true;

	progress_begin(pass->progress, STAGE_SETTLE, 0);
	return hash_store_settle(pass->store, object_table_is_kept, table, error) &&
	       object_table_take_error(table, error) &&
	       postponed_renew(pass->postponed, pass->store, error);
}

static bool pass_match_and_share(Pass *pass, Inventory *inventory, FileOpener *opener,
				 GError **error)
{
	const char *directory = pass->settings->state_directory;
	g_autoptr(ObjectTable) table = object_table_new(pass->store, RANK_BY_GAIN, pass->settings,
							pass->subvolumes, error);
	g_autoptr(Planner) planner = NULL;
	g_autoptr(Sorter) runs = NULL;
	uint64_t blocks = 0;

	progress_begin(pass->progress, STAGE_MATCH, 0);
	runs = sorter_new(sizeof(Run), run_compare, pass->settings->memory_bytes / 4, directory,
			  pass->stop);
	if (table)
		hot_objects_tell(pass->hot, table);
	/* From here on objects are looked up: what a run is all of, and what each is whose turn comes. */
	if (pass->result->files.read > 0 && !hash_store_begin(pass->store, error))
		return false;
	if (!table || !note_outside(inventory, table, error) ||
	    !match_all(pass, table, opener, runs, &blocks, error))
		return false;
	if (!pass_may_continue(pass))
		return true;

	progress_begin(pass->progress, STAGE_SHARE, blocks * pass->block_bytes);
	planner = planner_new(runs, NULL, NULL);
	if (pass->filesystem->identity.kind == FS_KIND_XFS)
		pass->clones =
			clone_pairs_new(pass->settings->memory_bytes / 8, directory, pass->stop);
	if (!share_all(pass, planner, opener, error) || !clones_share(pass, table, opener, error) ||
	    !clone_scan_note(pass, error) || !kept_files_drop(pass, opener, error))
		return false;
	if (!pass_may_continue(pass) || pass->settings->dry_run)
		return true;

	return pass_settle(pass, inventory, table, error);
}

static bool file_pass_steps(Pass *pass, GError **error)
{
	g_autoptr(FileOpener) opener = file_opener_new(pass->filesystem, pass->store);
	g_autoptr(Inventory) inventory = NULL;
	PassResult *result = pass->result;
	SpaceCount count;

	if (!given_limits_apply(pass, error))
		return false;
	inventory = inventory_build(pass, opener, error);
	if (!inventory)
		return false;
	if (!pass_may_continue(pass))
		return true;

	warn_of_unmatched(pass);
	if (!inventory_choose(inventory, error) ||
	    !fingerprint_all(pass, inventory_to_read(inventory), NULL, opener, error))
		return false;
	if (!space_count_begin(pass, &count, error))
		return false;

	if (!pass_may_continue(pass))
		return true;
	if (!inventory_finish_reading(inventory, error))
		return false;
	if (result->files.read == 0 && inventory_unsettled(inventory) == 0)
		return kept_files_drop(pass, opener, error);
	if (!hash_store_commit(pass->store, error) ||
	    !pass_match_and_share(pass, inventory, opener, error))
		return false;

	/* btrfs gives space back when a transaction commits. */
	if (result->shared.runs > 0 && pass_may_continue(pass) && !pass->settings->dry_run &&
	    !filesystem_flush(pass->filesystem, error))
		return false;
	return space_count_end(pass, &count, error);
}

/* Extents as objects and files as objects do not mix: the other kind has to be found anew. */
static bool choose_way(Pass *pass, GError **error)
{
	PassResult *result = pass->result;
	FindPolicy policy = pass->settings->find;
	g_autofree char *known = NULL;
	const char *way;

	result->find_reason = "it was not asked for";
	result->found_by_checksums =
		policy != FIND_READ && extent_pass_is_possible(pass, &result->find_reason);
	if (policy == FIND_CHECKSUMS && !result->found_by_checksums) {
		g_set_error(error, FILESYSTEM_ERROR, FILESYSTEM_ERROR_UNSUITABLE,
			    "--find checksums does not work on %s: %s",
			    pass->filesystem->mount_point, result->find_reason);
		return false;
	}

	way = result->found_by_checksums ? "checksums" : "read";
	if (pass->filesystem->identity.kind != FS_KIND_BTRFS)
		return true;
	if (!hash_store_get_note(pass->store, WAY_NOTE, &known, error))
		return false;
	return g_strcmp0(known, way) == 0 ||
	       (extents_find_anew(pass, error) && inode_inventory_begin_anew(pass, error) &&
		hash_store_unsettle(pass->store, error) &&
		hash_store_set_note(pass->store, WAY_NOTE, way, error));
}

/* Choose the way, and see that what the store knows is still true. */
static bool begin_way(Pass *pass, GError **error)
{
	bool is_emptied;

	return choose_way(pass, error) &&
	       fs_history_begin(pass, pass->result->found_by_checksums, &is_emptied, error) &&
	       (!is_emptied || choose_way(pass, error));
}

/* Where nothing is known all would count as changed. */
static bool is_known_if_need_be(Pass *pass, GError **error)
{
	uint64_t n_objects;

	if (!pass->settings->only_changed)
		return true;
	if (!hash_store_count_objects(pass->store, &n_objects, error))
		return false;
	if (n_objects > 0)
		return true;

	g_set_error(
		error, FILESYSTEM_ERROR, FILESYSTEM_ERROR_UNSUITABLE,
		"nothing is known of %s yet, so all of it would count as changed: a pass without "
		"--changed has to come first",
		pass->filesystem->mount_point);
	return false;
}

static bool pass_steps(Pass *pass, GError **error)
{
	if (!is_known_if_need_be(pass, error))
		return false;
	if (!pass_devices_begin(pass, error))
		return false;
	if (!pass_may_continue(pass))
		return true;
	if (!begin_way(pass, error))
		return false;
	if (!pass_may_continue(pass))
		return true;
	if (!apply_policy(pass, error))
		return false;

	return (pass->result->found_by_checksums ? extent_pass_steps(pass, error)
						 : file_pass_steps(pass, error)) &&
	       fs_history_end(pass, error);
}

static bool describe_store(Pass *pass, GError **error)
{
	PassResult *result = pass->result;

	g_free(result->store.path);
	result->store.path = g_strdup(hash_store_path(pass->store));
	result->store.bytes = hash_store_file_bytes(pass->store);
	result->store.anchor_blocks = hash_store_about(pass->store)->anchor_blocks;
	result->store.window_anchors = hash_store_about(pass->store)->window_anchors;
	return hash_store_count_objects(pass->store, &result->store.objects, error) &&
	       hash_store_count_anchors(pass->store, &result->store.anchors,
					&result->store.segments, error);
}

void pass_run(const Settings *settings, const Filesystem *filesystem, DiskTable *disks,
	      atomic_bool *stop, Progress *progress, PassResult *result)
{
	Pass pass = {
		.settings = settings,
		.filesystem = filesystem,
		.stop = stop,
		.progress = progress,
		.block_bytes = filesystem->identity.block_bytes,
		.round_bytes = DEDUPE_ROUND_BYTES,
		.result = result,
	};
	GError **error = &result->error;
	g_auto(Fd) lock = -1;
	/* References of a btrfs must not be looked up while somebody else shares, not by a dry run either. */
	bool is_lock_needed = !settings->dry_run || filesystem->identity.kind == FS_KIND_BTRFS;
	bool may_work = (!is_lock_needed || filesystem_lock(filesystem->uuid, &lock, error)) &&
			filesystem_hold_is_absent(filesystem->uuid, error);
	g_autoptr(DiskTurn) turn = NULL;
	ThreadIo before, after;
	bool counts_disk = thread_io_read(&before);

	/* In the service main has seen to that before it began the pass. */
	if (may_work && settings->once && !settings->dry_run) {
		turn = disk_turn_wait(disks, filesystem->fd, filesystem->mount_point,
				      filesystem->uuid, stop);
		may_work = filesystem_hold_is_absent(filesystem->uuid, error);
	}
	result->started_usec = g_get_real_time();
	result->outcome = PASS_FAILED;
	result->is_dry_run = settings->dry_run;
	if (may_work && pass_open(&pass, disks, error)) {
		if (pass_steps(&pass, error) || pass_devices_explain(&pass, error))
			result->outcome = pass_may_continue(&pass) && !result->stopped_reason
						  ? PASS_COMPLETE
						  : PASS_INTERRUPTED;
		if (!pass_note(&pass, result->error ? NULL : error) ||
		    !describe_store(&pass, result->error ? NULL : error))
			result->outcome = PASS_FAILED;
		result->disk_bytes += hash_store_thread_read_bytes(pass.store);
	}

	pass_close(&pass);
	if (counts_disk && thread_io_read(&after))
		result->disk_bytes += after.read_bytes - before.read_bytes;
	result->ended_usec = g_get_real_time();
}
