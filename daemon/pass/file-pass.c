/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/pass/file-pass.h"

#include "common/content/run.h"
#include "daemon/context/file-opener.h"
#include "daemon/context/object-table.h"
#include "daemon/fingerprint/fingerprint.h"
#include "daemon/inventory/inventory.h"
#include "daemon/match/match.h"
#include "daemon/match/run-order.h"
#include "daemon/pass/one-off-limits.h"
#include "daemon/share/clone-pairs.h"
#include "daemon/share/clone-scan.h"
#include "daemon/share/clone-sharer.h"
#include "daemon/share/page-cache-drop.h"
#include "daemon/share/share.h"
#include "hashstore/anchors/sorter.h"
#include "hashstore/objects/objects.h"
#include "kernel-ioctl/btrfs/btrfs-space.h"

/* State that the phases hand on to each other. */
typedef struct {
	Pass *pass;
	FileOpener *opener;
	Inventory *inventory;
	BtrfsSpace space_before; /* of btrfs */
	bool counts_space;
	bool is_done; /* nothing is left to match */
	ObjectTable *table;
	Sorter *runs;
	uint64_t run_blocks;
} FilePass;

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
 * Leave unsettled objects that this pass did not meet to the next pass that meets them.  Otherwise they would count
 * as settled from now on.  *ret_n: the number of these.
 */
static bool postpone_outside(Pass *pass, Inventory *inventory, uint64_t *ret_n, GError **error)
{
	*ret_n = 0;
	while (pass_checkpoint(pass)) {
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

static bool is_btrfs(const Pass *pass)
{
	return pass->filesystem->identity.kind == FS_KIND_BTRFS;
}

static bool read_used(const Pass *pass, uint64_t *ret, GError **error)
{
	return fs_used_bytes(pass->filesystem->fd, pass->filesystem->identity.kind, ret, error);
}

/* Read the filesystem's own count of space.  Until the end the result has it as the count after the pass, too. */
static bool begin_count(FilePass *files, GError **error)
{
	Pass *pass = files->pass;
	uint64_t used;

	if (!read_used(pass, &used, error) ||
	    (is_btrfs(pass) &&
	     !btrfs_space_read(pass->filesystem->fd, &files->space_before, error)))
		return false;

	pass->result->freed.used_before_bytes = used;
	pass->result->freed.used_after_bytes = used;
	return true;
}

/* List the files, and which of them are new or changed. */
static bool list_files(FilePass *files, GError **error)
{
	Pass *pass = files->pass;

	if (!one_off_limits_apply(pass, error))
		return false;

	files->inventory = inventory_build(pass, files->opener, error);
	return files->inventory;
}

/* Fingerprint new and changed files. */
static bool read_files(FilePass *files, GError **error)
{
	Pass *pass = files->pass;

	warn_of_unmatched(pass);
	if (!inventory_choose(files->inventory, error) ||
	    !fingerprint_all(pass, inventory_to_read(files->inventory), NULL, files->opener, error))
		return false;

	files->counts_space = begin_count(files, error);
	return files->counts_space;
}

/* Commit the fingerprints.  If there is nothing to match, the pass is done. */
static bool keep_read(FilePass *files, GError **error)
{
	Pass *pass = files->pass;

	if (!inventory_finish_reading(files->inventory, error))
		return false;
	if (pass->result->files.read > 0 || inventory_unsettled(files->inventory) > 0)
		return pass_commit(pass, error);

	files->is_done = true;
	return page_cache_drop_kept(pass, files->opener, error);
}

/* Find the equal runs of blocks. */
static bool match_files(FilePass *files, GError **error)
{
	Pass *pass = files->pass;
	const Settings *settings = pass->settings;

	files->table =
		object_table_new(pass->store, RANK_BY_GAIN, settings, pass->subvolumes, error);
	if (!files->table)
		return false;

	progress_begin(pass->progress, STAGE_MATCH, 0);
	files->runs = sorter_new(sizeof(Run), run_compare, settings->memory_bytes / 4,
				 settings->state_directory, pass->stop);
	for (guint i = 0; i < pass->hot->len; i++)
		object_table_add_fact(files->table, g_array_index(pass->hot, uint32_t, i),
				      FACT_HOT);
	/* From here on objects are looked up in the store. */
	if (pass->result->files.read > 0 && !hash_store_begin(pass->store, error))
		return false;
	return note_outside(files->inventory, files->table, error) &&
	       match_all(pass, files->table, files->opener, files->runs, &files->run_blocks, error);
}

/* Deduplicate the runs; on XFS then also those with several references. */
static bool share_files(FilePass *files, GError **error)
{
	Pass *pass = files->pass;
	const Settings *settings = pass->settings;
	g_autoptr(RunOrder) order = run_order_new(files->runs, NULL, NULL);

	progress_begin(pass->progress, STAGE_SHARE, files->run_blocks * pass->block_bytes);
	if (pass->filesystem->identity.kind == FS_KIND_XFS)
		pass->xfs.clones = clone_pairs_new(settings->memory_bytes / 8,
						   settings->state_directory, pass->stop);
	return share_all(pass, order, files->opener, error) &&
	       clones_share(pass, files->table, files->opener, error) &&
	       clone_scan_note(pass, error) && page_cache_drop_kept(pass, files->opener, error);
}

/* Settle all that was matched, except what was postponed. */
static bool settle(FilePass *files, GError **error)
{
	Pass *pass = files->pass;
	uint64_t n_unsettled = inventory_unsettled(files->inventory) + pass->result->files.read;
	uint64_t n_outside;

	if (pass->settings->dry_run)
		return true;
	if (!postpone_outside(pass, files->inventory, &n_outside, error))
		return false;
	if (!pass_checkpoint(pass) || postponed_is_all(pass->postponed, n_unsettled + n_outside))
		return true;

	progress_begin(pass->progress, STAGE_SETTLE, 0);
	return pass_flush_shared(pass, error) &&
	       hash_store_settle(pass->store, object_table_is_kept, files->table, error) &&
	       object_table_take_error(files->table, error) &&
	       postponed_renew(pass->postponed, pass->store, error);
}

/* Read the count again, and compute what metadata took. */
static bool end_count(const FilePass *files, GError **error)
{
	Pass *pass = files->pass;
	PassResult *result = pass->result;
	BtrfsSpace after;

	if (!read_used(pass, &result->freed.used_after_bytes, error))
		return false;
	if (result->shared.runs == 0 || pass->settings->dry_run)
		return true;

	/* A block that a file does not use any more may still be in use, as part of an extent or as metadata. */
	result->freed.kept_bytes =
		(int64_t)(result->freed.bytes -
			  (result->freed.used_before_bytes - result->freed.used_after_bytes));
	if (!is_btrfs(pass))
		return true;
	if (!btrfs_space_read(pass->filesystem->fd, &after, error))
		return false;
	result->freed.kept_bytes += btrfs_space_metadata_growth(&files->space_before, &after);
	return true;
}

/* Count the space that the pass gained, also if it was interrupted. */
static bool count_space(FilePass *files, GError **error)
{
	Pass *pass = files->pass;

	if (!files->counts_space || files->is_done || !files->table)
		return true;

	/* btrfs gives space back when a transaction commits. */
	if (pass_checkpoint(pass) && !pass_flush_shared(pass, error))
		return false;
	return end_count(files, error);
}

typedef bool Phase(FilePass *files, GError **error);

static bool do_phases(FilePass *files, GError **error)
{
	static Phase *const phases[] = {
		list_files, read_files, keep_read, match_files, share_files, settle,
	};

	for (size_t i = 0; i < G_N_ELEMENTS(phases) && !files->is_done; i++) {
		if (i > 0 && !pass_checkpoint(files->pass))
			break;
		if (!phases[i](files, error))
			return false;
	}

	return count_space(files, error);
}

bool file_pass_steps(Pass *pass, GError **error)
{
	FilePass files = {
		.pass = pass,
		.opener = file_opener_new(pass->filesystem, pass->store),
	};
	bool done = do_phases(&files, error);

	g_clear_pointer(&files.runs, sorter_free);
	g_clear_pointer(&files.table, object_table_free);
	g_clear_pointer(&files.inventory, inventory_free);
	file_opener_free(files.opener);
	return done;
}
