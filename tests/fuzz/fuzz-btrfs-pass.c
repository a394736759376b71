/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/config/config.h"
#include "daemon/btrfs/pinned/pinned-extents.h"
#include "daemon/btrfs/plan/sharing-cost.h"
#include "daemon/pass/extent-pass.h"
#include "hashstore/store-check.h"
#include "kernel-ioctl/file/dedupe-range.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/hostile-btrfs.h"
#include "tests/fuzz/hostile-store.h"
#include "tests/unit/scratch.h"

#include <string.h>

#define PASSES 2

#define STORE_BYTES_MAX (UINT64_C(64) << 20)

const char *const fuzz_seeds[] = { NULL };

typedef struct {
	Scratch *scratch;
	Settings settings;
	Filesystem filesystem;
	FilesystemRoot root;
	PassResult result;
	Progress progress;
	atomic_bool stop;
	DiskTable *disks;
	Pass pass;
} Work;

static void choose_settings(Work *work, Choices *choices)
{
	static char *excludes[] = { (char *)"n1*", NULL };
	g_autoptr(Config) config = config_new();
	Settings *settings = &work->settings;

	config_settings(config, NULL, settings);
	g_free(settings->state_directory);
	settings->state_directory = scratch_path(work->scratch, "state");
	settings->memory_bytes = SETTINGS_MEMORY_MIN_BYTES;
	settings->dry_run = choices_yes(choices);
	settings->zeros = choices_below(choices, ZEROS_SHARE + 1);
	settings->rewrite = choices_below(choices, REWRITE_NEVER + 1);
	settings->compressed = choices_below(choices, 2) ? COMPRESSED_READ : COMPRESSED_SUMS;
	settings->no_data_cow = NO_COW_SHARE;
	if (choices_below(choices, 4) == 1)
		settings->excludes = g_strdupv(excludes);
}

static void describe_filesystem(Work *work, Choices *choices)
{
	Filesystem *filesystem = &work->filesystem;

	work->root = (FilesystemRoot){
		.path = work->scratch->path,
		.subvolume = hostile_subvolumes[choices_below(choices, 4) / 3],
		.inode = 256,
		.is_mount_root = true,
		.is_top = true,
	};
	filesystem->identity = (FsIdentity){ .kind = FS_KIND_BTRFS,
					     .block_bytes = HOSTILE_BLOCK_BYTES,
					     .can_share = true };
	memcpy(filesystem->uuid, HOSTILE_STORE_UUID, sizeof(HOSTILE_STORE_UUID));
	filesystem->mount_point = work->scratch->path;
	filesystem->fd = work->scratch->fd;
	filesystem->opens_by_id = true;
	filesystem->roots = g_ptr_array_new();
	g_ptr_array_add(filesystem->roots, &work->root);
}

static HashStore *open_store(const Work *work, GError **error)
{
	HashStoreOptions options = hostile_store_options(work->settings.state_directory, "btrfs");

	options.stop = &work->stop;
	options.anchor_blocks = options.window_anchors = 0;
	options.new_anchor_blocks = 4;
	options.new_window_anchors = 16;
	return hash_store_open(&options, error);
}

static bool begin_pass(Work *work, bool is_damaged)
{
	g_autoptr(GError) error = NULL;
	Pass *pass = &work->pass;

	*pass = (Pass){
		.settings = &work->settings,
		.filesystem = &work->filesystem,
		.stop = &work->stop,
		.progress = &work->progress,
		.block_bytes = HOSTILE_BLOCK_BYTES,
		.window_bytes = DEDUPE_ROUND_BYTES,
		.result = &work->result,
		.parallelism = { .n_readers = 1, .n_sharers = 1 },
	};
	pass->store = open_store(work, &error);
	g_assert_true(pass->store || (is_damaged && error));
	if (!pass->store)
		return false;
	pass->room = store_room_new(pass->store, work->settings.state_directory, STORE_BYTES_MAX);
	pass->throttle = disk_table_throttle(work->disks, &work->settings, work->filesystem.fd);
	pass->filter = filter_new(work->settings.excludes, 2048);
	pass->kept = page_cache_budget_new(NULL);
	pass->hot = g_array_new(false, false, sizeof(uint32_t));
	pass->postponed = postponed_new();
	pass->subvolumes = read_only_subvolumes_new(work->settings.read_only_snapshots);
	work->result.started_usec = g_get_real_time();
	return true;
}

static void end_pass(Work *work)
{
	Pass *pass = &work->pass;

	g_clear_pointer(&pass->btrfs.zero_source, g_free);
	g_clear_pointer(&pass->btrfs.pinned, pinned_extents_free);
	g_clear_pointer(&pass->btrfs.scope, extent_scope_free);
	g_clear_pointer(&pass->btrfs.cost, sharing_cost_free);
	g_clear_pointer(&pass->btrfs.ref_bound, btrfs_ref_bound_free);
	filter_free(pass->filter);
	throttle_free(pass->throttle);
	page_cache_budget_free(pass->kept);
	g_array_unref(pass->hot);
	postponed_free(pass->postponed);
	read_only_subvolumes_free(pass->subvolumes);
	store_room_free(pass->room);
	hash_store_close(pass->store);
	pass_result_clear(&work->result);
	memset(&work->result, 0, sizeof(work->result));
}

/* Whatever the btrfs was like, what a pass committed is a whole store. */
static void check_store(HashStore *store)
{
	g_autoptr(GPtrArray) problems = NULL;
	g_autoptr(GError) error = NULL;

	g_assert_true(hash_store_commit(store, &error));
	g_assert_no_error(error);
	g_assert_true(hash_store_check(store, &problems, &error));
	g_assert_no_error(error);
	for (guint i = 0; i < problems->len; i++)
		g_error("%s", (const char *)problems->pdata[i]);
}

/* False: the store, which was damaged, cannot be opened. */
static bool run_pass(Work *work, bool is_damaged)
{
	g_autoptr(GError) error = NULL;
	bool done;

	if (!begin_pass(work, is_damaged))
		return false;
	done = extent_pass_steps(&work->pass, &error);
	g_assert_true(done == !error);
	/* No file can be opened here. */
	if (!work->settings.dry_run)
		g_assert_cmpuint(work->result.freed.bytes, ==, 0);
	if (!is_damaged)
		check_store(work->pass.store);
	end_pass(work);
	return true;
}

static void damage_store(const Work *work, Choices *choices)
{
	g_autofree char *path = g_build_filename(work->settings.state_directory,
						 HOSTILE_STORE_UUID ".sqlite", NULL);

	hostile_store_damage(choices, path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Choices choices = choices_begin(data, size);
	Work work = { .scratch = scratch_new(), .disks = disk_table_new() };

	choose_settings(&work, &choices);
	describe_filesystem(&work, &choices);
	for (unsigned i = 0; i < PASSES; i++) {
		bool is_damaged = i > 0 && choices_below(&choices, 2);

		if (is_damaged)
			damage_store(&work, &choices);
		hostile_btrfs_make(&choices, HOSTILE_GENERATION + i);
		run_pass(&work, is_damaged);
		hostile_btrfs_clear();
	}

	g_ptr_array_unref(work.filesystem.roots);
	disk_table_free(work.disks);
	settings_clear(&work.settings);
	scratch_free(work.scratch);
	return 0;
}
