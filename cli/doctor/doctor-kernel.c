/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/doctor/doctor.h"
#include "common/mounts/filesystem-lock.h"
#include "common/mounts/known-kernels.h"
#include "kernel-ioctl/btrfs/btrfs-refs.h"
#include "kernel-ioctl/btrfs/btrfs-tree.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/dedupe-probe.h"
#include "kernel-ioctl/file/open-file.h"
#include "kernel-ioctl/file/page-cache.h"
#include "kernel-ioctl/xfs/xfs-bulkstat.h"
#include "kernel-ioctl/xfs/xfs-geometry.h"

#include <errno.h>

static FindingLevel level_of(const KernelBug *bug, bool is_refused)
{
	if (is_refused)
		return FINDING_ERROR;
	return bug->level == KERNEL_BUG_NOTE ? FINDING_NOTE : FINDING_WARNING;
}

void doctor_look_at_kernel(const struct utsname *system, FsKind kind, Findings *findings)
{
	KernelRelease kernel = kernel_release(system->release, system->version);
	const KernelBug *bug = kernel_bug_next(&kernel, kind, NULL);

	if (kernel.branch == 0) {
		findings_add(findings, FINDING_NOTE, "kernel", NULL,
			     "'%s' is no number that could be looked up", system->release);
		return;
	}
	if (!bug)
		findings_add(findings, FINDING_OK, "kernel", NULL,
			     "Linux %s: nothing bad is known of it for %s", system->release,
			     fs_kind_name(kind));
	for (; bug; bug = kernel_bug_next(&kernel, kind, bug)) {
		bool is_refused = kernel_bug_is_refused(bug, &kernel);

		findings_add(findings, level_of(bug, is_refused), "kernel", bug->advice,
			     "Linux %s%s: %s", system->release,
			     is_refused ? "" : ", unless it was repaired", bug->what);
	}
}

static void report_probe(DedupeProbe probe, int error, Findings *findings)
{
	static const char check[] = "sharing";

	switch (probe) {
	case DEDUPE_PROBE_SHARED:
		findings_add(findings, FINDING_OK, check, NULL,
			     "the kernel shared two unnamed files of 64 KiB");
		break;
	case DEDUPE_PROBE_NOT_SHARED:
		findings_add(findings, FINDING_ERROR, check,
			     "report this to the distribution: the kernel's answer is wrong",
			     "the kernel says that it shared two unnamed files of 64 KiB, but they "
			     "have different blocks");
		break;
	case DEDUPE_PROBE_REFUSED:
		findings_add(findings, FINDING_ERROR, check,
			     "nothing can be shared here, or not by this user",
			     "the kernel does not share two unnamed files: %s", g_strerror(error));
		break;
	case DEDUPE_PROBE_NOT_TRIED:
		findings_add(findings, FINDING_NOTE, check,
			     "run it as a user that may write to the directory, and leave free "
			     "space there",
			     "not tried: dedupctl cannot make an unnamed file: %s",
			     g_strerror(error));
		break;
	}
}

static void try_sharing(int directory_fd, const char *uuid, bool is_read_only, Findings *findings)
{
	g_autoptr(GError) failed = NULL;
	g_auto(Fd) lock = -1;
	DedupeProbe probe;
	int error = 0;

	if (is_read_only) {
		findings_add(findings, FINDING_NOTE, "sharing", NULL,
			     "not tried: the mount is read-only");
		return;
	}

	/* Nobody may resolve references meanwhile; and a pass that runs shall not be in doubt. */
	if (!filesystem_lock(uuid, &lock, &failed) &&
	    g_error_matches(failed, FILESYSTEM_LOCK_ERROR, FILESYSTEM_LOCK_ERROR_IN_USE)) {
		findings_add(findings, FINDING_NOTE, "sharing", NULL,
			     "not tried: a pass runs here");
		return;
	}
	if (failed) {
		findings_add(findings, FINDING_NOTE, "sharing", NULL, "not tried: %s",
			     failed->message);
		return;
	}

	probe = dedupe_probe(directory_fd, &error);
	report_probe(probe, error, findings);
}

static void try_handles(int directory_fd, FsKind kind, Findings *findings)
{
	if (open_file_by_id_works(directory_fd, kind))
		findings_add(findings, FINDING_OK, "handles", NULL,
			     "files can be opened by number");
	else
		findings_add(findings, FINDING_NOTE, "handles",
			     "run it as root, outside of containers",
			     "files cannot be opened by number: names are needed");
}

static void try_page_cache(int directory_fd, Findings *findings)
{
	int cause = page_cache_try_cachestat(directory_fd);

	if (cause == 0)
		findings_add(findings, FINDING_OK, "page cache", NULL, "cachestat(2) works");
	else if (cause != ENOSYS)
		findings_add(findings, FINDING_NOTE, "page cache",
			     "run it as root: otherwise dedupd cannot tell which data others had "
			     "in memory",
			     "cachestat(2) is not permitted on all files: %s", g_strerror(cause));
	else
		findings_add(findings, FINDING_NOTE, "page cache", NULL,
			     "the kernel has no cachestat(2) (since Linux 6.5): dedupd uses "
			     "mincore(2), which is slower");
}

static bool search_works(int directory_fd, GError **error)
{
	const BtrfsTreeRange range = {
		.tree = BTRFS_ROOT_TREE_OBJECTID,
		.first = { .objectid = BTRFS_CSUM_TREE_OBJECTID },
		.last = { BTRFS_CSUM_TREE_OBJECTID, UINT8_MAX, UINT64_MAX },
	};
	g_autoptr(BtrfsTree) tree = btrfs_tree_new(BTRFS_TREE_BUFFER_BYTES_MIN);
	const BtrfsTreeItem *item;

	btrfs_tree_start(tree, directory_fd, &range);
	return btrfs_tree_next(tree, &item, error);
}

static void try_btrfs(int directory_fd, Findings *findings)
{
	static const char advice[] =
		"run it as root: otherwise passes read all data to find duplicates";
	g_autoptr(BtrfsRefs) refs = btrfs_refs_new();
	g_autoptr(GError) no_search = NULL;
	g_autoptr(GError) no_refs = NULL;
	BtrfsRefsOutcome outcome;

	if (search_works(directory_fd, &no_search))
		findings_add(findings, FINDING_OK, "trees", NULL,
			     "checksums can be read: passes find equal data without reading it");
	else
		findings_add(findings, FINDING_WARNING, "trees", advice, "%s", no_search->message);

	/* Nothing lies at this address, so no extent is looked at: a pass that runs is not in the way. */
	if (btrfs_refs_read(refs, directory_fd, 0, &outcome, &no_refs))
		findings_add(findings, FINDING_OK, "references", NULL,
			     "the kernel tells which files refer to an extent");
	else
		findings_add(findings, FINDING_WARNING, "references", advice, "%s",
			     no_refs->message);
}

static void try_xfs(int directory_fd, Findings *findings)
{
	int cause = xfs_bulkstat_try(directory_fd);
	g_autoptr(GError) failed = NULL;
	XfsGeometry geometry;

	if (cause == 0)
		findings_add(findings, FINDING_OK, "inodes", NULL, "they can be listed in bulk");
	else
		findings_add(findings, FINDING_NOTE, "inodes",
			     "run it as root: otherwise each pass walks all directories",
			     "they cannot be listed in bulk: %s", g_strerror(cause));

	if (!xfs_geometry_read(directory_fd, &geometry, &failed))
		findings_add(findings, FINDING_ERROR, "geometry", NULL, "%s", failed->message);
	else if (geometry.has_realtime)
		findings_add(findings, FINDING_NOTE, "geometry", NULL,
			     "passes skip files of the real-time section");
}

void doctor_try_kernel(int directory_fd, FsKind kind, const char *uuid, bool is_read_only,
		       Findings *findings)
{
	try_sharing(directory_fd, uuid, is_read_only, findings);
	try_handles(directory_fd, kind, findings);
	try_page_cache(directory_fd, findings);
	if (kind == FS_KIND_BTRFS)
		try_btrfs(directory_fd, findings);
	else
		try_xfs(directory_fd, findings);
}
