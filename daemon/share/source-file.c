/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/share/source-file.h"

#include "kernel-ioctl/btrfs/btrfs-subvolumes.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/file-attributes.h"
#include "kernel-ioctl/file/file-stat.h"
#include "kernel-ioctl/file/unnamed-file.h"

#include <errno.h>

/* Whether the file's data can be shared with ordinary files: it may have inherited flags from its directory. */
static bool is_ordinary(const Filesystem *filesystem, int fd)
{
	g_autoptr(GError) ignored = NULL;
	FileAttributes attributes;

	return file_attributes_read(fd, filesystem->identity.kind, &attributes, &ignored) &&
	       !attributes.is_no_cow && !attributes.is_realtime && !attributes.is_dax;
}

/* Make the file in @directory_fd; -1 if that is -1, or if it fails. */
static int make_in(const Filesystem *filesystem, int directory_fd, bool *is_full)
{
	g_auto(Fd) fd = directory_fd < 0 ? -1 : unnamed_file_make(directory_fd);

	*is_full |= directory_fd >= 0 && fd < 0 && (errno == ENOSPC || errno == EDQUOT);
	return fd >= 0 && is_ordinary(filesystem, fd) ? fd_steal(&fd) : -1;
}

/* The target's directory; -1 if the names in the store lead to another one by now. */
static int directory_of(FileOpener *opener, const OpenObject *target)
{
	FileStat stat;
	int fd;

	if (!opener || !target)
		return -1;

	fd = file_opener_directory(opener, target->subvolume, target->parent);
	return fd >= 0 && file_stat_at(fd, "", &stat) == 0 && stat.inode == target->parent ? fd
											   : -1;
}

static int make_in_root(const Filesystem *filesystem, const FilesystemRoot *root, bool *is_full)
{
	g_auto(Fd) fd = filesystem_root_open(filesystem, root, 0);

	return make_in(filesystem, fd, is_full);
}

/* Opens by handle, so that no mount has to show it. */
static int make_in_top_level(const Filesystem *filesystem, bool *is_full)
{
	g_auto(Fd) fd = unnamed_file_make_in_subvolume(filesystem->fd, BTRFS_SUBVOLUME_TOP);

	*is_full |= fd < 0 && (errno == ENOSPC || errno == EDQUOT);
	if (fd < 0 || !file_attributes_make_plain(fd) || !is_ordinary(filesystem, fd))
		return -1;

	return fd_steal(&fd);
}

int source_file_make(const Filesystem *filesystem, FileOpener *opener, const OpenObject *target,
		     SkipReason *ret_reason)
{
	const GPtrArray *roots = filesystem->roots;
	bool is_full = false;
	int fd = opener ? -1 : make_in_top_level(filesystem, &is_full);

	if (fd < 0)
		fd = make_in(filesystem, directory_of(opener, target), &is_full);
	if (fd < 0)
		fd = make_in(filesystem, filesystem->fd, &is_full);
	for (guint i = 0; fd < 0 && i < roots->len; i++)
		fd = make_in_root(filesystem, roots->pdata[i], &is_full);

	if (fd < 0)
		*ret_reason = is_full ? SKIP_NO_SPACE : SKIP_NO_TEMPORARY_FILE;
	return fd;
}
