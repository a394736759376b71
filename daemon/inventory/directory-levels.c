/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/inventory/directory-levels.h"

#include "common/files/stamp.h"
#include "daemon/inventory/submounts.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/open-file.h"
#include "kernel-ioctl/xfs/xfs-bulkstat.h"

#include <xxhash.h>

/* A directory that is being read. */
typedef struct {
	Directory *directory;
	uint64_t inode;
} Level;

struct DirectoryLevels {
	const Filesystem *filesystem;
	FileStat top;
	size_t depth_max;
	int64_t began_nsec;
	bool enters_all;
	bool is_bare;   /* nothing is mounted on it, so names need no look before they are opened */
	GArray *levels; /* Level */
};

uint64_t directory_stamp(int64_t btime_nsec, int64_t mtime_nsec, int64_t ctime_nsec)
{
	const int64_t times[] = { btime_nsec, mtime_nsec, ctime_nsec };
	uint64_t stamp = XXH3_64bits(times, sizeof(times));

	/* 0 means a directory that is not known. */
	return stamp ? stamp : 1;
}

static uint64_t stamp_of(const FileStat *stat)
{
	return directory_stamp(stat->btime_nsec, stat->mtime_nsec, stat->ctime_nsec);
}

static void level_clear(Level *level)
{
	directory_free(level->directory);
}

DirectoryLevels *directory_levels_new(const Filesystem *filesystem, const FileStat *top)
{
	DirectoryLevels *levels = g_new0(DirectoryLevels, 1);

	levels->filesystem = filesystem;
	levels->top = *top;
	levels->depth_max = directory_levels_max();
	levels->began_nsec = g_get_real_time() * 1000;
	levels->levels = g_array_new(false, true, sizeof(Level));
	g_array_set_clear_func(levels->levels, (GDestroyNotify)level_clear);
	return levels;
}

void directory_levels_free(DirectoryLevels *levels)
{
	if (!levels)
		return;

	g_array_unref(levels->levels);
	g_free(levels);
}

void directory_levels_enter_all(DirectoryLevels *levels, bool all)
{
	levels->enters_all = all;
	levels->is_bare = all && levels->top.mount_id && !submounts_are_on(levels->top.mount_id);
}

/* Times have a coarse clock: a directory that changed just now may change again and keep its times. */
bool directory_levels_is_racy(const DirectoryLevels *levels, int64_t ctime_nsec)
{
	Stamp times = { .ctime_nsec = ctime_nsec };

	return stamp_is_racy(&times, levels->began_nsec) || ctime_nsec >= levels->began_nsec;
}

static bool is_of_this_filesystem(const DirectoryLevels *levels, const FileStat *stat)
{
	return stat->device_major == levels->top.device_major &&
	       stat->device_minor == levels->top.device_minor;
}

/* The directory that was entered last. */
static const Level *innermost(const DirectoryLevels *levels)
{
	return &g_array_index(levels->levels, Level, levels->levels->len - 1);
}

/* Begin to read the open directory @fd, unless it is another one than was asked for. */
static bool enter_take(DirectoryLevels *levels, int fd, uint64_t inode, uint64_t *ret_stamp)
{
	g_auto(Fd) owned = fd;
	Level level = { .inode = inode };
	FileStat stat;

	if (file_stat_at(owned, "", &stat) != 0 || stat.inode != inode ||
	    !is_of_this_filesystem(levels, &stat))
		return false;

	/* The stamp is taken before the directory is read. */
	*ret_stamp = directory_levels_is_racy(levels, stat.ctime_nsec) ? 0 : stamp_of(&stat);
	level.directory = directory_new_take(
		fd_steal(&owned), levels->levels->len > 0 ? innermost(levels)->directory : NULL);
	g_array_append_val(levels->levels, level);
	return true;
}

bool directory_levels_enter_first(DirectoryLevels *levels, uint64_t inode, uint32_t generation,
				  uint64_t *ret_stamp)
{
	const Filesystem *filesystem = levels->filesystem;
	FileId id = { .inode = inode, .generation = generation };
	int fd = open_directory_by_id(filesystem->fd, filesystem->identity.kind, &id);

	return fd >= 0 && enter_take(levels, fd, inode, ret_stamp);
}

static bool enter_name(DirectoryLevels *levels, int parent_fd, const DirectoryEntry *entry,
		       const FileStat *stat, uint64_t *ret_stamp)
{
	int fd, failed;

	return directory_open_known(parent_fd, entry->name, stat, &fd, &failed) ==
		       DIRECTORY_OPENED &&
	       enter_take(levels, fd, entry->inode, ret_stamp);
}

/* Enter a directory that a mount hides, by its handle. */
static bool enter_hidden(DirectoryLevels *levels, uint64_t inode, uint64_t known_stamp,
			 uint64_t *ret_stamp)
{
	XfsInode hidden;

	if (!xfs_inode_read(levels->filesystem->fd, inode, &hidden))
		return false;
	if (!levels->enters_all &&
	    known_stamp == directory_stamp(hidden.btime_nsec, hidden.mtime_nsec, hidden.ctime_nsec))
		return false;

	return directory_levels_enter_first(levels, inode, hidden.generation, ret_stamp);
}

bool directory_levels_enter(DirectoryLevels *levels, const DirectoryEntry *entry,
			    uint64_t known_stamp, uint64_t *ret_stamp)
{
	int parent_fd = directory_fd(innermost(levels)->directory);
	FileStat stat;

	if (levels->levels->len >= levels->depth_max)
		return false;
	if (levels->enters_all && levels->is_bare &&
	    enter_name(levels, parent_fd, entry, NULL, ret_stamp))
		return true;

	if (file_stat_at(parent_fd, entry->name, &stat) != 0 || stat.inode != entry->inode ||
	    !is_of_this_filesystem(levels, &stat))
		return enter_hidden(levels, entry->inode, known_stamp, ret_stamp);
	return (levels->enters_all || known_stamp != stamp_of(&stat)) &&
	       enter_name(levels, parent_fd, entry, &stat, ret_stamp);
}

const DirectoryEntry *directory_levels_next(DirectoryLevels *levels, uint64_t *ret_parent)
{
	while (levels->levels->len > 0) {
		const Level *level = innermost(levels);
		const DirectoryEntry *entry;

		/* A directory that cannot be read on counts as read: names are hints. */
		if (directory_next(level->directory, &entry, NULL) && entry) {
			*ret_parent = level->inode;
			return entry;
		}
		g_array_set_size(levels->levels, levels->levels->len - 1);
	}

	return NULL;
}
