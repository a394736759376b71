/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/anchors/anchor.h"
#include "hashstore/anchors/groups.h"

/*
 * GroupMembers - the members of one group while it is collected, cut to GROUP_MEMBERS_MAX.
 *
 * Thread: the filesystem's worker.
 */
typedef struct {
	/* Set at creation, never changed. */
	uint32_t settled_below;

	Anchor *members;
	size_t n_members;
	size_t size;
	bool settled_cut; /* only the first settled member is kept, as members[0] */
	bool has_unsettled;
	bool is_unsorted; /* members were added out of order */
	uint64_t n_capped;
} GroupMembers;

void group_members_clear(GroupMembers *group);

/* Add a member of any digest but ANCHOR_ZEROS_DIGEST.  Settled members come before others. */
void group_members_add(GroupMembers *group, const Anchor *member);

/* Add a start of zeros, unless it is settled.  False if there is no room. */
bool group_members_add_zeros(GroupMembers *group, const Anchor *member);

/* Sort members that were added out of order. */
void group_members_sort(GroupMembers *group);

/* The group has an unsettled member, and at least two members or zeros. */
bool group_members_matter(const GroupMembers *group);
