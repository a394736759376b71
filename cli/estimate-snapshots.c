/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/estimate-snapshots.h"

#include "kernel-ioctl/btrfs-subvolumes.h"

#include <string.h>

struct EstimateSnapshots {
	GArray *subvolumes; /* BtrfsSubvolume */
	bool *is_met;       /* by place in these */
	GHashTable *
		unmet; /* GArray of uint64_t by the subvolume's id: when each was made, ascending */
};

EstimateSnapshots *estimate_snapshots_new(int fd, GError **error)
{
	g_autoptr(GArray) subvolumes = NULL;
	EstimateSnapshots *snapshots;

	if (!btrfs_subvolumes_read(fd, &subvolumes, error))
		return NULL;

	snapshots = g_new0(EstimateSnapshots, 1);
	snapshots->is_met = g_new0(bool, subvolumes->len);
	snapshots->subvolumes = g_steal_pointer(&subvolumes);
	snapshots->unmet = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free,
						 (GDestroyNotify)g_array_unref);
	return snapshots;
}

void estimate_snapshots_free(EstimateSnapshots *snapshots)
{
	if (!snapshots)
		return;

	g_hash_table_unref(snapshots->unmet);
	g_array_unref(snapshots->subvolumes);
	g_free(snapshots->is_met);
	g_free(snapshots);
}

static const BtrfsSubvolume *subvolume_at(const EstimateSnapshots *snapshots, guint i)
{
	return &g_array_index(snapshots->subvolumes, BtrfsSubvolume, i);
}

void estimate_snapshots_meet(EstimateSnapshots *snapshots, uint64_t subvolume)
{
	const BtrfsSubvolume *found = btrfs_subvolumes_find(snapshots->subvolumes, subvolume);

	if (found)
		snapshots->is_met[found - subvolume_at(snapshots, 0)] = true;
}

bool estimate_snapshots_is_read_only(const EstimateSnapshots *snapshots, uint64_t subvolume)
{
	const BtrfsSubvolume *found = btrfs_subvolumes_find(snapshots->subvolumes, subvolume);

	return found && found->is_read_only;
}

static int compare_transactions(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return (one > other) - (one < other);
}

/* When the read-only snapshots of the subvolume were made that were not met. */
static GArray *list_unmet(const EstimateSnapshots *snapshots, const BtrfsSubvolume *origin)
{
	static const uint8_t unknown[FS_UUID_BYTES];
	GArray *made = g_array_new(false, false, sizeof(uint64_t));

	if (!origin || memcmp(origin->uuid, unknown, FS_UUID_BYTES) == 0)
		return made;
	for (guint i = 0; i < snapshots->subvolumes->len; i++) {
		const BtrfsSubvolume *one = subvolume_at(snapshots, i);

		if (one->is_read_only && !one->is_dead && !snapshots->is_met[i] &&
		    memcmp(one->parent_uuid, origin->uuid, FS_UUID_BYTES) == 0)
			g_array_append_val(made, one->otransid);
	}

	g_array_sort(made, compare_transactions);
	return made;
}

uint64_t estimate_snapshots_count_unmet(EstimateSnapshots *snapshots, uint64_t subvolume,
					uint64_t generation)
{
	GArray *made = g_hash_table_lookup(snapshots->unmet, &subvolume);
	guint low = 0, high;

	if (!made) {
		made = list_unmet(snapshots,
				  btrfs_subvolumes_find(snapshots->subvolumes, subvolume));
		g_hash_table_insert(snapshots->unmet, g_memdup2(&subvolume, sizeof(subvolume)),
				    made);
	}

	high = made->len;
	while (low < high) {
		guint middle = low + (high - low) / 2;

		if (g_array_index(made, uint64_t, middle) < generation)
			low = middle + 1;
		else
			high = middle;
	}
	return made->len - low;
}
