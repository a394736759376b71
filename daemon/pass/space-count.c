/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/pass/space-count.h"

static bool is_btrfs(const Pass *pass)
{
	return pass->filesystem->identity.kind == FS_KIND_BTRFS;
}

static bool read_used(const Pass *pass, uint64_t *ret, GError **error)
{
	return fs_used_bytes(pass->filesystem->fd, pass->filesystem->identity.kind, ret, error);
}

bool space_count_begin(Pass *pass, SpaceCount *ret, GError **error)
{
	uint64_t used;

	if (!read_used(pass, &used, error) ||
	    (is_btrfs(pass) && !btrfs_space_read(pass->filesystem->fd, &ret->before, error)))
		return false;

	pass->result->freed.used_before_bytes = used;
	pass->result->freed.used_after_bytes = used;
	return true;
}

bool space_count_end(Pass *pass, const SpaceCount *count, GError **error)
{
	PassResult *result = pass->result;
	BtrfsSpace after;

	if (!read_used(pass, &result->freed.used_after_bytes, error))
		return false;
	if (result->shared.runs == 0 || pass->settings->dry_run)
		return true;

	/* A block that a file does not use any more may still be in use, as part of an extent or as metadata. */
	result->freed.kept_bytes =
		(int64_t)(result->freed.bytes -
			  (result->freed.used_before_bytes - result->freed.used_after_bytes));
	if (!is_btrfs(pass))
		return true;
	if (!btrfs_space_read(pass->filesystem->fd, &after, error))
		return false;
	result->freed.kept_bytes += btrfs_space_metadata_growth(&count->before, &after);
	return true;
}
