/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/doctor/doctor.h"
#include "kernel-ioctl/call/sysfs-attribute.h"
#include "kernel-ioctl/machine/disk-topology.h"
#include "kernel-ioctl/machine/disk.h"

#include <string.h>

/* The one in brackets of "mq-deadline [none]", or the whole line; NULL: it has none. */
static char *scheduler_in_force(const char *line)
{
	const char *begin = strchr(line, '[');
	const char *end = begin ? strchr(begin, ']') : NULL;

	return end ? g_strndup(begin + 1, (size_t)(end - begin - 1)) : g_strdup(line);
}

static void look_at_scheduler(const Disk *disk, const char *directory, Findings *findings)
{
	g_autofree char *line = sysfs_attribute(directory, "queue/scheduler");
	g_autofree char *name = scheduler_in_force(line ? line : "none");

	if (strcmp(name, "mq-deadline") == 0 || strcmp(name, "bfq") == 0)
		findings_add(findings, FINDING_OK, "scheduler", NULL,
			     "%s: %s heeds the idle class that dedupd reads in", disk->name, name);
	else
		findings_add(findings, FINDING_NOTE, "scheduler",
			     "limit the rate (LimitRate= of the disk), have --pressure=on, or set "
			     "mq-deadline or bfq",
			     "%s: %s does not heed the idle class that dedupd reads in", disk->name,
			     name);
}

static void look_at_rotation(const Disk *disk, Findings *findings)
{
	if (disk->is_virtual)
		findings_add(findings, FINDING_NOTE, "rotation",
			     "if its host keeps it on platters, set Rotating=yes for the disk",
			     "%s: virtual; dedupd assumes that it does not rotate", disk->name);
	else if (disk->is_rotating && disk->is_removable)
		findings_add(findings, FINDING_NOTE, "rotation",
			     "if it has no platters, set Rotating=no for the disk",
			     "%s: the kernel reports that all disks on USB rotate", disk->name);
	else
		findings_add(findings, FINDING_OK, "rotation", NULL, "%s: %s", disk->name,
			     disk->is_rotating ? "rotating" : "not rotating");
}

static void look_at_disk(const DoctorView *view, const Disk *disk, Findings *findings)
{
	g_autofree char *directory =
		g_strdup_printf("%s/dev/block/%u:%u", view->sysfs, disk->major, disk->minor);

	look_at_scheduler(disk, directory, findings);
	look_at_rotation(disk, findings);
}

void doctor_look_at_disks(const DoctorView *view, int directory_fd, Findings *findings)
{
	g_autofree char *mountinfo = g_build_filename(view->proc, "self", "mountinfo", NULL);
	const DiskTopology topology = {
		.sysfs = view->sysfs,
		.dev = view->dev,
		.mountinfo = mountinfo,
		.locate = fs_location_of_path,
	};
	g_autoptr(GError) failed = NULL;
	FsLocation location;

	if (!fs_location_read(directory_fd, &location, &failed)) {
		findings_add(findings, FINDING_NOTE, "disks", NULL, "%s", failed->message);
		return;
	}

	g_autoptr(GPtrArray) disks = disk_topology_find(&topology, &location);
	if (disks->len == 0)
		findings_add(findings, FINDING_NOTE, "disks",
			     "nothing: budgets of disks have no effect here",
			     "sysfs shows no disk below it");
	for (size_t i = 0; i < disks->len; i++)
		look_at_disk(view, disks->pdata[i], findings);
}
