/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/files/stored-object.h"

#include "common/files/stamp.h"
#include "hashstore/hash-store.h"
#include "hashstore/objects/names.h"

#include <string.h>

HashStore *known_store_open(const char *directory, const FsIdentity *identity, GError **error)
{
	char uuid[FS_UUID_TEXT_BYTES];

	fs_uuid_format(identity->uuid, uuid);
	return hash_store_open_of(directory, uuid, error);
}

char *stored_object_path(HashStore *store, const Object *object)
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

static bool has_stamp(const Object *object, const NamedFile *file)
{
	const Stamp stored = { object->size_bytes, object->btime_nsec, object->mtime_nsec,
			       object->ctime_nsec };
	const Stamp seen = { file->stat.size_bytes, file->stat.btime_nsec, file->stat.mtime_nsec,
			     file->stat.ctime_nsec };

	return object->inode == file->stat.inode && object->subvolume == file->subvolume &&
	       stamp_compare(&stored, &seen) == STAMP_SAME;
}

bool stored_object_is(const Object *object, const NamedFile *file)
{
	return has_stamp(object, file) && !(object->flags & OBJECT_RACY);
}

bool stored_object_is_fresh(const Object *object, const NamedFile *file)
{
	return has_stamp(object, file) && object->flags & OBJECT_RACY;
}

static NamedFile *open_by_name(HashStore *store, const char *path)
{
	g_autoptr(GError) unread = NULL;
	g_autoptr(NamedFile) file = named_file_open(path, NULL, &unread);
	char uuid[FS_UUID_TEXT_BYTES];

	if (!file)
		return NULL;
	fs_uuid_format(file->identity.uuid, uuid);
	return strcmp(uuid, hash_store_about(store)->uuid) == 0 ? g_steal_pointer(&file) : NULL;
}

/* The file as it is now, or NULL; and its path. */
static NamedFile *open_file(HashStore *store, const Object *object, const KnownWays *ways,
			    char **ret_path)
{
	const FileId id = { object->subvolume, object->inode, object->generation };

	*ret_path = ways ? btrfs_paths_find(ways->paths, id.subvolume, id.inode)
			 : stored_object_path(store, object);
	if (!*ret_path)
		return NULL;
	return ways ? named_file_open_by_id_take(ways->fd, ways->identity, &id, g_strdup(*ret_path))
		    : open_by_name(store, *ret_path);
}

static KnownVersion version_of(const Object *object, const NamedFile *file)
{
	if (file && stored_object_is(object, file))
		return KNOWN_SAME;
	return file && stored_object_is_fresh(object, file) ? KNOWN_FRESH : KNOWN_STALE;
}

bool stored_object_open(HashStore *store, uint32_t id, const KnownWays *ways, NamedFile **ret,
			char **ret_path, KnownVersion *ret_version, GError **error)
{
	g_autoptr(NamedFile) file = NULL;
	g_autofree uint8_t *name = NULL;
	g_autofree char *path = NULL;
	const Object *found;
	Object object;

	*ret = NULL;
	*ret_version = KNOWN_FORGOTTEN;
	if (!hash_store_find(store, id, &found, error))
		return false;
	if (found) {
		object = *found;
		name = g_memdup2(found->name, found->name_bytes);
		object.name = name;
		file = open_file(store, &object, ways, &path);
		*ret_version = version_of(&object, file);
	}
	*ret = g_steal_pointer(&file);
	if (ret_path)
		*ret_path = g_steal_pointer(&path);
	return true;
}
