/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/full-groups.h"

#include "kernel-ioctl/xfs-geometry.h"

struct FullGroups {
	uint64_t group_bytes; /* 0: there are none */
	GHashTable *numbers;  /* of full ones */
};

FullGroups *full_groups_new(const Filesystem *filesystem)
{
	FullGroups *groups = g_new0(FullGroups, 1);
	g_autoptr(GError) unread = NULL;
	XfsGeometry geometry;

	groups->numbers = g_hash_table_new(NULL, NULL);
	if (filesystem->identity.kind == FS_KIND_XFS &&
	    xfs_geometry_read(filesystem->fd, &geometry, &unread))
		groups->group_bytes = (uint64_t)geometry.group_blocks * geometry.block_bytes;
	return groups;
}

void full_groups_free(FullGroups *groups)
{
	if (!groups)
		return;

	g_hash_table_unref(groups->numbers);
	g_free(groups);
}

static void *number_of(const FullGroups *groups, uint64_t physical)
{
	return GUINT_TO_POINTER((guint)(physical / groups->group_bytes));
}

bool full_groups_add(FullGroups *groups, Round *round, size_t first, size_t end)
{
	g_autoptr(GError) unmapped = NULL;

	if (groups->group_bytes == 0 || !round->source || !round_map_again(round, &unmapped))
		return false;

	while (first < end && round_is_shared(round, first))
		first++;
	if (first == end)
		return false;

	g_hash_table_add(groups->numbers, number_of(groups, round->source_places[first]));
	return true;
}

static bool is_left(const FullGroups *groups, const Round *round, size_t i)
{
	return (round->states[i] == BLOCK_CANDIDATE || round->states[i] == BLOCK_EQUAL) &&
	       !round_is_shared(round, i) &&
	       g_hash_table_contains(groups->numbers, number_of(groups, round->source_places[i]));
}

uint64_t full_groups_leave(const FullGroups *groups, Round *round)
{
	uint64_t bytes = 0;

	if (g_hash_table_size(groups->numbers) == 0 || !round->source)
		return 0;

	for (size_t i = 0; i < round->n; i++) {
		if (!is_left(groups, round, i))
			continue;
		round->states[i] = BLOCK_UNUSABLE;
		bytes += round->block_bytes;
	}
	return bytes;
}
