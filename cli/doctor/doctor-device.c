/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/doctor/doctor.h"
#include "common/text/size-text.h"

#include <string.h>
#include <unistd.h>

/* The usual size of a block, and of the unit of sharing. */
#define BLOCK_BYTES 4096

/*
 * Types of devices that contain other ones, as libblkid names them, and the advice what to name
 * instead.
 */
static const struct {
	const char *type;
	const char *advice;
} containers[] = {
	{ "crypto_LUKS", "open it ('cryptsetup open'), and name the device in /dev/mapper" },
	{ "LVM2_member", "name a logical volume of its group ('lvs')" },
	{ "linux_raid_member", "name the array (/proc/mdstat)" },
	{ "bcache", "name the device /dev/bcacheN" },
};

static bool is_btrfs(const DeviceContents *contents)
{
	return strcmp(contents->type, "btrfs") == 0;
}

static void report_other(const DeviceContents *contents, Findings *findings)
{
	const char *advice = "dedupd works on btrfs and XFS filesystems";

	if (!contents->type && contents->partitions) {
		findings_add(findings, FINDING_ERROR, "device", "name one of its partitions",
			     "it has a table of partitions (%s)", contents->partitions);
		return;
	}
	for (size_t i = 0; i < G_N_ELEMENTS(containers); i++)
		if (g_strcmp0(contents->type, containers[i].type) == 0)
			advice = containers[i].advice;
	findings_add(findings, FINDING_ERROR, "device", advice, "%s",
		     contents->type ? contents->type
				    : "it holds no filesystem that libblkid knows");
}

static void look_at_size(const DeviceContents *contents, Findings *findings)
{
	g_autofree char *all = size_text(contents->filesystem_bytes);
	g_autofree char *has = size_text(contents->size_bytes);

	if (contents->size_bytes < contents->filesystem_bytes)
		findings_add(findings, FINDING_ERROR, "size",
			     "it was cut off: copy it again, or enlarge the device",
			     "the filesystem takes %s, but the device has %s", all, has);
	else
		findings_add(findings, FINDING_OK, "size", NULL, "%s", all);
}

static void look_at_blocks(const DeviceContents *contents, Findings *findings)
{
	g_autofree char *size = size_text(contents->block_bytes);

	if (contents->block_bytes > sysconf(_SC_PAGESIZE))
		findings_add(findings, FINDING_WARNING, "blocks",
			     "XFS needs Linux 6.12 for that, and btrfs needs a machine with larger "
			     "pages",
			     "%s, larger than a page of memory: old kernels do not mount it", size);
	else if (contents->block_bytes > BLOCK_BYTES)
		findings_add(findings, FINDING_NOTE, "blocks", NULL,
			     "%s: only whole blocks are shared, and 4 KiB would find more", size);
	else
		findings_add(findings, FINDING_OK, "blocks", NULL, "%s", size);
}

static void look_at_reflink(const DeviceContents *contents, Findings *findings)
{
	if (contents->can_share)
		findings_add(findings, FINDING_OK, "sharing", NULL, "it can share blocks");
	else
		findings_add(
			findings, FINDING_ERROR, "sharing",
			"it cannot be added: make the filesystem anew ('mkfs.xfs -m reflink=1') "
			"and copy the files back",
			"made without reflink=1, so blocks cannot be shared");
}

static void look_at_members(const DeviceContents *contents, char *const *present,
			    Findings *findings)
{
	g_autofree char *list = g_strjoinv(", ", (char **)present);
	guint n_present = g_strv_length((char **)present);

	if (n_present < contents->n_devices)
		findings_add(findings, FINDING_ERROR, "devices",
			     "attach the others, and run 'btrfs device scan' before it is mounted",
			     "%u of %" G_GUINT64_FORMAT " devices of the filesystem are there: %s",
			     n_present, contents->n_devices, list);
	else if (contents->n_devices > 1)
		findings_add(findings, FINDING_OK, "devices", NULL,
			     "all %" G_GUINT64_FORMAT " devices of the filesystem are there: %s",
			     contents->n_devices, list);
}

/* Report the filesystem that the device is a copy of, or may be one of. */
static void look_at_copies(const DeviceContents *contents, char *const *with_uuid,
			   const char *mounted, Findings *findings)
{
	const char *advice =
		is_btrfs(contents)
			? "Linux 6.7 mounts both, if each lies on one device; "
			  "'btrfstune -u' gives it a UUID of its own"
			: "mount it with nouuid; 'xfs_admin -U generate' gives it a UUID of "
			  "its own";
	g_autofree char *list = g_strjoinv(", ", (char **)with_uuid);

	if (mounted)
		findings_add(findings, FINDING_NOTE, "copy", advice,
			     "it has the UUID of the filesystem that is mounted on %s", mounted);
	else if (g_strv_length((char **)with_uuid) > contents->n_devices)
		findings_add(findings, FINDING_NOTE, "copy", advice,
			     "several devices have its UUID: %s", list);
}

static void look_at_alignment(const DeviceContents *contents, Findings *findings)
{
	if (contents->misaligned_bytes != 0)
		findings_add(findings, FINDING_NOTE, "alignment",
			     "begin the partition at a multiple of 1 MiB",
			     "it begins %" G_GUINT64_FORMAT
			     " bytes before a block of the disk: each write touches two",
			     contents->misaligned_bytes);
}

void doctor_look_at_device(const char *path, const DeviceContents *contents, char *const *with_uuid,
			   const char *mounted, Findings *findings)
{
	const char *label = contents->label ? contents->label : "";

	findings_set_subject(findings, path);
	if (!device_contents_are_supported(contents)) {
		report_other(contents, findings);
		return;
	}

	findings_add(findings, FINDING_OK, "device", NULL, "%s %s%s%s",
		     is_btrfs(contents) ? "btrfs" : "XFS",
		     contents->uuid ? contents->uuid : "without a UUID", *label ? ", label " : "",
		     label);
	findings_add(findings, FINDING_NOTE, "mount",
		     "mount it: dedupd works on mounted filesystems", "not mounted here");
	look_at_size(contents, findings);
	look_at_blocks(contents, findings);
	if (is_btrfs(contents))
		look_at_members(contents, with_uuid, findings);
	else
		look_at_reflink(contents, findings);
	look_at_copies(contents, with_uuid, mounted, findings);
	look_at_alignment(contents, findings);
}
