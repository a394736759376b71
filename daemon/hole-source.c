/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/hole-source.h"

#include "kernel-ioctl/btrfs-subvolumes.h"
#include "kernel-ioctl/dedupe-range.h"
#include "kernel-ioctl/fd.h"
#include "kernel-ioctl/file-attributes.h"
#include "kernel-ioctl/file-stat.h"
#include "kernel-ioctl/unnamed-file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

struct HoleSource {
	const Filesystem *filesystem;
	FileOpener *opener;
	Fd fd;
	uint64_t size_bytes;
};

HoleSource *hole_source_new(const Filesystem *filesystem, FileOpener *opener)
{
	HoleSource *hole = g_new0(HoleSource, 1);

	hole->filesystem = filesystem;
	hole->opener = opener;
	hole->fd = -1;
	return hole;
}

void hole_source_free(HoleSource *hole)
{
	if (!hole)
		return;

	fd_close(&hole->fd);
	g_free(hole);
}

/* Whether its hole can be shared with ordinary files: it may have got flags of its directory. */
static bool is_ordinary(const HoleSource *hole, int fd)
{
	g_autoptr(GError) ignored = NULL;
	FileAttributes attributes;

	return file_attributes_read(fd, hole->filesystem->identity.kind, &attributes, &ignored) &&
	       !attributes.is_no_cow && !attributes.is_realtime && !attributes.is_dax;
}

/* Make the file in @directory_fd, which is -1 where there is none. */
static bool make_in(HoleSource *hole, int directory_fd, bool *is_full)
{
	g_auto(Fd) fd = -1;

	if (directory_fd < 0)
		return false;

	fd = openat(directory_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	*is_full |= fd < 0 && (errno == ENOSPC || errno == EDQUOT);
	if (fd < 0 || !is_ordinary(hole, fd))
		return false;

	hole->fd = fd_steal(&fd);
	return true;
}

/* The target's directory, unless the names in the store lead to another one by now; or -1. */
static int directory_of(HoleSource *hole, const OpenObject *target)
{
	FileStat stat;
	int fd;

	if (!hole->opener || !target)
		return -1;

	fd = file_opener_directory(hole->opener, target->subvolume, target->parent);
	return fd >= 0 && file_stat_at(fd, "", &stat) == 0 && stat.inode == target->parent ? fd
											   : -1;
}

static bool make_in_root(HoleSource *hole, const FilesystemRoot *root, bool *is_full)
{
	g_autofree char *path =
		root->is_file ? g_path_get_dirname(root->path) : g_strdup(root->path);
	g_auto(Fd) fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return make_in(hole, fd, is_full);
}

/* By handle, so that no mount need show it. */
static bool make_in_top_level(HoleSource *hole, bool *is_full)
{
	g_auto(Fd) fd = unnamed_file_make_in_subvolume(hole->filesystem->fd, BTRFS_SUBVOLUME_TOP);

	*is_full |= fd < 0 && (errno == ENOSPC || errno == EDQUOT);
	if (fd < 0 || !file_attributes_make_plain(fd) || !is_ordinary(hole, fd))
		return false;

	hole->fd = fd_steal(&fd);
	return true;
}

static bool make(HoleSource *hole, const OpenObject *target, SkipReason *ret_reason)
{
	const GPtrArray *roots = hole->filesystem->roots;
	bool is_full = false;

	if ((!hole->opener && make_in_top_level(hole, &is_full)) ||
	    make_in(hole, directory_of(hole, target), &is_full) ||
	    make_in(hole, hole->filesystem->fd, &is_full))
		return true;
	for (guint i = 0; i < roots->len; i++)
		if (make_in_root(hole, roots->pdata[i], &is_full))
			return true;

	*ret_reason = is_full ? SKIP_NO_SPACE : SKIP_NO_TEMPORARY_FILE;
	return false;
}

int hole_source_fd(HoleSource *hole, const OpenObject *target, uint64_t length,
		   SkipReason *ret_reason)
{
	uint64_t wanted =
		length % hole->filesystem->identity.block_bytes ? length : DEDUPE_ROUND_BYTES;

	/* Growing it from within a block would write the rest of that block. */
	if (hole->fd >= 0 && hole->size_bytes != wanted)
		fd_close(&hole->fd);
	if (hole->fd < 0) {
		if (!make(hole, target, ret_reason))
			return -1;
		hole->size_bytes = 0;
	}
	if (hole->size_bytes != wanted && ftruncate(hole->fd, (off_t)wanted) != 0) {
		*ret_reason = SKIP_NO_TEMPORARY_FILE;
		fd_close(&hole->fd);
		return -1;
	}

	hole->size_bytes = wanted;
	return hole->fd;
}
