/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/run-paths.h"

#include "cli/message.h"
#include "kernel-ioctl/fd.h"
#include "kernel-ioctl/fs-identity.h"
#include "kernel-ioctl/open-file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void run_paths_free(void *data)
{
	RunPaths *paths = data;

	g_free(paths->uuid);
	g_strfreev(paths->paths);
	g_free(paths);
}

static void fail(GError **error, const char *name, const char *why)
{
	g_autofree char *text = message_text(name);

	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "%s: %s", text, why);
}

static bool identify(const char *path, const char *name, FsIdentity *ret, GError **error)
{
	g_auto(Fd) fd = -1;
	int cause;

	switch (open_file_or_directory(path, &fd, &cause)) {
	case OPEN_OPENED:
		break;
	case OPEN_NOT_REGULAR:
		fail(error, name, "it is neither a directory nor a regular file");
		return false;
	default:
		fail(error, name, g_strerror(cause));
		return false;
	}
	if (!fs_identity_read(fd, ret, error))
		return false;
	if (ret->kind != FS_KIND_OTHER)
		return true;

	fail(error, name, "it lies on no btrfs or XFS: dedupd works on these");
	return false;
}

static RunPaths *paths_of(GPtrArray *all, const char *uuid)
{
	RunPaths *paths;

	for (guint i = 0; i < all->len; i++) {
		paths = all->pdata[i];
		if (strcmp(paths->uuid, uuid) == 0)
			return paths;
	}

	paths = g_new0(RunPaths, 1);
	paths->uuid = g_strdup(uuid);
	paths->paths = g_new0(char *, 1);
	g_ptr_array_add(all, paths);
	return paths;
}

static bool add(GPtrArray *all, const char *name, GError **error)
{
	char *real = realpath(name, NULL);
	char uuid[FS_UUID_TEXT_BYTES];
	FsIdentity identity;
	RunPaths *paths;
	guint n;

	if (!real) {
		fail(error, name, g_strerror(errno));
		return false;
	}
	if (!identify(real, name, &identity, error)) {
		free(real);
		return false;
	}

	fs_uuid_format(identity.uuid, uuid);
	paths = paths_of(all, uuid);
	n = g_strv_length(paths->paths);
	paths->paths = g_renew(char *, paths->paths, n + 2);
	paths->paths[n] = g_strdup(real);
	paths->paths[n + 1] = NULL;
	free(real);
	return true;
}

GPtrArray *run_paths_find(char *const *names, GError **error)
{
	g_autoptr(GPtrArray) all = g_ptr_array_new_with_free_func(run_paths_free);

	for (size_t i = 0; names[i]; i++)
		if (!add(all, names[i], error))
			return NULL;
	return g_steal_pointer(&all);
}
