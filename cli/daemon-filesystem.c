/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/daemon-filesystem.h"

#include <stdlib.h>
#include <string.h>

void daemon_filesystem_free(DaemonFilesystem *filesystem)
{
	if (!filesystem)
		return;

	g_free(filesystem->uuid);
	g_free(filesystem->kind);
	g_free(filesystem->mount_point);
	g_free(filesystem->state);
	g_free(filesystem->refusal);
	g_free(filesystem->waits_for);
	g_free(filesystem->wait_reason);
	g_free(filesystem->stage);
	g_free(filesystem->last_outcome);
	g_free(filesystem->last_error);
	g_free(filesystem->state_directory);
	g_strfreev(filesystem->disks);
	g_free(filesystem);
}

bool daemon_filesystem_is_called(const DaemonFilesystem *filesystem, const char *typed)
{
	g_autofree char *plain = g_canonicalize_filename(typed, NULL);
	char *real = realpath(typed, NULL);
	bool is_called = g_ascii_strcasecmp(typed, filesystem->uuid) == 0 ||
			 strcmp(plain, filesystem->mount_point) == 0 ||
			 g_strcmp0(real, filesystem->mount_point) == 0;

	free(real);
	return is_called;
}
