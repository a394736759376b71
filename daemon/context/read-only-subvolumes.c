/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/context/read-only-subvolumes.h"

#include "kernel-ioctl/btrfs/btrfs-subvolumes.h"

struct ReadOnlySubvolumes {
	SnapshotPolicy policy;
	GHashTable *known; /* id, and whether it is read-only */
	int fd;            /* of the filesystem of which all were looked at; -1: of none */
};

ReadOnlySubvolumes *read_only_subvolumes_new(SnapshotPolicy policy)
{
	ReadOnlySubvolumes *subvolumes = g_new0(ReadOnlySubvolumes, 1);

	subvolumes->policy = policy;
	subvolumes->known = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	subvolumes->fd = -1;
	return subvolumes;
}

void read_only_subvolumes_free(ReadOnlySubvolumes *subvolumes)
{
	if (!subvolumes)
		return;

	g_hash_table_unref(subvolumes->known);
	g_free(subvolumes);
}

static void note(ReadOnlySubvolumes *subvolumes, uint64_t id, bool is_read_only)
{
	g_hash_table_insert(subvolumes->known, g_memdup2(&id, sizeof(id)),
			    GINT_TO_POINTER(is_read_only));
}

bool read_only_subvolumes_read(ReadOnlySubvolumes *subvolumes, int fd, GError **error)
{
	g_autoptr(GArray) all = NULL;

	if (subvolumes->policy == SNAPSHOTS_SHARE)
		return true;
	if (!btrfs_subvolumes_read(fd, &all, error))
		return false;

	for (guint i = 0; i < all->len; i++) {
		const BtrfsSubvolume *one = &g_array_index(all, BtrfsSubvolume, i);

		if (!g_hash_table_contains(subvolumes->known, &one->id))
			note(subvolumes, one->id, one->is_read_only);
	}
	subvolumes->fd = fd;
	return true;
}

bool read_only_subvolumes_meet(ReadOnlySubvolumes *subvolumes, uint64_t id, int fd, GError **error)
{
	bool is_read_only;

	/* Whether read-only subvolumes are targets is decided when all are known. */
	if (subvolumes->policy == SNAPSHOTS_SHARE || subvolumes->policy == SNAPSHOTS_AUTO)
		return true;
	if (!btrfs_subvolume_is_read_only(fd, &is_read_only, error))
		return false;

	note(subvolumes, id, is_read_only);
	return true;
}

static bool is_read_only(ReadOnlySubvolumes *subvolumes, uint64_t id)
{
	gpointer known = NULL;

	if (g_hash_table_lookup_extended(subvolumes->known, &id, NULL, &known))
		return GPOINTER_TO_INT(known);
	if (subvolumes->fd < 0)
		return false;

	/* The subvolume was made after the others were looked at. */
	if (!read_only_subvolumes_read(subvolumes, subvolumes->fd, NULL) ||
	    !g_hash_table_lookup_extended(subvolumes->known, &id, NULL, &known)) {
		note(subvolumes, id, true);
		return true;
	}
	return GPOINTER_TO_INT(known);
}

bool read_only_subvolumes_has(ReadOnlySubvolumes *subvolumes, uint64_t id)
{
	return subvolumes->policy != SNAPSHOTS_SHARE && is_read_only(subvolumes, id);
}

bool read_only_subvolumes_may_be_target(ReadOnlySubvolumes *subvolumes, uint64_t id)
{
	return subvolumes->policy == SNAPSHOTS_AUTO || !read_only_subvolumes_has(subvolumes, id);
}

bool read_only_subvolumes_may_be_source(ReadOnlySubvolumes *subvolumes, uint64_t id)
{
	return subvolumes->policy != SNAPSHOTS_SKIP || !is_read_only(subvolumes, id);
}
