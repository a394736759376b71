/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/share/resume-point.h"

#include <inttypes.h>
#include <stdio.h>

/* Address and transaction of the extent; empty: none. */
#define BEGUN_NOTE "begun-extent"

bool resume_point_note(Pass *pass, const Object *extent, GError **error)
{
	g_autofree char *text = g_strdup_printf("%" PRIu64 " %" PRIu64, extent->inode,
						object_extent_generation(extent));

	return hash_store_set_note(pass->store, BEGUN_NOTE, text, error);
}

bool resume_point_take(Pass *pass, uint32_t *ret_id, GError **error)
{
	g_autofree char *text = NULL;
	uint64_t address, generation;
	const Object *found = NULL;

	*ret_id = 0;
	if (!hash_store_get_note(pass->store, BEGUN_NOTE, &text, error))
		return false;
	if (!text || sscanf(text, "%" SCNu64 " %" SCNu64, &address, &generation) != 2)
		return true;
	if (!hash_store_find_at(pass->store, OBJECT_EXTENTS, address, &found, error))
		return false;

	if (found && object_extent_generation(found) == generation)
		*ret_id = found->id;
	return pass->settings->dry_run || hash_store_set_note(pass->store, BEGUN_NOTE, "", error);
}
