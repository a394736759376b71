/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/context/object-skips.h"

#include "hashstore/objects/objects.h"

char *object_skips_path(Pass *pass, FileOpener *opener, const NamedFile *file)
{
	const ExtentRef place = { .root = file->id.subvolume, .inode = file->id.inode };

	return pass->btrfs.scope
		       ? extent_scope_path(pass->btrfs.scope, &place)
		       : file_opener_path(opener, file->id.subvolume, file->parent, file->name);
}

bool object_skips_add(Pass *pass, FileOpener *opener, uint32_t object, SkipReason reason,
		      uint64_t bytes, GError **error)
{
	SkipLedger *skips = &pass->result->skips;
	g_autofree char *name = NULL;
	g_autofree char *path = NULL;
	const Object *found;
	NamedFile file;

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
	file = (NamedFile){ { found->subvolume, found->inode, 0 }, found->parent, name };
	path = object_skips_path(pass, opener, &file);
	skip_ledger_add(skips, reason, bytes, path);
	return true;
}
