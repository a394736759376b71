/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/arguments/named-place.h"

#include "cli/terminal/message.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/fs-identity.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

void named_place_clear(NamedPlace *place)
{
	g_clear_pointer(&place->filesystem, g_free);
	g_clear_pointer(&place->below, g_free);
}

char *named_directory_path(const char *typed, GError **error)
{
	char *path = realpath(typed, NULL);
	int cause = errno;

	if (!path) {
		g_autofree char *safe = message_text(typed);

		g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(cause),
			    "cannot look below %s: %s", safe, g_strerror(cause));
	}

	return path;
}

bool named_place_read(const char *typed, NamedPlace *ret, GError **error)
{
	g_auto(Fd) fd = open(typed, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
	char uuid[FS_UUID_TEXT_BYTES];
	FsIdentity identity;

	if (fd < 0) {
		ret->filesystem = g_strdup(typed);
		return true;
	}
	if (!fs_identity_read(fd, &identity, error))
		return false;

	fs_uuid_format(identity.uuid, uuid);
	ret->filesystem = g_strdup(identity.kind == FS_KIND_OTHER ? typed : uuid);
	ret->below = named_directory_path(typed, error);
	return ret->below;
}
