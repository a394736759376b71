/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/object-skips.h"

#include "hashstore/objects.h"

bool object_skips_add(Pass *pass, FileOpener *opener, uint32_t object, SkipReason reason,
		      uint64_t bytes, GError **error)
{
	SkipLedger *skips = &pass->result->skips;
	g_autofree char *name = NULL;
	g_autofree char *path = NULL;
	const Object *found;

	if (bytes != UINT64_MAX && !skip_ledger_wants_example(skips, reason)) {
		skip_ledger_add(skips, reason, bytes, NULL);
		return true;
	}

	if (!hash_store_find(pass->store, object, &found, error))
		return false;
	if (!found)
		return true;

	name = g_strndup((const char *)found->name, found->name_bytes);
	bytes = MIN(bytes, found->size_bytes);
	path = file_opener_path(opener, found->subvolume, found->parent, name);
	skip_ledger_add(skips, reason, bytes, path);
	return true;
}
