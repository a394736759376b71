/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/inventory/bulk-inventory.h"

#include "daemon/context/compare-uint64.h"
#include "daemon/inventory/excluded-files.h"
#include "daemon/inventory/file-places.h"
#include "daemon/inventory/name-finder.h"
#include "daemon/inventory/submounts.h"
#include "hashstore/anchors/sorter.h"
#include "hashstore/objects/names.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/file-stat.h"
#include "kernel-ioctl/file/open-file.h"
#include "kernel-ioctl/xfs/xfs-bulkstat.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* The map of all data pays if one file in so many is to be read. */
#define FILES_A_PLACE 4

/* Inodes per call under a limit: how much a call reads is known only afterwards. */
#define LIMITED_INODES 64

/* An inode that waits for its name. */
typedef struct {
	FileRecord file;
	FileAction action;
	SkipReason skip; /* the reason, with is_skip: the file is an example of it */
	bool is_skip;
	bool is_known;
} Pending;

typedef struct {
	Pass *pass;
	FileOpener *opener;
	NameBuffer *names;
	FileMerge *merge;
	ExcludedFiles *left_out;
	NameFinder *finder;
	ObjectCursor *objects;
	DirectoryCursor *directories;
	const Object *known;
	const DirectoryName *known_directory;
	Sorter *pending;
	unsigned n_examples[SKIP_REASONS]; /* that are pending */
	const FoundName *found;
	uint64_t n_to_read;
	FilePlaces *places; /* NULL: they are looked up file by file */
} Bulk;

static void bulk_clear(Bulk *bulk)
{
	g_clear_pointer(&bulk->left_out, excluded_files_free);
	g_clear_pointer(&bulk->finder, name_finder_free);
	g_clear_pointer(&bulk->objects, object_cursor_close);
	g_clear_pointer(&bulk->directories, directory_cursor_close);
	g_clear_pointer(&bulk->pending, sorter_free);
	g_clear_pointer(&bulk->places, file_places_free);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Bulk, bulk_clear)

static int compare_pending(const void *a, const void *b)
{
	return compare_uint64(((const Pending *)a)->file.inode, ((const Pending *)b)->file.inode);
}

/* Count a skipped file.  It waits for its name while examples are wanted. */
static bool skip(Bulk *bulk, SkipReason reason, const XfsInode *inode, uint64_t bytes,
		 bool is_known, GError **error)
{
	Pending pending = {
		.file = { .inode = inode->inode,
			  .generation = inode->generation,
			  .stamp = { .size_bytes = bytes } },
		.skip = reason,
		.is_skip = true,
		.is_known = is_known,
	};

	if (bulk->n_examples[reason] < SKIP_EXAMPLES) {
		bulk->n_examples[reason]++;
		return sorter_add(bulk->pending, &pending, error);
	}

	skip_ledger_add(&bulk->pass->result->skips, reason, bytes, NULL);
	return true;
}

/* The bytes in the file.  The inode has the size on the disk: blocks beyond it mean that more was written. */
static uint64_t size_of(const Bulk *bulk, const XfsInode *inode)
{
	const Filesystem *filesystem = bulk->pass->filesystem;
	FileId id = { .inode = inode->inode, .generation = inode->generation };
	uint64_t block_bytes = bulk->pass->block_bytes;
	g_auto(Fd) fd = -1;
	FileStat stat;
	int failed;

	if (inode->blocks <= (inode->size_bytes + block_bytes - 1) / block_bytes ||
	    open_file_by_id(filesystem->fd, filesystem->identity.kind, &id, &fd, &failed) !=
		    OPEN_OPENED ||
	    file_stat_at(fd, "", &stat) != 0)
		return inode->size_bytes;

	return stat.size_bytes;
}

/* Forget objects of the store before @inode: no file has these numbers. */
static bool pass_objects(Bulk *bulk, uint64_t inode, GError **error)
{
	while (bulk->known && bulk->known->inode < inode && pass_checkpoint(bulk->pass))
		if (!file_merge_forget(bulk->merge, bulk->known, error) ||
		    !object_cursor_next(bulk->objects, &bulk->known, error))
			return false;

	return true;
}

static bool pass_directories(Bulk *bulk, uint64_t inode, GError **error)
{
	while (bulk->known_directory && bulk->known_directory->inode < inode &&
	       pass_checkpoint(bulk->pass))
		if (!hash_store_drop_directory(bulk->pass->store, bulk->known_directory->subvolume,
					       bulk->known_directory->inode, error) ||
		    !directory_cursor_next(bulk->directories, &bulk->known_directory, error))
			return false;

	return true;
}

static bool visit_directory(Bulk *bulk, const XfsInode *inode, GError **error)
{
	bool is_known;

	if (!pass_directories(bulk, inode->inode, error))
		return false;

	is_known = bulk->known_directory && bulk->known_directory->inode == inode->inode;
	return name_finder_meet(bulk->finder, inode, is_known ? bulk->known_directory : NULL,
				error) &&
	       (!is_known ||
		directory_cursor_next(bulk->directories, &bulk->known_directory, error));
}

static bool is_to_read(const Pending *pending)
{
	return pending->action == FILE_TO_READ || pending->action == FILE_TO_READ_ON;
}

static bool visit_file(Bulk *bulk, const XfsInode *inode, GError **error)
{
	PassResult *result = bulk->pass->result;
	Pending pending = {
		.file = {
			.inode = inode->inode,
			.generation = inode->generation,
			.stamp = { inode->size_bytes, inode->btime_nsec, inode->mtime_nsec,
				   inode->ctime_nsec },
			.rights = inode->is_immutable ? OBJECT_IMMUTABLE : 0,
			.is_plain = inode->is_plain,
		},
		.action = FILE_TO_READ,
	};

	if (excluded_files_has(bulk->left_out, inode->inode, inode->nlink))
		return true;
	if (filter_is_small(bulk->pass->filter, inode->size_bytes))
		pending.file.stamp.size_bytes = size_of(bulk, inode);
	if (filter_is_small(bulk->pass->filter, pending.file.stamp.size_bytes))
		return skip(bulk, SKIP_SMALL, inode, pending.file.stamp.size_bytes, false, error);
	if (filter_is_young(bulk->pass->filter, inode->mtime_nsec))
		return skip(bulk, SKIP_YOUNG, inode, inode->size_bytes, false, error);

	if (!pass_objects(bulk, inode->inode, error))
		return false;
	result->files.seen++;
	if (!bulk->known || bulk->known->inode != inode->inode) {
		result->files.new ++;
		bulk->n_to_read++;
		return sorter_add(bulk->pending, &pending, error);
	}

	pending.is_known = true;
	pending.action = file_merge_judge(bulk->merge, &pending.file, bulk->known);
	bulk->n_to_read += is_to_read(&pending);
	if (!file_merge_add_known(bulk->merge, pending.action, &pending.file, bulk->known, error))
		return false;
	if (pending.action == FILE_LEFT) {
		if (!file_merge_leave(bulk->merge, bulk->known, error) ||
		    !skip(bulk, SKIP_CHANGES_OFTEN, inode, inode->size_bytes, true, error))
			return false;
	} else if (pending.action != FILE_KEPT) {
		if (!sorter_add(bulk->pending, &pending, error))
			return false;
	} else if (bulk->known->state == OBJECT_SKIPPED) {
		pass_result_add_known(bulk->pass->result, bulk->known->skip_reason);
		if (!skip(bulk, bulk->known->skip_reason, inode, inode->size_bytes, true, error))
			return false;
	}

	return object_cursor_next(bulk->objects, &bulk->known, error);
}

static bool visit(Bulk *bulk, const XfsInode *inode, GError **error)
{
	/* A deleted file that is still open. */
	if (inode->nlink == 0)
		return true;
	if (S_ISDIR(inode->mode))
		return visit_directory(bulk, inode, error);
	if (S_ISREG(inode->mode))
		return visit_file(bulk, inode, error);

	return excluded_files_has(bulk->left_out, inode->inode, inode->nlink) ||
	       skip(bulk, SKIP_SPECIAL, inode, 0, false, error);
}

/* List all inodes.  *ret_is_listed: false if the kernel failed to go on. */
static bool list(Bulk *bulk, bool *ret_is_listed, GError **error)
{
	g_autoptr(XfsBulkstat) inodes =
		xfs_bulkstat_new(bulk->pass->filesystem->fd, XFS_EVERY_GROUP, 0);
	const XfsInode *inode;
	uint64_t n_files = 0;

	if (throttle_is_limited(bulk->pass->throttle))
		xfs_bulkstat_ask_for(inodes, LIMITED_INODES);
	*ret_is_listed = true;
	while (pass_checkpoint(bulk->pass)) {
		g_autoptr(GError) failed = NULL;

		if (!xfs_bulkstat_next(inodes, &inode, &failed)) {
			g_debug("%s", failed->message);
			*ret_is_listed = false;
			return true;
		}
		if (!inode)
			break;
		if (!visit(bulk, inode, error))
			return false;
		n_files += S_ISREG(inode->mode);
		atomic_store(&bulk->pass->progress->files, n_files);
	}

	return pass_objects(bulk, UINT64_MAX, error) && pass_directories(bulk, UINT64_MAX, error) &&
	       sorter_sort(bulk->pending, error);
}

static void give_name(FileRecord *file, const FoundName *found)
{
	file->parent = found->parent;
	file->name_hash = found->name_hash;
	file->name_position = found->name_position;
}

/* Give the file the first name that was found.  *ret_has: there is one. */
static bool take_found(Bulk *bulk, FileRecord *file, bool *ret_has, GError **error)
{
	FoundName asked;

	if (name_finder_asks_files(bulk->finder)) {
		if (!name_finder_ask(bulk->finder, file->inode, file->generation, &asked, ret_has,
				     error))
			return false;
		if (*ret_has)
			give_name(file, &asked);
		return true;
	}

	*ret_has = false;
	while (bulk->found && bulk->found->inode <= file->inode) {
		if (bulk->found->inode == file->inode && !*ret_has) {
			give_name(file, bulk->found);
			*ret_has = true;
		}
		if (!name_finder_next(bulk->finder, &bulk->found, error))
			return false;
	}

	return true;
}

/* Give the file the name that the store has, if it is still valid. */
static bool take_known(Bulk *bulk, FileRecord *file, const Object *known, bool *ret_has,
		       GError **error)
{
	g_autofree char *name = g_strndup((const char *)known->name, known->name_bytes);
	int parent_fd;
	FileStat stat;

	*ret_has = false;
	if (known->name_bytes == 0)
		return true;
	parent_fd = file_opener_directory(bulk->opener, known->subvolume, known->parent);
	if (parent_fd < 0 || file_stat_at(parent_fd, name, &stat) != 0 || stat.inode != file->inode)
		return true;

	file->parent = known->parent;
	file->name_hash = file_merge_name_hash(name, strlen(name));
	*ret_has = true;
	return name_buffer_add(bulk->names, name, &file->name_position, error);
}

/* Whether the file is still there, with a name. */
static bool exists(const Bulk *bulk, const FileRecord *file)
{
	XfsInode inode;

	return xfs_inode_read(bulk->pass->filesystem->fd, file->inode, &inode) &&
	       inode.generation == file->generation && inode.nlink > 0;
}

/*
 * Whether a file may have no name because it, or its name, is newer than the reading of its directory.  The next
 * pass finds it, as it does files that are newer than the list of inodes.
 */
static bool is_late(const Bulk *bulk, const Pending *pending)
{
	return !pending->is_known &&
	       name_finder_may_miss(bulk->finder, pending->file.stamp.ctime_nsec);
}

/* The store's record of a pending file; NULL: none. */
static bool find_known(Bulk *bulk, const Pending *pending, const Object **ret, GError **error)
{
	*ret = NULL;
	return !pending->is_known ||
	       hash_store_find_at(bulk->pass->store, 0, pending->file.inode, ret, error);
}

static bool begin_pending(Bulk *bulk, GError **error)
{
	return sorter_rewind(bulk->pending, error) && name_finder_rewind(bulk->finder, error) &&
	       name_finder_next(bulk->finder, &bulk->found, error);
}

/* Whether a file that needs a name has none in the directories that were read. */
static bool has_lost(Bulk *bulk, bool *ret, GError **error)
{
	const Pending *next;

	*ret = false;
	if (name_finder_asks_files(bulk->finder))
		return true;
	if (!begin_pending(bulk, error))
		return false;

	while (!*ret && pass_checkpoint(bulk->pass)) {
		const Object *known;
		Pending pending;
		bool has_name;

		if (!sorter_next(bulk->pending, (const void **)&next, error))
			return false;
		if (!next)
			break;
		pending = *next;
		if (pending.is_skip)
			continue;
		if (!take_found(bulk, &pending.file, &has_name, error))
			return false;
		if (!has_name &&
		    (!find_known(bulk, &pending, &known, error) ||
		     (known && !take_known(bulk, &pending.file, known, &has_name, error))))
			return false;
		*ret = !has_name && !is_late(bulk, &pending) && exists(bulk, &pending.file);
	}

	return true;
}

/* Count a pending skip, under its name in the store if the store knows the file. */
static bool count_skip(Bulk *bulk, const Pending *pending, bool has_name, GError **error)
{
	uint64_t parent = pending->file.parent;
	g_autofree char *path = NULL;
	g_autofree char *known_name = NULL;
	const char *name = NULL;
	const Object *known;

	if (!find_known(bulk, pending, &known, error) ||
	    (has_name && !name_buffer_get(bulk->names, pending->file.name_position, &name, error)))
		return false;

	if (known) {
		name = known_name = g_strndup((const char *)known->name, known->name_bytes);
		parent = known->parent;
	}
	if (name)
		path = file_opener_path(bulk->opener, 0, parent, name);

	skip_ledger_add(&bulk->pass->result->skips, pending->skip, pending->file.stamp.size_bytes,
			path);
	return true;
}

/*
 * Data that was not written out had no size on the disk when the inode was listed.  If only the size is new, the
 * file is the one that was listed.
 */
static void settle_size(const Bulk *bulk, FileRecord *file)
{
	XfsInode inode;

	if (xfs_inode_read(bulk->pass->filesystem->fd, file->inode, &inode) &&
	    inode.generation == file->generation && inode.mtime_nsec == file->stamp.mtime_nsec &&
	    inode.ctime_nsec == file->stamp.ctime_nsec)
		file->stamp.size_bytes = inode.size_bytes;
}

static bool act(Bulk *bulk, Pending *pending, GError **error)
{
	FileRecord *file = &pending->file;
	const Object *known;
	bool has_name;

	if (!take_found(bulk, file, &has_name, error))
		return false;
	if (pending->is_skip)
		return count_skip(bulk, pending, has_name, error);

	if (!has_name && is_late(bulk, pending)) {
		bulk->pass->result->files.seen--;
		bulk->pass->result->files.new --;
		return true;
	}

	if (!find_known(bulk, pending, &known, error) ||
	    (!has_name && known && !take_known(bulk, file, known, &has_name, error)) ||
	    (!has_name && !name_buffer_add(bulk->names, "", &file->name_position, error)))
		return false;
	if (is_to_read(pending)) {
		/* With --read=same-size all data was written out before the inodes were listed. */
		if (bulk->pass->settings->read != READ_POLICY_SAME_SIZE)
			settle_size(bulk, file);
		if (bulk->places &&
		    !file_places_find(bulk->places, file->inode, &file->physical, error))
			return false;
	}

	return file_merge_act(bulk->merge, pending->action, file, known, error);
}

/* Write out the listed files, so that they have their sizes and places. */
static bool prepare_to_read(Bulk *bulk, GError **error)
{
	GError *failed = NULL;

	if (bulk->n_to_read == 0)
		return true;
	if (!file_merge_flush(bulk->merge, error))
		return false;
	if (bulk->n_to_read >= bulk->pass->result->files.seen / FILES_A_PLACE)
		bulk->places = file_places_read(bulk->pass, &failed);
	if (failed)
		g_propagate_error(error, failed);
	return !failed;
}

static bool act_on_pending(Bulk *bulk, GError **error)
{
	const Pending *next;

	if (!prepare_to_read(bulk, error) || !begin_pending(bulk, error))
		return false;

	while (pass_checkpoint(bulk->pass)) {
		Pending pending;

		if (!sorter_next(bulk->pending, (const void **)&next, error))
			return false;
		if (!next)
			break;
		pending = *next;
		if (!act(bulk, &pending, error))
			return false;
	}

	return true;
}

static bool count_left_out(Bulk *bulk, GError **error)
{
	SkipLedger *skips = &bulk->pass->result->skips;
	const LeftOutDirectory *directory;
	const DirectoryName *row;

	for (size_t i = 0; (directory = excluded_files_directory(bulk->left_out, i)); i++) {
		g_autofree char *name = NULL;
		g_autofree char *path = NULL;

		if (!hash_store_find_directory(bulk->pass->store, 0, directory->inode, &row, error))
			return false;
		if (row) {
			name = g_strndup((const char *)row->name, row->name_bytes);
			path = row->parent ? file_opener_path(bulk->opener, 0, row->parent, name)
					   : g_strdup(name);
		}
		skip_ledger_add(skips, directory->reason, 0, path);
	}

	return true;
}

/* Find names for the pending files.  If that is cut short, unused names have to be found again. */
static bool use_names(Bulk *bulk, GError **error)
{
	bool has_failed, lost = false;

	name_finder_expect(bulk->finder, sorter_count(bulk->pending),
			   bulk->pass->result->files.seen);
	has_failed = !name_finder_read_changed(bulk->finder, error) ||
		     !has_lost(bulk, &lost, error) ||
		     (lost && !name_finder_read_all(bulk->finder, error)) ||
		     !act_on_pending(bulk, error) || !count_left_out(bulk, error);
	if (!has_failed && pass_checkpoint(bulk->pass))
		return true;

	return hash_store_doubt_directories(bulk->pass->store, has_failed ? NULL : error) &&
	       !has_failed;
}

static void forget_counts(Bulk *bulk)
{
	PassResult *result = bulk->pass->result;

	memset(&result->files, 0, sizeof(result->files));
	skip_ledger_clear(&result->skips);
	atomic_store(&bulk->pass->progress->files, 0);
	file_merge_restart(bulk->merge);
}

static bool have_walked(const Pass *pass, const char *reason)
{
	pass->result->listed_inodes = false;
	pass->result->walk_reason = reason;
	return true;
}

bool bulk_inventory_build(Pass *pass, FileOpener *opener, NameBuffer *names, FileMerge *merge,
			  bool *ret_is_listed, GError **error)
{
	g_auto(Fd) state_fd =
		open(pass->settings->state_directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	g_auto(Bulk) bulk = { .pass = pass, .opener = opener, .names = names, .merge = merge };
	FileStat state = { 0 };

	*ret_is_listed = false;
	if (state_fd >= 0 && file_stat_at(state_fd, "", &state) != 0)
		state = (FileStat){ 0 };
	bulk.left_out = excluded_files_new(pass->filesystem, state_fd);
	if (!bulk.left_out)
		return have_walked(pass, "/boot has too many files to tell their inodes apart");

	bulk.finder = name_finder_new(pass, names, &state);
	bulk.pending =
		sorter_new(sizeof(Pending), compare_pending, pass->settings->memory_bytes / 16,
			   pass->settings->state_directory, pass->stop);
	bulk.objects = object_cursor_open(pass->store, error);
	bulk.directories = bulk.objects ? directory_cursor_open(pass->store, error) : NULL;
	if (!bulk.directories || !object_cursor_next(bulk.objects, &bulk.known, error) ||
	    !directory_cursor_next(bulk.directories, &bulk.known_directory, error))
		return false;

	if (!bulk.known_directory)
		name_finder_read_ahead(bulk.finder);
	progress_begin(pass->progress, STAGE_WALK, 0);
	if (!list(&bulk, ret_is_listed, error))
		return false;
	if (!*ret_is_listed) {
		forget_counts(&bulk);
		return have_walked(pass, "the inodes could not be listed to their end");
	}
	if (!pass_checkpoint(pass))
		return true;

	progress_begin(pass->progress, STAGE_COMPARE, 0);
	submounts_count(pass->filesystem, &pass->result->skips);
	return use_names(&bulk, error);
}
