/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/anchors/anchor.h"
#include "hashstore/anchors/groups.h"

/*
 * GroupMembers - the members of one group while they are put together, cut to GROUP_MEMBERS_MAX.
 *
 * Thread: the filesystem's worker.
 */
typedef struct {
	/* Set at creation, never changed. */
	uint32_t settled_below;

	Anchor *members;
	size_t n_members;
	size_t size;
	bool settled_cut; /* of the settled ones only the first is kept, as members[0] */
	bool has_unsettled;
	uint64_t n_capped;
} GroupMembers;

void group_members_clear(GroupMembers *group);

/* All members of one digest but ANCHOR_ZEROS_DIGEST; settled ones must not come after others. */
void group_members_add(GroupMembers *group, const Anchor *member);

/* Only unsettled members are kept.  False if there is no room. */
bool group_members_add_zeros(GroupMembers *group, const Anchor *member);

/* Put the members in order when they were added from several sources. */
void group_members_sort(GroupMembers *group);

/* The group is worth to be delivered. */
bool group_members_matter(const GroupMembers *group);
