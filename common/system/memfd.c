/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/system/memfd.h"

#include "kernel-ioctl/call/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SEALS (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL)

int memfd_new(const char *text)
{
	g_auto(Fd) fd = memfd_create("dedupd", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	size_t length = strlen(text);

	if (fd < 0)
		return -errno;
	for (size_t done = 0; done < length;) {
		ssize_t n = write(fd, text + done, length - done);

		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		done += (size_t)n;
	}
	if (lseek(fd, 0, SEEK_SET) < 0 || fcntl(fd, F_ADD_SEALS, SEALS) != 0)
		return -errno;

	return fd_steal(&fd);
}

int memfd_reopen(int fd)
{
	g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", fd);
	int opened = open(path, O_RDONLY | O_CLOEXEC);

	return opened < 0 ? -errno : opened;
}
