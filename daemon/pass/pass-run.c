/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/pass/pass-run.h"

#include "common/config/place-cost.h"
#include "common/config/policies.h"
#include "common/content/anchor-shape.h"
#include "common/content/fleet-key.h"
#include "common/mounts/filesystem-hold.h"
#include "common/mounts/filesystem-lock.h"
#include "daemon/btrfs/find/extent-finder.h"
#include "daemon/btrfs/find/inode-inventory.h"
#include "daemon/btrfs/pinned/deferred-extents.h"
#include "daemon/btrfs/pinned/pinned-extents.h"
#include "daemon/btrfs/plan/sharing-cost.h"
#include "daemon/context/pass-devices.h"
#include "daemon/context/pass-note.h"
#include "daemon/pass/disk-slot.h"
#include "daemon/pass/extent-pass.h"
#include "daemon/pass/file-pass.h"
#include "daemon/pass/fs-history.h"
#include "daemon/share/clone-pairs.h"
#include "daemon/share/full-alloc-groups.h"
#include "hashstore/objects/objects.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/dedupe-range.h"
#include "kernel-ioctl/machine/thread-io.h"

#include <unistd.h>

/* The policies under which everything was settled: others may find more.  The note is named after the first one. */
#define POLICY_NOTE "zeros"

/* How the last pass found equal data: "checksums" or "read". */
#define WAY_NOTE "found-by"

#define USEC_NSEC INT64_C(1000)

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
	(void)!pass_checkpoint(data);
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
	return pass->parallelism.is_rotating ? PLACE_COST_FACTOR_ROTATING : PLACE_COST_FACTOR;
}

static bool pass_open(Pass *pass, DiskTable *disks, GError **error)
{
	const Filesystem *filesystem = pass->filesystem;
	const Settings *settings = pass->settings;
	g_auto(FleetKey) key = { 0 };
	AnchorShape shape;
	HashStoreOptions options = {
		.directory = settings->state_directory,
		.uuid = filesystem->uuid,
		.kind = fs_kind_name(filesystem->identity.kind),
		.block_bytes = pass->block_bytes,
		.anchor_blocks = settings->anchor_blocks,
		.window_anchors = settings->window_anchors,
		.memory_bytes = settings->memory_bytes / 2,
		.stop = pass->stop,
		.count_reads = thread_io_read_bytes,
		.payer = &pass->payer,
		.rebuild = settings->rebuild,
		.fleet_key = "",
	};

	if (filesystem->refusal) {
		g_propagate_error(error, g_error_copy(filesystem->refusal));
		return false;
	}

	/* Of users other than root, each has a key of its own. */
	if (settings->fleet_key && geteuid() == 0) {
		if (!fleet_key_read(settings->fleet_key, &key, error))
			return false;
		options.secret = key.secret;
		options.fleet_key = key.id;
	}
	/* Anchors of a fleet are the same on both kinds of filesystem. */
	shape = anchor_shape(may_find_by_checksums(pass) || options.secret);
	options.new_anchor_blocks = shape.blocks;
	options.new_window_anchors = shape.window;

	pass->payer = (HashStorePayer){ store_joins, store_leaves, store_pays, pass };
	pass->store = hash_store_open(&options, error);
	if (!pass->store)
		return false;

	pass->room = store_room_new(pass->store, settings->state_directory, store_limit(pass));
	pass->throttle = disk_table_throttle(disks, settings, filesystem->fd);
	disk_table_add_store(disks, pass->throttle, settings->state_directory);
	pass->parallelism = io_parallelism_of(disks, filesystem->fd, settings->threads);
	pass->account.factor = compare_factor(pass);
	pass->filter = filter_new(settings->excludes,
				  filter_min_size_bytes(settings, pass->filesystem->identity.kind));
	filter_set_patterns(pass->filter, settings->patterns, filesystem->mount_point);
	set_young(pass);
	pass->kept = page_cache_budget_new(NULL);
	pass->hot = g_array_new(false, false, sizeof(uint32_t));
	pass->postponed = postponed_new();
	pass->subvolumes = read_only_subvolumes_new(settings->read_only_snapshots);
	pass->committed_usec = g_get_monotonic_time();
	return true;
}

static void pass_close(Pass *pass)
{
	g_clear_pointer(&pass->xfs.clones, clone_pairs_free);
	g_clear_pointer(&pass->xfs.full, full_alloc_groups_free);
	g_clear_pointer(&pass->btrfs.zero_source, g_free);
	g_clear_pointer(&pass->btrfs.pinned, pinned_extents_free);
	g_clear_pointer(&pass->btrfs.deferred, deferred_extents_free);
	g_clear_pointer(&pass->btrfs.scope, extent_scope_free);
	g_clear_pointer(&pass->btrfs.ref_bound, btrfs_ref_bound_free);
	g_clear_pointer(&pass->btrfs.cost, sharing_cost_free);
	g_clear_pointer(&pass->filter, filter_free);
	g_clear_pointer(&pass->throttle, throttle_free);
	g_clear_pointer(&pass->watch, device_watch_free);
	g_clear_pointer(&pass->kept, page_cache_budget_free);
	g_clear_pointer(&pass->hot, g_array_unref);
	g_clear_pointer(&pass->postponed, postponed_free);
	g_clear_pointer(&pass->subvolumes, read_only_subvolumes_free);
	g_clear_pointer(&pass->room, store_room_free);
	g_clear_pointer(&pass->store, hash_store_close);
}

/*
 * Match all anew if the policies changed since all was settled, and look again at the files that they skipped.  A
 * dry run leaves the store settled as it is, and says so.
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
			g_warning("the last pass over %s had other policies: --dry-run does not "
				  "predict the files that those skipped, but 'dedupctl estimate' "
				  "does",
				  pass->filesystem->mount_point);
		return true;
	}

	return hash_store_unsettle(pass->store, error) && inode_inventory_begin_anew(pass, error) &&
	       hash_store_set_note(pass->store, POLICY_NOTE, policy, error);
}

/* Objects that are extents and objects that are files do not mix: the other kind has to be found anew. */
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

/* Choose the way, and check that the store still holds. */
static bool begin_way(Pass *pass, GError **error)
{
	bool is_emptied;

	return choose_way(pass, error) &&
	       fs_history_begin(pass, pass->result->found_by_checksums, &is_emptied, error) &&
	       (!is_emptied || choose_way(pass, error));
}

/* With an empty store, all files would count as changed. */
static bool require_known(Pass *pass, GError **error)
{
	uint64_t n_objects;

	if (!pass->settings->only_changed)
		return true;
	if (!hash_store_count_objects(pass->store, &n_objects, error))
		return false;
	if (n_objects > 0)
		return true;

	g_set_error(error, FILESYSTEM_ERROR, FILESYSTEM_ERROR_UNSUITABLE,
		    "the store knows nothing of %s yet: make a pass without --changed first",
		    pass->filesystem->mount_point);
	return false;
}

static bool share_by_way(Pass *pass, GError **error)
{
	return pass->result->found_by_checksums ? extent_pass_steps(pass, error)
						: file_pass_steps(pass, error);
}

typedef bool Phase(Pass *pass, GError **error);

/* A pass that is asked to stop ends early, without an error. */
static bool do_phases(Pass *pass, GError **error)
{
	static Phase *const phases[] = {
		require_known, pass_devices_begin, begin_way, apply_policy, share_by_way,
	};

	for (size_t i = 0; i < G_N_ELEMENTS(phases); i++) {
		if (i > 0 && !pass_checkpoint(pass))
			return true;
		if (!phases[i](pass, error))
			return false;
	}

	return fs_history_end(pass, error);
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
		.window_bytes = DEDUPE_ROUND_BYTES,
		.result = result,
	};
	GError **error = &result->error;
	g_auto(Fd) lock = -1;
	/* References of btrfs must not be looked up while another process shares, not even by a dry run. */
	bool is_lock_needed = !settings->dry_run || filesystem->identity.kind == FS_KIND_BTRFS;
	bool may_work = (!is_lock_needed || filesystem_lock(filesystem->uuid, &lock, error)) &&
			filesystem_hold_is_absent(filesystem->uuid, error);
	g_autoptr(DiskSlot) slot = NULL;
	ThreadIo before, after;
	bool counts_disk = thread_io_read(&before);

	/* In the service, main took the slot before it began the pass. */
	if (may_work && settings->once && !settings->dry_run) {
		slot = disk_slot_wait(disks, filesystem->fd, filesystem->mount_point,
				      filesystem->uuid, stop);
		may_work = filesystem_hold_is_absent(filesystem->uuid, error);
	}
	result->started_usec = g_get_real_time();
	result->outcome = PASS_FAILED;
	result->is_dry_run = settings->dry_run;
	if (may_work && pass_open(&pass, disks, error)) {
		bool done = do_phases(&pass, error) || pass_devices_explain(&pass, error);

		if (done)
			result->outcome = pass_checkpoint(&pass) && !result->stopped_reason
						  ? PASS_COMPLETE
						  : PASS_INTERRUPTED;
		/* Changes that a failed pass has half made must not be committed with its note. */
		if ((!done && !hash_store_roll_back(pass.store, NULL)) ||
		    !pass_note(&pass, result->error ? NULL : error) ||
		    !describe_store(&pass, result->error ? NULL : error))
			result->outcome = PASS_FAILED;
		result->disk_bytes += hash_store_thread_read_bytes(pass.store);
	}

	pass_close(&pass);
	if (counts_disk && thread_io_read(&after))
		result->disk_bytes += after.read_bytes - before.read_bytes;
	result->ended_usec = g_get_real_time();
}
