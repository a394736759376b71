/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/refs/ref-groups.h"

#include "daemon/context/compare-uint64.h"

const GroupedRef *ref_groups_at(const GArray *groups, guint i)
{
	return &g_array_index(groups, GroupedRef, i);
}

static int compare(const void *a, const void *b)
{
	const GroupedRef *one = a, *other = b;
	int order = compare_uint64(one->ref.inode, other->ref.inode);

	if (order == 0)
		order = compare_uint64(one->ref.offset, other->ref.offset);
	if (order == 0)
		order = (int)one->is_read_only - (int)other->is_read_only;
	return order == 0 ? compare_uint64(one->ref.root, other->ref.root) : order;
}

void ref_groups_fill(GArray *groups, const ExtentRefs *refs, ReadOnlySubvolumes *subvolumes)
{
	const BtrfsRef *found;
	size_t n;

	g_array_set_size(groups, 0);
	found = extent_refs_found(refs, &n);
	for (size_t i = 0; i < n; i++) {
		GroupedRef ref = { found[i], read_only_subvolumes_has(subvolumes, found[i].root) };

		g_array_append_val(groups, ref);
	}
	g_array_sort(groups, compare);
}

guint ref_groups_end(const GArray *groups, guint begin)
{
	const BtrfsRef *first = &ref_groups_at(groups, begin)->ref;
	guint end = begin + 1;

	while (end < groups->len && ref_groups_at(groups, end)->ref.inode == first->inode &&
	       ref_groups_at(groups, end)->ref.offset == first->offset)
		end++;
	return end;
}
