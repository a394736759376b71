/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/system/temporary-file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int temporary_file_open(const char *directory, GError **error)
{
	g_autofree char *name = NULL;
	int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
		name = g_build_filename(directory, ".dedupd-XXXXXX", NULL);
		fd = g_mkstemp_full(name, O_RDWR | O_CLOEXEC, 0600);
		if (fd >= 0)
			unlink(name);
	}

	if (fd < 0)
		g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(errno),
			    "cannot make a temporary file in %s: %s", directory, g_strerror(errno));

	return fd;
}

bool temporary_file_allocate(int fd, uint64_t offset, uint64_t bytes, GError **error)
{
	int cause = posix_fallocate(fd, (off_t)offset, (off_t)bytes);

	return cause == 0 || temporary_file_fail(cause, error);
}

bool temporary_file_fail(int cause, GError **error)
{
	g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(cause),
		    "cannot write a temporary file: %s", g_strerror(cause));
	return false;
}
