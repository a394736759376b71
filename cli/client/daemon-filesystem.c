/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/client/daemon-filesystem.h"

#include "common/text/name-text.h"

#include <stdlib.h>
#include <string.h>

static void hold_free(void *data)
{
	DaemonHold *hold = data;

	g_free(hold->why);
	g_free(hold);
}

void daemon_filesystem_add_hold(GPtrArray **holds, const DaemonHold *hold, const char *why)
{
	DaemonHold *copy = g_memdup2(hold, sizeof(*hold));

	copy->why = g_strdup(why);
	if (!*holds)
		*holds = g_ptr_array_new_with_free_func(hold_free);
	g_ptr_array_add(*holds, copy);
}

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
	g_clear_pointer(&filesystem->holds, g_ptr_array_unref);
	g_free(filesystem);
}

char *daemon_filesystem_mount_text(const char *path)
{
	return g_utf8_validate(path, -1, NULL) ? g_strdup(path) : name_text(path, strlen(path));
}

static bool is_mounted_at(const DaemonFilesystem *filesystem, const char *path)
{
	g_autofree char *text = daemon_filesystem_mount_text(path);

	return strcmp(text, filesystem->mount_point) == 0;
}

static bool is_called(const DaemonFilesystem *filesystem, const char *typed)
{
	g_autofree char *plain = g_canonicalize_filename(typed, NULL);
	g_autofree char *real = realpath(typed, NULL);

	return g_ascii_strcasecmp(typed, filesystem->uuid) == 0 ||
	       is_mounted_at(filesystem, plain) || (real && is_mounted_at(filesystem, real));
}

bool daemon_filesystem_is_any(const DaemonFilesystem *filesystem, char *const *names, bool *called)
{
	bool is_any = false;

	for (size_t i = 0; names && names[i]; i++) {
		if (!is_called(filesystem, names[i]))
			continue;
		is_any = true;
		if (called)
			called[i] = true;
	}

	return is_any;
}

const DaemonFilesystem *daemon_filesystem_find(const GPtrArray *all, const char *typed)
{
	const DaemonFilesystem *unmounted = NULL;

	for (size_t i = 0; i < all->len; i++) {
		const DaemonFilesystem *filesystem = all->pdata[i];

		if (!is_called(filesystem, typed))
			continue;
		if (strcmp(filesystem->state, "unmounted") != 0)
			return filesystem;
		unmounted = filesystem;
	}

	return unmounted;
}
