/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/named-filesystems.h"

#include "kernel-ioctl/fd.h"
#include "kernel-ioctl/file-stat.h"

#include <fcntl.h>
#include <libmount.h>
#include <string.h>

typedef struct libmnt_table MountTable;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(MountTable, mnt_unref_table)

/* The identity of what is mounted at @path; false: nothing that blocks can be shared on. */
static bool identify(const char *path, FsIdentity *ret)
{
	g_auto(Fd) fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOCTTY);
	FileStat stat;

	return fd >= 0 && file_stat_at(fd, "", &stat) == 0 && stat.is_mount_root &&
	       fs_identity_read(fd, ret, NULL) && ret->kind != FS_KIND_OTHER;
}

static bool is_section_of_filesystem(const ConfigEntry *entry)
{
	return entry->section == CONFIG_FILESYSTEM && !entry->key;
}

char **named_filesystem_names(const Filesystem *filesystem, const Config *config)
{
	const GPtrArray *entries = config_entries(config);
	g_autoptr(GPtrArray) names = g_ptr_array_new();

	g_ptr_array_add(names, g_strdup(filesystem->uuid));
	for (guint i = 0; i < entries->len; i++) {
		const ConfigEntry *entry = entries->pdata[i];
		FsIdentity identity;

		if (is_section_of_filesystem(entry) && *entry->name == '/' &&
		    identify(entry->name, &identity) &&
		    memcmp(identity.uuid, filesystem->identity.uuid, FS_UUID_BYTES) == 0)
			g_ptr_array_add(names, g_strdup(entry->name));
	}
	g_ptr_array_add(names, NULL);

	return (char **)g_ptr_array_steal(names, NULL);
}

static bool lies_in(const char *path, const char *directory)
{
	size_t length = strlen(directory);

	return strcmp(directory, "/") == 0 || (strncmp(path, directory, length) == 0 &&
					       (path[length] == '/' || path[length] == '\0'));
}

/* Whether a mount in @found shows all that @mount does. */
static bool is_shown(const GPtrArray *found, struct libmnt_fs *mount)
{
	for (guint i = 0; i < found->len; i++)
		if (lies_in(mnt_fs_get_root(mount), mnt_fs_get_root(found->pdata[i])))
			return true;

	return false;
}

/* Add the mounts which together show all that is mounted of the filesystem @uuid to @paths. */
static bool add_mounts(MountTable *mounts, const char *uuid, GPtrArray *paths)
{
	g_autoptr(GPtrArray) found = g_ptr_array_new();
	struct libmnt_iter *iterator = mnt_new_iter(MNT_ITER_FORWARD);
	struct libmnt_fs *mount = NULL;
	char text[FS_UUID_TEXT_BYTES];
	FsIdentity identity;

	while (mnt_table_next_fs(mounts, iterator, &mount) == 0) {
		const char *type = mnt_fs_get_fstype(mount);

		/* Others are not touched: a dead network filesystem would hang here. */
		if ((g_strcmp0(type, "btrfs") != 0 && g_strcmp0(type, "xfs") != 0) ||
		    is_shown(found, mount) || !identify(mnt_fs_get_target(mount), &identity))
			continue;
		fs_uuid_format(identity.uuid, text);
		if (strcmp(text, uuid) != 0)
			continue;
		for (guint i = found->len; i > 0; i--)
			if (lies_in(mnt_fs_get_root(found->pdata[i - 1]), mnt_fs_get_root(mount)))
				g_ptr_array_remove_index(found, i - 1);
		g_ptr_array_add(found, mount);
	}
	mnt_free_iter(iterator);

	for (guint i = 0; i < found->len; i++)
		g_ptr_array_add(paths, g_strdup(mnt_fs_get_target(found->pdata[i])));
	return found->len > 0;
}

static void warn(GPtrArray *warnings, const ConfigEntry *entry, const char *what)
{
	g_autofree char *section = config_entry_section(entry);

	g_ptr_array_add(warnings, g_strdup_printf("%s:%u: %s %s%s%s", entry->file, entry->line,
						  section, entry->key ? entry->key->name : "",
						  entry->key ? "=: " : "", what));
}

char **named_filesystem_paths(const Config *config, GPtrArray *warnings)
{
	g_autoptr(MountTable) mounts = mnt_new_table_from_file("/proc/self/mountinfo");
	const GPtrArray *entries = config_entries(config);
	g_autoptr(GPtrArray) paths = g_ptr_array_new();

	for (guint i = 0; i < entries->len; i++) {
		const ConfigEntry *entry = entries->pdata[i];
		FsIdentity identity;

		if (!is_section_of_filesystem(entry))
			continue;
		if (*entry->name != '/') {
			if (!mounts || !add_mounts(mounts, entry->name, paths))
				warn(warnings, entry, "names no btrfs or XFS that is mounted");
		} else if (identify(entry->name, &identity)) {
			g_ptr_array_add(paths, g_strdup(entry->name));
		} else {
			warn(warnings, entry, "names no mount point of a btrfs or XFS");
		}
	}
	g_ptr_array_add(paths, NULL);

	return (char **)g_ptr_array_steal(paths, NULL);
}

static bool is_disk(const char *name)
{
	g_autofree char *by_kernel = g_build_filename("/sys/class/block", name, NULL);
	g_autofree char *by_id = g_build_filename("/dev/disk/by-id", name, NULL);

	return g_file_test(by_kernel, G_FILE_TEST_EXISTS) || g_file_test(by_id, G_FILE_TEST_EXISTS);
}

void named_disks_check(const Config *config, GPtrArray *warnings)
{
	const GPtrArray *entries = config_entries(config);

	for (guint i = 0; i < entries->len; i++) {
		const ConfigEntry *entry = entries->pdata[i];

		if (entry->section == CONFIG_DISK && !entry->key && !is_disk(entry->name))
			warn(warnings, entry, "names no disk of this machine");
		if (entry->key && entry->key->is_not_obeyed)
			warn(warnings, entry, "this key is checked, and not obeyed yet");
	}
}
