/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bare-bulkstat - list the inodes of an XFS, and nothing else.
 *
 * What a privileged pass over an unchanged XFS is measured against.  Prints how many regular files it
 * met.
 */
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/xfs/xfs-bulkstat.h"

#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int main(int argc, char **argv)
{
	g_autoptr(XfsBulkstat) inodes = NULL;
	g_autoptr(GError) error = NULL;
	uint64_t n_files = 0, n_bytes = 0;
	g_auto(Fd) fd = -1;
	const XfsInode *inode;

	if (argc != 2) {
		fprintf(stderr, "usage: bare-bulkstat MOUNT-POINT\n");
		return 2;
	}

	fd = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		err(EXIT_FAILURE, "cannot open %s", argv[1]);

	inodes = xfs_bulkstat_new(fd, XFS_EVERY_GROUP, 0);
	while (xfs_bulkstat_next(inodes, &inode, &error) && inode) {
		if (!S_ISREG(inode->mode))
			continue;
		n_files++;
		n_bytes += inode->size_bytes;
	}
	if (error)
		errx(EXIT_FAILURE, "%s", error->message);

	printf("%ju files, %ju bytes\n", (uintmax_t)n_files, (uintmax_t)n_bytes);
	return 0;
}
