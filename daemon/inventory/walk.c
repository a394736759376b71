/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/inventory/walk.h"

#include "daemon/context/boot-directories.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/directory.h"
#include "kernel-ioctl/file/open-file.h"
#include "kernel-ioctl/file/target-permission.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* The subvolume that contains all others (BTRFS_FS_TREE_OBJECTID).  On XFS it stands for the whole filesystem. */
#define BTRFS_TOP_SUBVOLUME 5

/* A snapshot shows this empty directory where a subvolume was nested (BTRFS_EMPTY_SUBVOL_DIR_OBJECTID). */
#define BTRFS_EMPTY_DIRECTORY_INODE 2

typedef struct {
	Directory *directory;
	uint64_t subvolume;
	uint64_t inode;
	uint32_t device_major;
	uint32_t device_minor;
	size_t path_bytes;
} Level;

struct Walk {
	const Pass *pass;
	FileStat state_directory;
	FileStat boot[BOOT_DIRECTORIES]; /* inode 0: there is none */
	TargetPermission permission;
	size_t depth_max;

	size_t next_root;
	const FilesystemRoot *root;
	char *root_name;   /* of a root that is a file, still to be visited */
	GArray *levels;    /* Level */
	GString *path;     /* of the innermost level */
	GHashTable *whole; /* subvolumes entered by their top */
	bool met_mounts;   /* something may be hidden below them */
	WalkEntry entry;
};

static void level_clear(Level *level)
{
	directory_free(level->directory);
}

static void find_boot_directories(Walk *walk)
{
	for (size_t i = 0; i < BOOT_DIRECTORIES; i++) {
		g_auto(Fd) fd = boot_directory_open(i);

		if (fd < 0 || file_stat_at(fd, "", &walk->boot[i]) != 0)
			walk->boot[i].inode = 0;
	}
}

Walk *walk_new(const Pass *pass, const FileStat *state_directory)
{
	Walk *walk = g_new0(Walk, 1);

	walk->pass = pass;
	walk->state_directory = *state_directory;
	walk->permission = target_permission_get();
	find_boot_directories(walk);
	walk->depth_max = directory_levels_max();
	walk->path = g_string_new(NULL);
	walk->levels = g_array_new(false, true, sizeof(Level));
	g_array_set_clear_func(walk->levels, (GDestroyNotify)level_clear);
	walk->whole = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	return walk;
}

void walk_free(Walk *walk)
{
	if (!walk)
		return;

	g_array_unref(walk->levels);
	g_string_free(walk->path, true);
	g_hash_table_unref(walk->whole);
	g_free(walk->root_name);
	g_free(walk);
}

bool walk_saw_all_of(const Walk *walk, uint64_t subvolume)
{
	gint64 top = BTRFS_TOP_SUBVOLUME;

	return g_hash_table_contains(walk->whole, &subvolume) ||
	       (!walk->met_mounts && g_hash_table_contains(walk->whole, &top));
}

static Level *innermost(Walk *walk)
{
	return &g_array_index(walk->levels, Level, walk->levels->len - 1);
}

/* The path of @name in the innermost directory; valid until the next call. */
static const char *path_of(Walk *walk, const char *name)
{
	if (walk->levels->len == 0)
		return walk->path->str;

	g_string_truncate(walk->path, innermost(walk)->path_bytes);
	if (walk->path->len == 0 || walk->path->str[walk->path->len - 1] != '/')
		g_string_append_c(walk->path, '/');
	return g_string_append(walk->path, name)->str;
}

static void skip(Walk *walk, SkipReason reason, uint64_t bytes, const char *name)
{
	bool wanted = skip_ledger_wants_example(&walk->pass->result->skips, reason);

	skip_ledger_add(&walk->pass->result->skips, reason, bytes,
			wanted ? path_of(walk, name) : NULL);
}

static bool is_same(const FileStat *one, const FileStat *other)
{
	return one->inode == other->inode && one->device_major == other->device_major &&
	       one->device_minor == other->device_minor;
}

/* Whether the walk skips the directory, and why. */
static bool is_left_alone(const Walk *walk, const FileStat *stat, SkipReason *ret_reason)
{
	*ret_reason = SKIP_OWN_STATE;
	if (is_same(stat, &walk->state_directory))
		return true;

	*ret_reason = SKIP_BOOT;
	for (size_t i = 0; i < BOOT_DIRECTORIES; i++)
		if (walk->boot[i].inode != 0 && is_same(stat, &walk->boot[i]))
			return !boot_directory_is_named(i, walk->root->path);

	return false;
}

/* Skip the open @directory. */
static void leave_take(Walk *walk, Directory *directory, SkipReason reason, const char *name)
{
	directory_free(directory);
	skip(walk, reason, 0, name);
	walk->entry.is_directory = false;
}

/* Find out which subvolume the open directory lies in, and whether it is read-only. */
static bool identify_subvolume(Walk *walk, Level *level, GError **error)
{
	FsKind kind = walk->pass->filesystem->identity.kind;
	int fd = directory_fd(level->directory);

	return fs_subvolume_read(fd, kind, &level->subvolume, error) &&
	       (kind != FS_KIND_BTRFS ||
		read_only_subvolumes_meet(walk->pass->subvolumes, level->subvolume, fd, error));
}

/* Enter the open @directory; the walk owns it from here on. */
static bool enter_take(Walk *walk, Directory *directory, const char *name, GError **error)
{
	Level level = { .directory = directory };
	bool is_top = walk->levels->len == 0 && walk->root->is_top;
	WalkEntry *entry = &walk->entry;
	SkipReason reason = SKIP_DENIED;

	entry->is_directory = true;
	entry->name = name;
	if (file_stat_at(directory_fd(directory), "", &entry->stat) != 0 ||
	    is_left_alone(walk, &entry->stat, &reason)) {
		leave_take(walk, directory, reason, name);
		return true;
	}

	if (walk->pass->filesystem->identity.kind == FS_KIND_BTRFS &&
	    entry->stat.inode == BTRFS_EMPTY_DIRECTORY_INODE) {
		directory_free(directory);
		entry->is_directory = false;
		return true;
	}

	level.inode = entry->stat.inode;
	level.device_major = entry->stat.device_major;
	level.device_minor = entry->stat.device_minor;
	level.path_bytes = walk->path->len;
	if (walk->levels->len > 0) {
		const Level *outer = innermost(walk);

		entry->parent = outer->inode;
		entry->parent_subvolume = level.subvolume = outer->subvolume;
		is_top = level.device_major != outer->device_major ||
			 level.device_minor != outer->device_minor;
	} else {
		entry->parent = 0;
	}

	if ((is_top || walk->levels->len == 0) && !identify_subvolume(walk, &level, error)) {
		directory_free(directory);
		return false;
	}
	if (walk->levels->len == 0)
		entry->parent_subvolume = level.subvolume;
	if (is_top)
		g_hash_table_add(walk->whole, g_memdup2(&level.subvolume, sizeof(gint64)));
	if (!read_only_subvolumes_may_be_source(walk->pass->subvolumes, level.subvolume)) {
		leave_take(walk, directory, SKIP_READ_ONLY_SNAPSHOT, name);
		return true;
	}

	entry->subvolume = level.subvolume;
	g_array_append_val(walk->levels, level);
	return true;
}

/* Another user may own a part of the path.  That must not end the pass over other roots. */
static bool was_replaced(int cause)
{
	return open_outcome_of(cause) == OPEN_GONE;
}

/* Begin with the next root.  False: there is none, or an error. */
static bool next_root(Walk *walk, GError **error)
{
	g_autofree char *directory_path = NULL;
	int fd;

	if (walk->next_root == walk->pass->filesystem->roots->len)
		return false;

	walk->root = walk->pass->filesystem->roots->pdata[walk->next_root++];
	g_clear_pointer(&walk->root_name, g_free);
	if (walk->root->is_file) {
		directory_path = g_path_get_dirname(walk->root->path);
		walk->root_name = g_path_get_basename(walk->root->path);
	} else {
		directory_path = g_strdup(walk->root->path);
	}

	fd = filesystem_root_open(walk->pass->filesystem, walk->root, 0);
	if (fd < 0 && was_replaced(errno)) {
		g_string_assign(walk->path, walk->root->path);
		skip(walk, SKIP_CHANGED, 0, "");
		return true;
	}
	if (fd < 0) {
		g_set_error(error, FILESYSTEM_ERROR, FILESYSTEM_ERROR_PATH, "cannot open %s: %s",
			    directory_path, g_strerror(errno));
		return false;
	}

	g_string_assign(walk->path, directory_path);
	return enter_take(walk, directory_new_take(fd, NULL), walk->path->str, error);
}

static bool visit_directory(Walk *walk, const char *name, GError **error)
{
	Directory *directory = NULL;
	int failed;

	/* Nothing is entered too deep; the path is that of the directory: see visit(). */
	if (walk->levels->len >= walk->depth_max || walk->path->len > FILTER_PATH_BYTES_MAX) {
		skip(walk, SKIP_TOO_DEEP, 0, name);
		return true;
	}

	switch (directory_open_in(innermost(walk)->directory, name, &directory, &failed)) {
	case DIRECTORY_OPENED:
		break;
	case DIRECTORY_GONE:
		return true;
	case DIRECTORY_OTHER_MOUNT:
		walk->met_mounts = true;
		skip(walk, SKIP_OTHER_MOUNT, 0, name);
		return true;
	case DIRECTORY_DENIED:
		skip(walk, SKIP_DENIED, 0, name);
		return true;
	case DIRECTORY_FAILED:
		skip(walk, failed == EIO ? SKIP_UNREADABLE : SKIP_DENIED, 0, name);
		return true;
	}

	path_of(walk, name);
	return enter_take(walk, directory, name, error);
}

/* Fill the entry, if the file is part of the pass. */
static bool visit_file(Walk *walk, const char *name, const FileStat *stat)
{
	const Level *level = innermost(walk);

	atomic_fetch_add(&walk->pass->progress->files, 1);
	if (filter_is_small(walk->pass->filter, stat->size_bytes)) {
		skip(walk, SKIP_SMALL, stat->size_bytes, name);
		return false;
	}

	if (filter_is_young(walk->pass->filter, stat->mtime_nsec)) {
		skip(walk, SKIP_YOUNG, stat->size_bytes, name);
		return false;
	}

	walk->entry = (WalkEntry){
		.subvolume = level->subvolume,
		.parent_subvolume = level->subvolume,
		.parent = level->inode,
		.name = name,
		.stat = *stat,
		.is_foreign = !target_permission_covers(&walk->permission,
							directory_fd(level->directory), name, stat),
	};
	return true;
}

/* *ret_found: the entry is to be given out. */
static bool visit(Walk *walk, const char *name, unsigned char type, bool *ret_found, GError **error)
{
	const char *path = path_of(walk, name);
	const char *relative = path + strlen(walk->root->path);
	FileStat stat;
	bool excluded;
	int failed;

	*ret_found = false;
	relative += *relative == '/';
	excluded = type == DT_DIR
			   ? filter_excludes_directory(walk->pass->filter, path, relative, name)
			   : filter_excludes(walk->pass->filter, path, relative, name);
	if (excluded) {
		skip(walk, SKIP_EXCLUDED, 0, name);
		return true;
	}

	if (type != DT_DIR && type != DT_REG && type != DT_UNKNOWN) {
		skip(walk, SKIP_SPECIAL, 0, name);
		return true;
	}

	if (type != DT_DIR) {
		failed = file_stat_at(directory_fd(innermost(walk)->directory), name, &stat);
		if (failed) {
			if (failed != ENOENT)
				skip(walk, failed == EIO ? SKIP_UNREADABLE : SKIP_DENIED, 0, name);
			return true;
		}
		if (S_ISREG(stat.mode) && stat.is_mount_root) {
			skip(walk, SKIP_OTHER_MOUNT, 0, name);
			return true;
		}
		if (S_ISREG(stat.mode)) {
			*ret_found = visit_file(walk, name, &stat);
			return true;
		}
		if (!S_ISDIR(stat.mode)) {
			skip(walk, SKIP_SPECIAL, 0, name);
			return true;
		}
	}

	walk->entry.is_directory = false;
	if (!visit_directory(walk, name, error))
		return false;
	*ret_found = walk->entry.is_directory;
	return true;
}

bool walk_next(Walk *walk, const WalkEntry **ret, GError **error)
{
	*ret = NULL;

	/* Very many files may be skipped before one is given out. */
	while (pass_checkpoint(walk->pass)) {
		const DirectoryEntry *listed;
		GError *failed = NULL;
		bool found = false;

		if (walk->levels->len == 0) {
			walk->entry.is_directory = false;
			if (!next_root(walk, &failed)) {
				if (failed)
					g_propagate_error(error, failed);
				return !failed;
			}
			if (!walk->entry.is_directory)
				continue;
			*ret = &walk->entry;
			return true;
		}

		if (walk->root->is_file) {
			g_autofree char *name = g_steal_pointer(&walk->root_name);

			if (name && !visit(walk, name, DT_UNKNOWN, &found, error))
				return false;
			if (found) {
				/* The name stays valid: it is the tail of the root's path. */
				walk->entry.name =
					walk->root->path + strlen(walk->root->path) - strlen(name);
				*ret = &walk->entry;
				return true;
			}
			g_array_set_size(walk->levels, 0);
			continue;
		}

		if (!directory_next(innermost(walk)->directory, &listed, &failed)) {
			skip(walk, SKIP_UNREADABLE, 0, "");
			g_clear_error(&failed);
			listed = NULL;
		}
		if (!listed) {
			g_array_set_size(walk->levels, walk->levels->len - 1);
			continue;
		}

		if (!visit(walk, listed->name, listed->type, &found, error))
			return false;
		if (found) {
			*ret = &walk->entry;
			return true;
		}
	}

	return true;
}
