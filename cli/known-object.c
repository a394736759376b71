/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/known-object.h"

#include "daemon/stamp.h"
#include "hashstore/names.h"

#include <string.h>

HashStore *known_store_open(const char *directory, const FsIdentity *identity, GError **error)
{
	char uuid[FS_UUID_TEXT_BYTES];

	fs_uuid_format(identity->uuid, uuid);
	g_autofree char *name = g_strconcat(uuid, ".sqlite", NULL);
	g_autofree char *path = g_build_filename(directory, name, NULL);

	return hash_store_open_to_read(path, error);
}

char *known_object_path(HashStore *store, const Object *object)
{
	g_autofree char *name = g_strndup((const char *)object->name, object->name_bytes);
	g_autofree char *parent = NULL;

	if (name[0] == '\0')
		return NULL;
	parent = hash_store_directory_path(store, object->subvolume, object->parent);
	if (parent[0] != '/')
		return NULL;

	return g_strconcat(parent, g_str_has_suffix(parent, "/") ? "" : "/", name, NULL);
}

bool known_object_is(const Object *object, const NamedFile *file)
{
	const Stamp stored = { object->size_bytes, object->btime_nsec, object->mtime_nsec,
			       object->ctime_nsec };
	const Stamp seen = { file->stat.size_bytes, file->stat.btime_nsec, file->stat.mtime_nsec,
			     file->stat.ctime_nsec };

	return object->inode == file->stat.inode && object->subvolume == file->subvolume &&
	       !(object->flags & OBJECT_RACY) && stamp_compare(&stored, &seen) == STAMP_SAME;
}

static NamedFile *open_version(HashStore *store, const Object *object, const char *path)
{
	g_autoptr(GError) unread = NULL;
	g_autoptr(NamedFile) file = named_file_open(path, &unread);
	char uuid[FS_UUID_TEXT_BYTES];

	if (!file)
		return NULL;
	fs_uuid_format(file->identity.uuid, uuid);
	if (strcmp(uuid, hash_store_about(store)->uuid) != 0 || !known_object_is(object, file))
		return NULL;

	return g_steal_pointer(&file);
}

bool known_object_open(HashStore *store, uint32_t id, NamedFile **ret, char **ret_path,
		       bool *ret_is_known, GError **error)
{
	g_autofree uint8_t *name = NULL;
	g_autofree char *path = NULL;
	const Object *found;
	Object object;

	*ret = NULL;
	if (!hash_store_find(store, id, &found, error))
		return false;
	if (ret_is_known)
		*ret_is_known = found;
	if (found) {
		object = *found;
		name = g_memdup2(found->name, found->name_bytes);
		object.name = name;
		path = known_object_path(store, &object);
		*ret = path ? open_version(store, &object, path) : NULL;
	}

	if (ret_path)
		*ret_path = g_steal_pointer(&path);
	return true;
}
