/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/extent-pause.h"

#include "kernel-ioctl/btrfs-info.h"
#include "kernel-ioctl/btrfs-scrub.h"

#include <string.h>

#define WAIT_USEC (G_USEC_PER_SEC / 5)

/* Something is going on that moves extents; one that is paused does not. */
static bool is_being_moved(const Filesystem *filesystem)
{
	g_autofree char *operation = btrfs_exclusive_operation(filesystem->identity.uuid);

	return operation && !strstr(operation, "paused");
}

/* What is going on; NULL: nothing. */
static const char *what_is_going_on(const Filesystem *filesystem)
{
	if (is_being_moved(filesystem))
		return "a balance, or a change of its devices,";
	return btrfs_is_being_scrubbed(filesystem->fd) ? "a scrub" : NULL;
}

void extent_pause(const Pass *pass)
{
	const char *said = NULL;
	const char *what;

	while (pass_may_continue(pass) && (what = what_is_going_on(pass->filesystem))) {
		if (what != said)
			g_message("%s: waiting for %s to end", pass->filesystem->mount_point, what);
		said = what;
		g_usleep(WAIT_USEC);
	}
}

void extent_pause_when_due(const Pass *pass, int64_t *looked_usec)
{
	if (g_get_monotonic_time() - *looked_usec < G_USEC_PER_SEC)
		return;

	extent_pause(pass);
	*looked_usec = g_get_monotonic_time();
}
