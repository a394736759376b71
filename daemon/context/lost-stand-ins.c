/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/context/lost-stand-ins.h"

#include "daemon/context/compare-uint64.h"

#define INODES_MAX (UINT32_C(1) << 18)

struct LostStandIns {
	GArray *inodes; /* uint64_t; ended: sorted */
	bool are_all;
};

LostStandIns *lost_stand_ins_new(void)
{
	LostStandIns *lost = g_new0(LostStandIns, 1);

	lost->inodes = g_array_new(false, false, sizeof(uint64_t));
	return lost;
}

void lost_stand_ins_free(LostStandIns *lost)
{
	if (!lost)
		return;

	g_array_unref(lost->inodes);
	g_free(lost);
}

/*
 * Only an object with clones can be a stand-in.  One that relied on others is added so that
 * lost_stand_ins_concern() leaves it out.
 */
void lost_stand_ins_add(LostStandIns *lost, const Object *object)
{
	if (!(object->flags & OBJECT_CLONED) && object->stand == 0)
		return;

	if (lost->inodes->len < INODES_MAX)
		g_array_append_val(lost->inodes, object->inode);
	else
		lost->are_all = true;
}

void lost_stand_ins_add_all(LostStandIns *lost)
{
	lost->are_all = true;
}

static int compare_inodes(const void *a, const void *b)
{
	return compare_uint64(*(const uint64_t *)a, *(const uint64_t *)b);
}

bool lost_stand_ins_end(LostStandIns *lost)
{
	g_array_sort(lost->inodes, compare_inodes);
	return lost->are_all || lost->inodes->len > 0;
}

static bool is_lost(const LostStandIns *lost, uint64_t inode)
{
	return g_array_binary_search(lost->inodes, &inode, compare_inodes, NULL);
}

bool lost_stand_ins_concern(const LostStandIns *lost, const Object *object)
{
	bool was_read = object->state == OBJECT_DONE || object->state == OBJECT_HALF;

	if (!was_read || object->stand == 0 || is_lost(lost, object->inode))
		return false;

	return lost->are_all || object->stand == OBJECT_STAND_SEVERAL ||
	       is_lost(lost, object->stand);
}
