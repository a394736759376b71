/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/doctor/doctor.h"
#include "common/config/place-cost.h"
#include "common/mounts/metadata-reserve.h"
#include "common/text/size-text.h"
#include "kernel-ioctl/btrfs/btrfs-space.h"
#include "kernel-ioctl/btrfs/btrfs-subvolumes.h"
#include "kernel-ioctl/call/sysfs-attribute.h"

#include <string.h>

/* With more snapshots equal data is mostly left to their deletion (MaxCompare=). */
#define PLACES_MOST PLACE_COST_FACTOR

static void look_at_quota(const char *directory, Findings *findings)
{
	g_autofree char *groups = g_build_filename(directory, "qgroups", NULL);
	g_autofree char *mode = sysfs_attribute(groups, "mode");
	g_autofree char *enabled = sysfs_attribute(groups, "enabled");

	if (!g_file_test(groups, G_FILE_TEST_IS_DIR) || g_strcmp0(enabled, "0") == 0)
		findings_add(findings, FINDING_OK, "quota", NULL, "no quota groups");
	else if (g_strcmp0(mode, "squota") == 0)
		findings_add(findings, FINDING_NOTE, "quota", NULL,
			     "simple quotas: shared data stays charged to the subvolume that wrote "
			     "it first");
	else
		findings_add(findings, FINDING_WARNING, "quota",
			     "'btrfs quota disable', or simple quotas (since Linux 6.7)",
			     "quota groups are on: btrfs recounts all shared data, which makes "
			     "passes slower");
}

static void look_at_operation(const char *directory, Findings *findings)
{
	g_autofree char *operation = sysfs_attribute(directory, "exclusive_operation");

	if (operation && strcmp(operation, "none") != 0)
		findings_add(findings, FINDING_NOTE, "operation",
			     "let it end: passes wait while it runs",
			     "the filesystem is busy with: %s", operation);
}

void doctor_look_at_btrfs_sysfs(const DoctorView *view, const char *fsid, Findings *findings)
{
	g_autofree char *directory = g_build_filename(view->sysfs, "fs", "btrfs", fsid, NULL);

	look_at_quota(directory, findings);
	look_at_operation(directory, findings);
}

/* How many snapshots there are of what has most of them. */
static unsigned most_snapshots_of_one(const GArray *subvolumes)
{
	g_autoptr(GHashTable) counts = g_hash_table_new(fs_uuid_hash, fs_uuid_equal);
	unsigned most = 0;

	for (size_t i = 0; i < subvolumes->len; i++) {
		const BtrfsSubvolume *subvolume = &g_array_index(subvolumes, BtrfsSubvolume, i);

		if (subvolume->is_dead || !fs_uuid_is_set(subvolume->parent_uuid))
			continue;

		void *parent = (void *)subvolume->parent_uuid;
		unsigned count = GPOINTER_TO_UINT(g_hash_table_lookup(counts, parent)) + 1;
		g_hash_table_insert(counts, parent, GUINT_TO_POINTER(count));
		most = MAX(most, count);
	}
	return most;
}

static void look_at_subvolumes(int directory_fd, Findings *findings)
{
	g_autoptr(GError) failed = NULL;
	g_autoptr(GArray) subvolumes = NULL;

	if (!btrfs_subvolumes_read(directory_fd, &subvolumes, &failed)) {
		findings_add(findings, FINDING_NOTE, "snapshots", NULL, "%s", failed->message);
		return;
	}

	unsigned most = most_snapshots_of_one(subvolumes);
	if (most >= PLACES_MOST)
		findings_add(findings, FINDING_NOTE, "snapshots",
			     "raise MaxCompare= to free space sooner, for more reads",
			     "%u snapshots of one subvolume, of %u subvolumes: much of the space "
			     "becomes free only when the snapshots are deleted",
			     most, subvolumes->len);
	else
		findings_add(findings, FINDING_OK, "snapshots", NULL,
			     "%u of one subvolume at most, of %u subvolumes", most,
			     subvolumes->len);
}

static void look_at_metadata(int directory_fd, Findings *findings)
{
	g_autoptr(GError) failed = NULL;
	BtrfsSpace space;

	if (!btrfs_space_read(directory_fd, &space, &failed)) {
		findings_add(findings, FINDING_NOTE, "metadata", NULL, "%s", failed->message);
		return;
	}

	g_autofree char *room = size_text(btrfs_space_metadata_room(&space));
	g_autofree char *used = size_text(space.metadata_used_bytes);
	g_autofree char *reserve = size_text(metadata_reserve_bytes(&space));
	if (metadata_reserve_is_touched(&space))
		findings_add(findings, FINDING_ERROR, "metadata",
			     "make room for block groups: 'btrfs balance start -dusage=20 MOUNT', "
			     "or another device",
			     "%s are used, with room for %s more: passes share nothing while it is "
			     "below %s",
			     used, room, reserve);
	else
		findings_add(findings, FINDING_OK, "metadata", NULL,
			     "%s are used, with room for %s more", used, room);
}

void doctor_look_at_btrfs(int directory_fd, Findings *findings)
{
	look_at_subvolumes(directory_fd, findings);
	look_at_metadata(directory_fd, findings);
}
