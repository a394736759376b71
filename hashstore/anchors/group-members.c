/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/anchors/group-members.h"

#include "hashstore/anchors/anchor-sort.h"

void group_members_clear(GroupMembers *group)
{
	group->n_members = 0;
	group->settled_cut = false;
	group->has_unsettled = false;
	group->is_unsorted = false;
	group->n_capped = 0;
}

static bool is_settled(const GroupMembers *group, const Anchor *member)
{
	return member->object < group->settled_below;
}

static void append(GroupMembers *group, const Anchor *member)
{
	if (group->n_members == group->size) {
		group->size = MAX(group->size * 2, 64);
		group->members = g_renew(Anchor, group->members, group->size);
	}
	group->is_unsorted |= group->n_members > 0 &&
			      anchor_compare(member, &group->members[group->n_members - 1]) < 0;
	group->members[group->n_members++] = *member;
}

/* Keep only the first of the settled members, which come before all others. */
static void cut_settled(GroupMembers *group)
{
	size_t n_settled = 0, first = 0, n = 0;

	while (n_settled < group->n_members && is_settled(group, &group->members[n_settled])) {
		if (anchor_compare(&group->members[n_settled], &group->members[first]) < 0)
			first = n_settled;
		n_settled++;
	}
	group->settled_cut = true;
	if (n_settled == 0)
		return;

	group->members[n++] = group->members[first];
	for (size_t i = n_settled; i < group->n_members; i++)
		group->members[n++] = group->members[i];
	group->n_members = n;
}

void group_members_add(GroupMembers *group, const Anchor *member)
{
	bool settled = is_settled(group, member);

	if (group->n_members == GROUP_MEMBERS_MAX && !group->settled_cut)
		cut_settled(group);

	if (group->settled_cut && settled) {
		if (anchor_compare(member, &group->members[0]) < 0)
			group->members[0] = *member;
		return;
	}

	group->has_unsettled |= !settled;
	if (group->n_members == GROUP_MEMBERS_MAX)
		group->n_capped++;
	else
		append(group, member);
}

bool group_members_add_zeros(GroupMembers *group, const Anchor *member)
{
	if (is_settled(group, member))
		return true;
	if (group->n_members == GROUP_MEMBERS_MAX)
		return false;

	group->has_unsettled = true;
	append(group, member);

	return true;
}

void group_members_sort(GroupMembers *group)
{
	if (group->is_unsorted)
		anchor_sort(group->members, group->n_members);
}

bool group_members_matter(const GroupMembers *group)
{
	if (!group->has_unsettled)
		return false;

	return group->n_members >= 2 || group->members[0].digest == ANCHOR_ZEROS_DIGEST;
}
