/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/arguments/named-file.h"

#include "cli/arguments/long-path.h"
#include "cli/terminal/message.h"
#include "common/text/name-text.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/open-file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void fail_to_open(const NamedFile *file, OpenOutcome outcome, int cause, GError **error)
{
	if (outcome == OPEN_NOT_REGULAR)
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "%s is no regular file",
			    file->text);
	else
		g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(cause),
			    "cannot read %s: %s", file->text, g_strerror(cause));
}

static bool is_on_last(const NamedFile *file, const LastFilesystem *last)
{
	return last && last->identity.kind != FS_KIND_OTHER &&
	       file->stat.device_major == last->device_major &&
	       file->stat.device_minor == last->device_minor;
}

static bool identify(NamedFile *file, const LastFilesystem *last, GError **error)
{
	int status = file_stat_at(file->fd, "", &file->stat);

	if (status != 0) {
		fail_to_open(file, OPEN_FAILED, status, error);
		return false;
	}
	if (is_on_last(file, last)) {
		file->identity = last->identity;
		file->subvolume = last->subvolume;
		return true;
	}
	if (!fs_identity_read(file->fd, &file->identity, error))
		return false;
	if (file->identity.kind == FS_KIND_OTHER) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
			    "%s is not on a btrfs or XFS filesystem: dedupd supports only these",
			    file->text);
		return false;
	}

	return fs_subvolume_read(file->fd, file->identity.kind, &file->subvolume, error);
}

static char *resolve(const char *typed, int *ret_errno)
{
	char *path = realpath(typed, NULL);

	*ret_errno = path ? 0 : errno;
	/* No path that long can be resolved by name; its links are left to the opening. */
	return *ret_errno == ENAMETOOLONG ? g_canonicalize_filename(typed, NULL) : path;
}

static OpenOutcome open_path(const char *path, int *ret_fd, int *ret_errno)
{
	const char *name;
	g_auto(Fd) above = long_path_open_above(path, &name);

	if (above < 0) {
		*ret_errno = errno;
		return open_outcome_of(errno);
	}
	return open_file_at(above, name, ret_fd, ret_errno);
}

NamedFile *named_file_open(const char *typed, LastFilesystem *last, GError **error)
{
	g_autoptr(NamedFile) file = g_new0(NamedFile, 1);
	OpenOutcome outcome;
	int cause;

	file->fd = -1;
	file->name = name_text(typed, strlen(typed));
	file->text = message_terminal_text(typed);
	file->path = resolve(typed, &cause);
	if (!file->path) {
		fail_to_open(file, OPEN_GONE, cause, error);
		return NULL;
	}

	outcome = open_path(file->path, &file->fd, &cause);
	if (outcome != OPEN_OPENED) {
		fail_to_open(file, outcome, cause, error);
		return NULL;
	}

	if (!identify(file, last, error))
		return NULL;
	if (last)
		*last = (LastFilesystem){ file->identity, file->subvolume, file->stat.device_major,
					  file->stat.device_minor };
	return g_steal_pointer(&file);
}

NamedFile *named_file_open_by_id_take(int fd, const FsIdentity *identity, const FileId *id,
				      char *path)
{
	g_autoptr(NamedFile) file = g_new0(NamedFile, 1);
	int cause;

	file->path = path;
	file->name = name_text(path, strlen(path));
	file->text = message_terminal_text(path);
	file->identity = *identity;
	file->subvolume = id->subvolume;
	if (open_file_by_id(fd, identity->kind, id, &file->fd, &cause) != OPEN_OPENED ||
	    file_stat_at(file->fd, "", &file->stat) != 0)
		return NULL;

	return g_steal_pointer(&file);
}

void named_file_close(NamedFile *file)
{
	if (!file)
		return;

	fd_close(&file->fd);
	g_free(file->path);
	g_free(file->name);
	g_free(file->text);
	g_free(file);
}

bool named_files_are_neighbours(const NamedFile *one, const NamedFile *other)
{
	return one->identity.kind == other->identity.kind &&
	       fs_uuid_equal(one->identity.uuid, other->identity.uuid);
}

bool named_files_are_same(const NamedFile *one, const NamedFile *other)
{
	return named_files_are_neighbours(one, other) && one->subvolume == other->subvolume &&
	       one->stat.inode == other->stat.inode;
}
