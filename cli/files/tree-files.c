/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/files/tree-files.h"

#include "cli/arguments/long-path.h"
#include "cli/terminal/message.h"
#include "kernel-ioctl/call/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define EMPTY_SUBVOLUME_INODE 2   /* BTRFS_EMPTY_SUBVOL_DIR_OBJECTID */
#define SUBVOLUME_INODE       256 /* BTRFS_FIRST_FREE_OBJECTID */

/* A directory being read: its entries, in the order of names. */
typedef struct {
	struct dirent **entries;
	int n_entries;
	int next;
	size_t path_bytes;
	dev_t device;
} Level;

struct TreeFiles {
	FsIdentity identity;
	GString *path;
	GArray *levels;               /* Level, the innermost last; descriptors of none are kept */
	TreeFilesLeaveOut *leave_out; /* NULL: nothing is */
	void *data;
};

static void fail(const char *path, int cause, GError **error)
{
	g_autofree char *text = message_terminal_text(path);

	g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(cause), "cannot read %s: %s",
		    text, g_strerror(cause));
}

static void level_clear(void *data)
{
	Level *level = data;

	for (int i = 0; i < level->n_entries; i++)
		free(level->entries[i]);
	free(level->entries);
}

static Level *innermost(const TreeFiles *files)
{
	return &g_array_index(files->levels, Level, files->levels->len - 1);
}

static int is_other_name(const struct dirent *entry)
{
	return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static int compare_names(const struct dirent **one, const struct dirent **other)
{
	return strcmp((*one)->d_name, (*other)->d_name);
}

/* Returns -1 and sets errno on error. */
static int open_directory(const char *path, int more_flags)
{
	const char *name;
	g_auto(Fd) above = long_path_open_above(path, &name);

	return above < 0 ? -1
			 : openat(above, name,
				  O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOCTTY | more_flags);
}

/* A subvolume has its own device number, as a mounted filesystem has. */
static bool belongs(const TreeFiles *files, int fd, const struct stat *stat, bool *ret,
		    GError **error)
{
	FsIdentity identity;

	*ret = stat->st_dev == innermost(files)->device;
	if (*ret)
		return true;
	/* A snapshot has an empty directory in place of a nested subvolume, which knows no ioctls. */
	if (files->identity.kind == FS_KIND_BTRFS && stat->st_ino == EMPTY_SUBVOLUME_INODE)
		return true;
	if (!fs_identity_read(fd, &identity, error))
		return false;

	*ret = identity.kind == files->identity.kind &&
	       memcmp(identity.uuid, files->identity.uuid, FS_UUID_BYTES) == 0;
	return true;
}

/* Continue in the open directory of the current path. */
static bool enter(TreeFiles *files, int fd, dev_t device, GError **error)
{
	Level level = { .path_bytes = files->path->len, .device = device };
	/* musl has no scandirat(). */
	g_autofree char *place = g_strdup_printf("/proc/self/fd/%d/.", fd);

	level.n_entries = scandir(place, &level.entries, is_other_name, compare_names);
	if (level.n_entries < 0) {
		fail(files->path->str, errno, error);
		return false;
	}

	g_array_append_val(files->levels, level);
	return true;
}

static bool is_left_out(const TreeFiles *files, int fd, const struct stat *stat)
{
	return files->leave_out && files->identity.kind == FS_KIND_BTRFS &&
	       stat->st_ino == SUBVOLUME_INODE &&
	       files->leave_out(files->data, fd, files->path->str);
}

static bool enter_directory(TreeFiles *files, GError **error)
{
	g_auto(Fd) fd = open_directory(files->path->str, O_NOFOLLOW);
	struct stat stat;
	bool is_part;

	if (fd < 0 || fstat(fd, &stat) != 0) {
		fail(files->path->str, errno, error);
		return false;
	}
	if (!belongs(files, fd, &stat, &is_part, error))
		return false;

	return !is_part || is_left_out(files, fd, &stat) || enter(files, fd, stat.st_dev, error);
}

/* A typed link is followed, links below it are not. */
static bool enter_root(TreeFiles *files, GError **error)
{
	const char *directory = files->path->str;
	g_auto(Fd) fd = open_directory(directory, 0);
	struct stat stat;

	if (fd < 0 || fstat(fd, &stat) != 0) {
		fail(directory, errno, error);
		return false;
	}
	if (!fs_identity_read(fd, &files->identity, error))
		return false;
	if (files->identity.kind == FS_KIND_OTHER) {
		g_autofree char *text = message_terminal_text(directory);

		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
			    "%s is not on a btrfs or XFS filesystem: dedupd supports only these",
			    text);
		return false;
	}

	return enter(files, fd, stat.st_dev, error);
}

TreeFiles *tree_files_open(const char *directory, FsIdentity *ret, GError **error)
{
	g_autoptr(TreeFiles) files = g_new0(TreeFiles, 1);

	files->path = g_string_new(directory);
	files->levels = g_array_new(false, false, sizeof(Level));
	g_array_set_clear_func(files->levels, level_clear);
	if (!enter_root(files, error))
		return NULL;

	*ret = files->identity;
	return g_steal_pointer(&files);
}

void tree_files_set_leave_out(TreeFiles *files, TreeFilesLeaveOut *leave_out, void *data)
{
	files->leave_out = leave_out;
	files->data = data;
}

void tree_files_close(TreeFiles *files)
{
	if (!files)
		return;

	g_array_unref(files->levels);
	g_string_free(files->path, TRUE);
	g_free(files);
}

/* Not all filesystems return the type with the name. */
static bool read_type(const TreeFiles *files, const struct dirent *entry, unsigned char *ret,
		      GError **error)
{
	struct stat stat;
	const char *name;
	Fd above;
	int status;

	*ret = entry->d_type;
	if (entry->d_type != DT_UNKNOWN)
		return true;

	above = long_path_open_above(files->path->str, &name);
	status = above < 0 ? -1 : fstatat(above, name, &stat, AT_SYMLINK_NOFOLLOW);
	if (status != 0)
		fail(files->path->str, errno, error);
	else
		*ret = IFTODT(stat.st_mode);
	fd_close(&above);
	return status == 0;
}

/* Set the path to that of the next entry; NULL: there is none. */
static const struct dirent *next_entry(TreeFiles *files)
{
	while (files->levels->len > 0) {
		Level *level = innermost(files);

		if (level->next == level->n_entries) {
			g_array_set_size(files->levels, files->levels->len - 1);
			continue;
		}

		g_string_truncate(files->path, level->path_bytes);
		if (!g_str_has_suffix(files->path->str, "/"))
			g_string_append_c(files->path, '/');
		g_string_append(files->path, level->entries[level->next]->d_name);
		return level->entries[level->next++];
	}

	return NULL;
}

bool tree_files_next(TreeFiles *files, const char **ret, GError **error)
{
	const struct dirent *entry;
	unsigned char type;

	*ret = NULL;
	while ((entry = next_entry(files))) {
		if (!read_type(files, entry, &type, error) ||
		    (type == DT_DIR && !enter_directory(files, error)))
			return false;
		if (type != DT_REG)
			continue;
		*ret = files->path->str;
		return true;
	}

	return true;
}
