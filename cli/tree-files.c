/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/tree-files.h"

#include "cli/message.h"
#include "kernel-ioctl/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <string.h>
#include <sys/stat.h>

struct TreeFiles {
	FTS *walk;
	FsIdentity identity;
};

static void fail(const char *path, int cause, GError **error)
{
	g_autofree char *text = message_terminal_text(path);

	g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(cause), "cannot read %s: %s",
		    text, g_strerror(cause));
}

static bool identify(const char *path, FsIdentity *ret, GError **error)
{
	g_auto(Fd) fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0) {
		fail(path, errno, error);
		return false;
	}

	return fs_identity_read(fd, ret, error);
}

static int compare_names(const FTSENT **one, const FTSENT **other)
{
	return strcmp((*one)->fts_name, (*other)->fts_name);
}

TreeFiles *tree_files_open(const char *directory, FsIdentity *ret, GError **error)
{
	g_autoptr(TreeFiles) files = g_new0(TreeFiles, 1);
	char *const roots[] = { (char *)directory, NULL };

	if (!identify(directory, &files->identity, error))
		return NULL;
	if (files->identity.kind == FS_KIND_OTHER) {
		g_autofree char *text = message_terminal_text(directory);

		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
			    "%s lies on no btrfs or XFS: dedupd works on these", text);
		return NULL;
	}

	/* A link that was typed is followed, those below it are not. */
	files->walk = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, compare_names);
	if (!files->walk) {
		fail(directory, errno, error);
		return NULL;
	}

	*ret = files->identity;
	return g_steal_pointer(&files);
}

void tree_files_close(TreeFiles *files)
{
	if (!files)
		return;

	if (files->walk)
		fts_close(files->walk);
	g_free(files);
}

/* A subvolume has a device number of its own, as what is mounted has. */
static bool enter_directory(TreeFiles *files, FTSENT *entry, GError **error)
{
	FsIdentity identity;

	if (entry->fts_level == FTS_ROOTLEVEL ||
	    entry->fts_statp->st_dev == entry->fts_parent->fts_statp->st_dev)
		return true;
	if (!identify(entry->fts_path, &identity, error)) {
		fts_set(files->walk, entry, FTS_SKIP);
		return false;
	}

	if (identity.kind != files->identity.kind ||
	    memcmp(identity.uuid, files->identity.uuid, FS_UUID_BYTES) != 0)
		fts_set(files->walk, entry, FTS_SKIP);
	return true;
}

bool tree_files_next(TreeFiles *files, const char **ret, GError **error)
{
	FTSENT *entry;

	*ret = NULL;
	while ((entry = fts_read(files->walk))) {
		switch (entry->fts_info) {
		case FTS_F:
			*ret = entry->fts_path;
			return true;
		case FTS_D:
			if (!enter_directory(files, entry, error))
				return false;
			break;
		case FTS_DNR:
		case FTS_ERR:
		case FTS_NS:
			fail(entry->fts_path, entry->fts_errno, error);
			return false;
		default:
			break;
		}
	}

	return true;
}
