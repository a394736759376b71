/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/inventory/name-finder.h"

#include "common/threads/message-queue.h"
#include "common/threads/thread.h"
#include "daemon/context/compare-uint64.h"
#include "daemon/inventory/directory-levels.h"
#include "daemon/inventory/parent-names.h"
#include "hashstore/anchors/sorter.h"
#include "kernel-ioctl/machine/thread-io.h"

#include <dirent.h>
#include <string.h>
#include <xxhash.h>

/*
 * Asking one file takes as long as reading tens of names in a directory.  So ASKED_FILES are asked in any case, and
 * more if they are a small share of all.
 */
#define ASKED_FILES   1024
#define FILES_A_ASKED 16

/* How often the worker looks after the devices while it waits. */
#define WAIT_USEC 50000

/* A directory that changed. */
typedef struct {
	uint64_t inode;
	uint64_t stamp;
	uint32_t generation;
	bool is_racy; /* it may change unseen */
} ChangedDirectory;

/* A directory that was read ahead. */
typedef struct {
	uint64_t inode;
	uint64_t parent;
	uint64_t name_position; /* in the NameBuffer */
	uint64_t stamp;
} MetDirectory;

struct NameFinder {
	Pass *pass;
	FileStat state_directory;
	FileStat top;
	const char *top_path;
	ParentNames *parents; /* NULL: names are found in directories */
	Sorter *changed;      /* ChangedDirectory */
	int64_t ahead_nsec;   /* when somebody began to read ahead; 0: nothing was read so */

	/* Thread: the one that reads ahead, while there is one; else the worker. */
	NameBuffer *spool;
	DirectoryLevels *levels;
	Sorter *names;  /* FoundName */
	Sorter *met;    /* MetDirectory; NULL: the store is told at once */
	GError *failed; /* while reading ahead */
	uint64_t disk_bytes;

	GThread *ahead;         /* NULL: nobody reads ahead */
	MessageQueue *messages; /* to the worker */
	Receiver *ended;        /* when all was read ahead */
	bool has_ended;         /* Thread: the worker. */
	atomic_bool is_ending;
};

static int compare_directories(const void *a, const void *b)
{
	return compare_uint64(((const ChangedDirectory *)a)->inode,
			      ((const ChangedDirectory *)b)->inode);
}

/* If a directory was moved meanwhile, any of its names will do: it is read again, which corrects the store. */
static int compare_met(const void *a, const void *b)
{
	return compare_uint64(((const MetDirectory *)a)->inode, ((const MetDirectory *)b)->inode);
}

static int compare_names(const void *a, const void *b)
{
	const FoundName *one = a;
	const FoundName *other = b;
	int order = compare_uint64(one->inode, other->inode);

	if (!order)
		order = compare_uint64(one->parent, other->parent);
	return order ? order : compare_uint64(one->name_hash, other->name_hash);
}

static Sorter *names_new(const Pass *pass)
{
	return sorter_new(sizeof(FoundName), compare_names, pass->settings->memory_bytes / 8,
			  pass->settings->state_directory, pass->stop);
}

static const char *path_of_top(const Filesystem *filesystem)
{
	for (size_t i = 0; i < filesystem->roots->len; i++) {
		const FilesystemRoot *root = filesystem->roots->pdata[i];

		if (root->is_top)
			return root->path;
	}

	return filesystem->mount_point;
}

NameFinder *name_finder_new(Pass *pass, NameBuffer *names, const FileStat *state_directory)
{
	NameFinder *finder = g_new0(NameFinder, 1);

	finder->pass = pass;
	finder->spool = names;
	finder->state_directory = *state_directory;
	finder->top_path = path_of_top(pass->filesystem);
	finder->changed = sorter_new(sizeof(ChangedDirectory), compare_directories,
				     pass->settings->memory_bytes / 16,
				     pass->settings->state_directory, pass->stop);
	finder->names = names_new(pass);
	if (file_stat_at(pass->filesystem->fd, "", &finder->top) != 0)
		finder->top.inode = 0;
	finder->levels = directory_levels_new(pass->filesystem, &finder->top);
	finder->parents = parent_names_new(pass->filesystem->fd, finder->top.inode);
	return finder;
}

/* Wait until all is read ahead, and look after the devices meanwhile. */
static void end_ahead(NameFinder *finder)
{
	if (!finder->ahead)
		return;

	while (!finder->has_ended && !atomic_load(&finder->is_ending) &&
	       pass_checkpoint(finder->pass))
		message_queue_wait(finder->messages, WAIT_USEC);
	g_thread_join(g_steal_pointer(&finder->ahead));
	finder->pass->result->disk_bytes += finder->disk_bytes;
}

void name_finder_free(NameFinder *finder)
{
	if (!finder)
		return;

	atomic_store(&finder->is_ending, true);
	end_ahead(finder);
	g_clear_error(&finder->failed);
	parent_names_free(finder->parents);
	directory_levels_free(finder->levels);
	sorter_free(finder->changed);
	sorter_free(finder->names);
	sorter_free(finder->met);
	receiver_close(finder->ended);
	message_queue_unref(finder->messages);
	g_free(finder);
}

static bool is_of_this_filesystem(const NameFinder *finder, const FileStat *stat)
{
	return stat->device_major == finder->top.device_major &&
	       stat->device_minor == finder->top.device_minor;
}

static bool is_state_directory(const NameFinder *finder, uint64_t inode)
{
	return inode == finder->state_directory.inode &&
	       is_of_this_filesystem(finder, &finder->state_directory);
}

bool name_finder_meet(NameFinder *finder, const XfsInode *directory, const DirectoryName *known,
		      GError **error)
{
	ChangedDirectory changed = {
		.inode = directory->inode,
		.is_racy = directory_levels_is_racy(finder->levels, directory->ctime_nsec),
		.generation = directory->generation,
		.stamp = directory_stamp(directory->btime_nsec, directory->mtime_nsec,
					 directory->ctime_nsec),
	};

	if ((known && known->stamp == changed.stamp) ||
	    (is_state_directory(finder, directory->inode) && !finder->parents))
		return true;

	return sorter_add(finder->changed, &changed, error);
}

static bool is_named(const DirectoryName *known, uint64_t parent, const char *name)
{
	return known->parent == parent && known->name_bytes == strlen(name) &&
	       memcmp(known->name, name, known->name_bytes) == 0;
}

static bool put_directory(NameFinder *finder, uint64_t inode, uint64_t parent, const char *name,
			  uint64_t stamp, GError **error)
{
	DirectoryName row = {
		.inode = inode,
		.parent = parent,
		.name = (const uint8_t *)name,
		.name_bytes = strlen(name),
		.stamp = stamp,
	};

	return hash_store_put_directory(finder->pass->store, &row, error);
}

/* Give the store's record of the directory the @stamp that it is read with. */
static bool note_stamp(NameFinder *finder, uint64_t inode, uint64_t stamp, GError **error)
{
	const DirectoryName *known;
	g_autofree char *name = NULL;

	if (!hash_store_find_directory(finder->pass->store, 0, inode, &known, error))
		return false;
	if (!known || known->stamp == stamp)
		return true;

	name = g_strndup((const char *)known->name, known->name_bytes);
	return put_directory(finder, inode, known->parent, name, stamp, error);
}

/* Begin to read a directory that the store has a row of. */
static bool enter_known(NameFinder *finder, uint64_t inode, uint32_t generation, GError **error)
{
	uint64_t stamp;

	return !directory_levels_enter_first(finder->levels, inode, generation, &stamp) ||
	       note_stamp(finder, inode, stamp, error);
}

/* Record a directory in @parent that the store does not know. */
static bool meet_ahead(NameFinder *finder, uint64_t parent, const DirectoryEntry *entry,
		       GError **error)
{
	MetDirectory met = { .inode = entry->inode, .parent = parent };

	if (!is_state_directory(finder, met.inode))
		directory_levels_enter(finder->levels, entry, 0, &met.stamp);
	return name_buffer_add(finder->spool, entry->name, &met.name_position, error) &&
	       sorter_add(finder->met, &met, error);
}

/* Visit a directory in @parent. */
static bool visit_directory(NameFinder *finder, uint64_t parent, const DirectoryEntry *entry,
			    GError **error)
{
	uint64_t inode = entry->inode;
	const DirectoryName *known;
	uint64_t stamp;
	bool is_fresh, is_entered;

	if (finder->met)
		return meet_ahead(finder, parent, entry, error);
	if (!hash_store_find_directory(finder->pass->store, 0, inode, &known, error))
		return false;

	stamp = known ? known->stamp : 0;
	is_fresh = !known || !is_named(known, parent, entry->name);
	is_entered = !is_state_directory(finder, inode) &&
		     directory_levels_enter(finder->levels, entry, stamp, &stamp);
	if (is_fresh)
		return put_directory(finder, inode, parent, entry->name, stamp, error);
	return !is_entered || note_stamp(finder, inode, stamp, error);
}

static bool visit(NameFinder *finder, uint64_t parent, const DirectoryEntry *entry, GError **error)
{
	FoundName found = {
		.inode = entry->inode,
		.parent = parent,
		.name_hash = XXH3_64bits(entry->name, strlen(entry->name)),
	};

	return name_buffer_add(finder->spool, entry->name, &found.name_position, error) &&
	       sorter_add(finder->names, &found, error);
}

/* The thread that reads ahead leaves the devices to the worker. */
static bool may_continue(const NameFinder *finder)
{
	const Pass *pass = finder->pass;

	if (!finder->met)
		return pass_checkpoint(pass);

	throttle_settle(pass->throttle, pass->stop);
	return !atomic_load(&finder->is_ending) && !atomic_load(pass->stop);
}

/* Read the entered directory, and those entered from there. */
static bool read_entered(NameFinder *finder, GError **error)
{
	while (may_continue(finder)) {
		uint64_t parent;
		const DirectoryEntry *entry = directory_levels_next(finder->levels, &parent);

		if (!entry)
			break;
		if (!(entry->type == DT_DIR ? visit_directory(finder, parent, entry, error)
					    : visit(finder, parent, entry, error)))
			return false;
	}

	return true;
}

static void *read_ahead(void *data)
{
	NameFinder *finder = data;
	Throttle *throttle = finder->pass->throttle;
	MetDirectory top = { .inode = finder->top.inode };
	XfsInode inode;

	throttle_join(throttle);
	if (xfs_inode_read(finder->pass->filesystem->fd, top.inode, &inode) &&
	    directory_levels_enter_first(finder->levels, top.inode, inode.generation, &top.stamp))
		(void)(name_buffer_add(finder->spool, finder->top_path, &top.name_position,
				       &finder->failed) &&
		       sorter_add(finder->met, &top, &finder->failed) &&
		       read_entered(finder, &finder->failed) &&
		       sorter_sort(finder->met, &finder->failed));
	throttle_leave(throttle);
	finder->disk_bytes = thread_io_read_bytes();
	receiver_send(finder->ended, NULL);
	return NULL;
}

static void on_ended(void *content, void *data)
{
	NameFinder *finder = data;

	finder->has_ended = true;
}

void name_finder_read_ahead(NameFinder *finder)
{
	Pass *pass = finder->pass;

	/*
	 * With a limit, the two threads would only wait for each other.  A rotating disk would seek between them.
	 */
	if (finder->parents || pass->parallelism.n_readers == 1 ||
	    throttle_is_limited(pass->throttle))
		return;

	finder->messages = message_queue_new(NULL);
	if (!finder->messages)
		return;

	finder->ahead_nsec = g_get_real_time() * 1000;
	finder->ended = receiver_new(finder->messages, on_ended, NULL, finder);
	directory_levels_enter_all(finder->levels, true);
	finder->met =
		sorter_new(sizeof(MetDirectory), compare_met, pass->settings->memory_bytes / 16,
			   pass->settings->state_directory, pass->stop);
	finder->ahead = thread_new("names", read_ahead, finder, NULL);
	if (!finder->ahead)
		g_clear_pointer(&finder->met, sorter_free);
}

/* Put the directories read ahead into the store.  *ret_is_all: none has to be read again. */
static bool put_met(NameFinder *finder, Sorter *met, bool *ret_is_all, GError **error)
{
	const ChangedDirectory *changed;
	const MetDirectory *next;
	const char *name;

	*ret_is_all = true;
	if (!sorter_next(finder->changed, (const void **)&changed, error))
		return false;
	while (pass_checkpoint(finder->pass)) {
		if (!sorter_next(met, (const void **)&next, error))
			return false;
		while (changed && (!next || changed->inode <= next->inode)) {
			*ret_is_all &= next && changed->inode == next->inode &&
				       changed->stamp == next->stamp;
			if (!sorter_next(finder->changed, (const void **)&changed, error))
				return false;
		}
		if (!next)
			break;
		if (!name_buffer_get(finder->spool, next->name_position, &name, error) ||
		    !put_directory(finder, next->inode, next->parent, name, next->stamp, error))
			return false;
	}

	return sorter_rewind(finder->changed, error);
}

/* End reading ahead: from now on, directories go into the store at once. */
static bool take_met(NameFinder *finder, bool *ret_is_all, GError **error)
{
	g_autoptr(Sorter) met = NULL;

	*ret_is_all = false;
	end_ahead(finder);
	directory_levels_enter_all(finder->levels, false);
	met = g_steal_pointer(&finder->met);
	if (finder->failed) {
		g_propagate_error(error, g_steal_pointer(&finder->failed));
		return false;
	}

	return !met || put_met(finder, met, ret_is_all, error);
}

/* The top directory has no parent that could name it. */
static bool note_top(NameFinder *finder, GError **error)
{
	HashStore *store = finder->pass->store;
	const DirectoryName *known;

	if (!hash_store_find_directory(store, 0, finder->top.inode, &known, error))
		return false;
	if (known && is_named(known, 0, finder->top_path))
		return true;

	return put_directory(finder, finder->top.inode, 0, finder->top_path,
			     known ? known->stamp : 0, error);
}

/* Read the changed directories that have a known name and were not read yet. */
static bool read_noted(NameFinder *finder, uint64_t *ret_nameless, GError **error)
{
	const ChangedDirectory *changed;

	*ret_nameless = 0;
	while (pass_checkpoint(finder->pass)) {
		const DirectoryName *known;

		if (!sorter_next(finder->changed, (const void **)&changed, error))
			return false;
		if (!changed)
			break;
		if (!hash_store_find_directory(finder->pass->store, 0, changed->inode, &known,
					       error))
			return false;
		if (is_state_directory(finder, changed->inode))
			continue;
		*ret_nameless += !known;
		if (known && known->stamp != changed->stamp &&
		    (!enter_known(finder, changed->inode, changed->generation, error) ||
		     !read_entered(finder, error)))
			return false;
	}

	return true;
}

/* Note the directory's own name, too: a rename changes its times. */
static bool name_by_parent(NameFinder *finder, const ChangedDirectory *changed, GError **error)
{
	/* The state directory changes in every pass that writes. */
	uint64_t stamp =
		changed->is_racy || is_state_directory(finder, changed->inode) ? 0 : changed->stamp;
	uint64_t parent = 0;
	const char *name = finder->top_path;
	const DirectoryName *known;

	if (changed->inode != finder->top.inode &&
	    !parent_names_find(finder->parents, changed->inode, changed->generation, &parent,
			       &name))
		return true;
	if (!hash_store_find_directory(finder->pass->store, 0, changed->inode, &known, error))
		return false;
	if (known && known->stamp == stamp && is_named(known, parent, name))
		return true;

	return put_directory(finder, changed->inode, parent, name, stamp, error);
}

static bool name_all_by_parents(NameFinder *finder, GError **error)
{
	const ChangedDirectory *changed;

	while (pass_checkpoint(finder->pass)) {
		if (!sorter_next(finder->changed, (const void **)&changed, error))
			return false;
		if (!changed)
			break;
		if (!name_by_parent(finder, changed, error))
			return false;
	}

	return sorter_sort(finder->names, error);
}

bool name_finder_read_changed(NameFinder *finder, GError **error)
{
	uint64_t n_nameless = 0;
	bool is_read;

	if (!sorter_sort(finder->changed, error) || !take_met(finder, &is_read, error))
		return false;
	if (is_read)
		return sorter_sort(finder->names, error);
	if (finder->parents)
		return name_all_by_parents(finder, error);
	if (sorter_count(finder->changed) > 0 &&
	    (!note_top(finder, error) || !read_noted(finder, &n_nameless, error)))
		return false;
	/* Directories that were read later may have named these. */
	if (n_nameless > 0 &&
	    (!sorter_rewind(finder->changed, error) || !read_noted(finder, &n_nameless, error)))
		return false;

	return sorter_sort(finder->names, error);
}

bool name_finder_read_all(NameFinder *finder, GError **error)
{
	XfsInode top;

	sorter_free(finder->names);
	finder->names = names_new(finder->pass);
	finder->ahead_nsec = 0;
	directory_levels_enter_all(finder->levels, true);
	if (xfs_inode_read(finder->pass->filesystem->fd, finder->top.inode, &top) &&
	    (!note_top(finder, error) || !enter_known(finder, top.inode, top.generation, error) ||
	     !read_entered(finder, error)))
		return false;

	return sorter_sort(finder->names, error);
}

void name_finder_expect(NameFinder *finder, uint64_t n_names, uint64_t n_files)
{
	if (n_names > ASKED_FILES && n_names > n_files / FILES_A_ASKED)
		g_clear_pointer(&finder->parents, parent_names_free);
}

bool name_finder_may_miss(const NameFinder *finder, int64_t ctime_nsec)
{
	return finder->ahead_nsec > 0 && ctime_nsec >= finder->ahead_nsec;
}

bool name_finder_asks_files(const NameFinder *finder)
{
	return finder->parents;
}

bool name_finder_ask(NameFinder *finder, uint64_t inode, uint32_t generation, FoundName *ret,
		     bool *ret_has, GError **error)
{
	const char *name;

	*ret = (FoundName){ .inode = inode };
	*ret_has = parent_names_find(finder->parents, inode, generation, &ret->parent, &name);
	if (!*ret_has)
		return true;

	ret->name_hash = XXH3_64bits(name, strlen(name));
	return name_buffer_add(finder->spool, name, &ret->name_position, error);
}

bool name_finder_next(NameFinder *finder, const FoundName **ret, GError **error)
{
	return sorter_next(finder->names, (const void **)ret, error);
}

bool name_finder_rewind(NameFinder *finder, GError **error)
{
	return sorter_rewind(finder->names, error);
}
