/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/share/metadata-watch.h"

#include "common/mounts/metadata-reserve.h"
#include "common/text/size-text.h"

static void stop(const Pass *pass, const BtrfsSpace *space)
{
	g_autofree char *left = size_text(btrfs_space_metadata_room(space));
	g_autofree char *kept = size_text(metadata_reserve_bytes(space));

	pass->result->stopped_reason = g_strdup("little room is left for metadata");
	g_warning("%s: sharing stops, as metadata has room for %s, and dedupd keeps %s free",
		  pass->filesystem->mount_point, left, kept);
}

bool metadata_watch_look_when_due(const Pass *pass, int64_t *looked_usec, GError **error)
{
	int64_t now_usec = g_get_monotonic_time();
	BtrfsSpace space;

	if (pass->result->stopped_reason || now_usec - *looked_usec < G_USEC_PER_SEC)
		return true;
	if (!btrfs_space_read(pass->filesystem->fd, &space, error))
		return false;

	*looked_usec = now_usec;
	if (metadata_reserve_is_touched(&space))
		stop(pass, &space);
	return true;
}
