/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/mounts/mount-table.h"

#include "common/mounts/device-names.h"
#include "common/mounts/known-kernels.h"
#include "common/mounts/mount-options.h"
#include "common/text/path.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/file-stat.h"
#include "kernel-ioctl/file/open-file.h"

#include <errno.h>
#include <fcntl.h>
#include <libmount.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#define MOUNTINFO "/proc/self/mountinfo"

struct MountTable {
	GPtrArray *filesystems; /* MountedFilesystem */
};

typedef struct libmnt_table LibmountTable;
typedef struct libmnt_iter LibmountIterator;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(LibmountTable, mnt_unref_table)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(LibmountIterator, mnt_free_iter)

static void mount_point_free(MountPoint *mount_point)
{
	g_free(mount_point->target);
	g_free(mount_point->root);
	g_free(mount_point);
}

static MountPoint *mount_point_copy(const MountPoint *mount_point)
{
	MountPoint *copy = g_new(MountPoint, 1);

	*copy = *mount_point;
	copy->target = g_strdup(mount_point->target);
	copy->root = g_strdup(mount_point->root);
	return copy;
}

static GPtrArray *new_mount_points(void)
{
	return g_ptr_array_new_with_free_func((GDestroyNotify)mount_point_free);
}

MountedFilesystem *mounted_filesystem_copy(const MountedFilesystem *filesystem)
{
	MountedFilesystem *copy = g_new(MountedFilesystem, 1);

	*copy = *filesystem;
	copy->type = g_strdup(filesystem->type);
	copy->source = g_strdup(filesystem->source);
	copy->options = g_strdup(filesystem->options);
	copy->tags = g_strdupv(filesystem->tags);
	copy->refusal = g_strdup(filesystem->refusal);
	copy->mount_points = new_mount_points();
	for (size_t i = 0; i < filesystem->mount_points->len; i++)
		g_ptr_array_add(copy->mount_points,
				mount_point_copy(filesystem->mount_points->pdata[i]));
	return copy;
}

void mounted_filesystem_free(MountedFilesystem *filesystem)
{
	if (!filesystem)
		return;

	g_ptr_array_unref(filesystem->mount_points);
	g_free(filesystem->type);
	g_free(filesystem->source);
	g_free(filesystem->options);
	g_strfreev(filesystem->tags);
	g_free(filesystem->refusal);
	g_free(filesystem);
}

void mount_table_free(MountTable *table)
{
	if (!table)
		return;

	g_ptr_array_unref(table->filesystems);
	g_free(table);
}

/* Usually nothing has that name below the other mount. */
static bool says_hidden(int failure)
{
	return failure == ENOENT || failure == ENOTDIR;
}

static bool is_reachable(const MountPoint *mount_point, int *ret_failure)
{
	FileStat stat;
	int failure = file_stat_at(AT_FDCWD, mount_point->target, &stat);

	if (failure && !says_hidden(failure))
		*ret_failure = failure;
	/* Compare mount ids if the kernel gives them (5.8). */
	return failure == 0 && (!stat.mount_id || stat.mount_id == mount_point->id);
}

static bool identify(const MountedFilesystem *filesystem, const MountPoint *mount_point,
		     FsIdentity *ret, GError **error)
{
	const FsMount mount = { makedev(filesystem->major, filesystem->minor),
				filesystem->options };
	g_auto(Fd) fd = -1;
	int cause;

	/* A single file can be a mount point, too. */
	if (open_file_or_directory(mount_point->target, &fd, &cause) != OPEN_OPENED) {
		g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(cause),
			    "cannot open %s: %s", mount_point->target,
			    cause ? g_strerror(cause) : "it is no directory or regular file");
		return false;
	}

	return fs_identity_read_mounted(fd, &mount, ret, error);
}

static const MountLook kernel_look = { is_reachable, identify, device_tags_read };

static MountPoint *mount_point_new(struct libmnt_fs *mount)
{
	MountPoint *mount_point = g_new0(MountPoint, 1);

	mount_point->target = g_strdup(mnt_fs_get_target(mount));
	mount_point->root = g_strdup(mnt_fs_get_root(mount));
	mount_point->id = mnt_fs_get_id(mount);
	mount_point->is_read_only = mount_options_are_read_only(mnt_fs_get_vfs_options(mount),
								mnt_fs_get_fs_options(mount));
	return mount_point;
}

static MountedFilesystem *find_superblock(const MountTable *table, dev_t device)
{
	for (size_t i = 0; i < table->filesystems->len; i++) {
		MountedFilesystem *filesystem = table->filesystems->pdata[i];

		if (makedev(filesystem->major, filesystem->minor) == device)
			return filesystem;
	}

	return NULL;
}

static void add_mount(MountTable *table, struct libmnt_fs *mount)
{
	const char *type = mnt_fs_get_fstype(mount);
	dev_t device = mnt_fs_get_devno(mount);
	MountedFilesystem *filesystem;

	if (g_strcmp0(type, "btrfs") != 0 && g_strcmp0(type, "xfs") != 0)
		return;

	filesystem = find_superblock(table, device);
	if (!filesystem) {
		filesystem = g_new0(MountedFilesystem, 1);
		filesystem->type = g_strdup(type);
		filesystem->source = g_strdup(mnt_fs_get_source(mount));
		filesystem->options = g_strdup(mnt_fs_get_fs_options(mount));
		filesystem->major = major(device);
		filesystem->minor = minor(device);
		filesystem->mount_points = new_mount_points();
		g_ptr_array_add(table->filesystems, filesystem);
	}
	g_ptr_array_add(filesystem->mount_points, mount_point_new(mount));
}

/* A mount of the filesystem that exists since the earlier table. */
static bool was_there(const MountedFilesystem *earlier, const MountPoint *mount_point)
{
	for (size_t i = 0; i < earlier->mount_points->len; i++) {
		const MountPoint *other = earlier->mount_points->pdata[i];

		if (other->id == mount_point->id && strcmp(other->target, mount_point->target) == 0)
			return true;
	}

	return false;
}

/* The facts of the earlier table about it; NULL: none. */
static const MountedFilesystem *known_of(const MountTable *earlier,
					 const MountedFilesystem *filesystem)
{
	const MountedFilesystem *known =
		earlier ? find_superblock(earlier, makedev(filesystem->major, filesystem->minor))
			: NULL;

	if (!known || known->uuid[0] == '\0' || strcmp(known->type, filesystem->type) != 0)
		return NULL;
	for (size_t i = 0; i < filesystem->mount_points->len; i++)
		if (was_there(known, filesystem->mount_points->pdata[i]))
			return known;
	return NULL;
}

/* Why no mount of the filesystem can be reached. */
static char *why_not_reachable(const MountedFilesystem *filesystem)
{
	const MountPoint *mount_point = filesystem->mount_points->pdata[0];

	for (size_t i = 0; i < filesystem->mount_points->len; i++) {
		const MountPoint *other = filesystem->mount_points->pdata[i];

		/* XFS answers EIO to everything after a shutdown. */
		if (other->failure == EIO && strcmp(filesystem->type, "xfs") == 0)
			return g_strdup_printf("%s was shut down, by its admin or after an error: "
					       "see the kernel's log, and mount it anew",
					       other->target);
		if (other->failure)
			return g_strdup_printf("cannot look at %s: %s", other->target,
					       g_strerror(other->failure));
	}

	return g_strdup_printf("another mount hides %s", mount_point->target);
}

/* Find reachable mounts, and identify the filesystem through the first of them, if necessary. */
void mounted_filesystem_examine(MountedFilesystem *filesystem, const MountLook *look)
{
	const MountPoint *first = NULL;
	g_autoptr(GError) error = NULL;

	if (!look)
		look = &kernel_look;
	for (size_t i = 0; i < filesystem->mount_points->len; i++) {
		MountPoint *mount_point = filesystem->mount_points->pdata[i];

		mount_point->is_reachable = look->is_reachable(mount_point, &mount_point->failure);
		if (mount_point->is_reachable && !first)
			first = mount_point;
	}

	if (filesystem->uuid[0] != '\0')
		return;
	if (!first)
		filesystem->refusal = why_not_reachable(filesystem);
	else if (!look->identify(filesystem, first, &filesystem->identity, &error))
		filesystem->refusal = g_strdup(error->message);
	else
		fs_uuid_format(filesystem->identity.uuid, filesystem->uuid);
	if (filesystem->uuid[0] != '\0' && look->read_tags)
		filesystem->tags = look->read_tags(filesystem, first->target);
}

void mounted_filesystem_set_silent(MountedFilesystem *filesystem)
{
	const MountPoint *first = filesystem->mount_points->pdata[0];

	/* Count all mounts as reachable, so that the filesystem can be addressed by each of its names. */
	for (size_t i = 0; i < filesystem->mount_points->len; i++)
		((MountPoint *)filesystem->mount_points->pdata[i])->is_reachable = true;
	g_free(filesystem->refusal);
	filesystem->refusal =
		g_strdup_printf("%s does not answer: its disk or its mount hangs", first->target);
}

bool mounted_filesystem_goes_by_superblock(const MountedFilesystem *filesystem)
{
	return filesystem->is_only || !fs_identity_is_copy(&filesystem->identity);
}

char **mounted_filesystem_names(const MountedFilesystem *filesystem, DeviceLinks *links)
{
	g_autoptr(GStrvBuilder) names = g_strv_builder_new();
	char of_superblock[FS_UUID_TEXT_BYTES];

	g_strv_builder_add(names, filesystem->uuid);
	if (filesystem->is_only && fs_identity_is_copy(&filesystem->identity)) {
		fs_uuid_format(filesystem->identity.superblock_uuid, of_superblock);
		g_strv_builder_add(names, of_superblock);
	}
	for (size_t i = 0; i < filesystem->mount_points->len; i++)
		g_strv_builder_add(
			names, ((const MountPoint *)filesystem->mount_points->pdata[i])->target);
	device_names_add(filesystem, links, names);

	return g_strv_builder_end(names);
}

static bool is_writable(const MountedFilesystem *filesystem)
{
	for (size_t i = 0; i < filesystem->mount_points->len; i++) {
		const MountPoint *mount_point = filesystem->mount_points->pdata[i];

		if (mount_point->is_reachable && !mount_point->is_read_only)
			return true;
	}

	return false;
}

/* Add the mount, unless another one shows its part, and remove those whose part it shows. */
static void add_way(GPtrArray *ways, MountPoint *mount_point)
{
	for (size_t i = 0; i < ways->len; i++)
		if (path_lies_in(mount_point->root, ((const MountPoint *)ways->pdata[i])->root))
			return;

	for (size_t i = ways->len; i > 0; i--)
		if (path_lies_in(((const MountPoint *)ways->pdata[i - 1])->root, mount_point->root))
			g_ptr_array_remove_index(ways, i - 1);
	g_ptr_array_add(ways, mount_point);
}

char **mounted_filesystem_ways(const MountedFilesystem *filesystem)
{
	bool only_writable = is_writable(filesystem);
	g_autoptr(GPtrArray) ways = g_ptr_array_new();
	g_autoptr(GStrvBuilder) targets = g_strv_builder_new();

	for (size_t i = 0; i < filesystem->mount_points->len; i++) {
		MountPoint *mount_point = filesystem->mount_points->pdata[i];

		if (mount_point->is_reachable && !(only_writable && mount_point->is_read_only))
			add_way(ways, mount_point);
	}
	for (size_t i = 0; i < ways->len; i++)
		g_strv_builder_add(targets, ((const MountPoint *)ways->pdata[i])->target);

	return g_strv_builder_end(targets);
}

static char *dedupe_failure_of(const MountTable *table, const MountedFilesystem *filesystem)
{
	const MountedFilesystem *first = mount_table_find_uuid(table, filesystem->uuid);
	const MountPoint *mount_point = filesystem->mount_points->pdata[0];
	char *refusal;

	if (first != filesystem) {
		const MountPoint *other = first->mount_points->pdata[0];

		return g_strdup_printf(
			"%s has the UUID of %s, as a clone or a snapshot of its disk has: "
			"%s gives it one of its own",
			mount_point->target, other->target,
			filesystem->identity.kind == FS_KIND_XFS ? "xfs_admin -U generate"
								 : "btrfstune -u");
	}
	if (!is_writable(filesystem) && filesystem->identity.can_share &&
	    !mount_point->is_read_only)
		return why_not_reachable(filesystem);

	refusal = mount_options_refusal(mount_point->target, mount_point->target,
					filesystem->identity.can_share, !is_writable(filesystem));
	return refusal ? refusal : known_kernels_refusal(filesystem->identity.kind);
}

MountTable *mount_table_list(const char *mountinfo, const MountTable *earlier, GError **error)
{
	g_autoptr(MountTable) table = g_new0(MountTable, 1);
	g_autoptr(LibmountTable) mounts =
		mnt_new_table_from_file(mountinfo ? mountinfo : MOUNTINFO);
	g_autoptr(LibmountIterator) iterator = mnt_new_iter(MNT_ITER_FORWARD);
	struct libmnt_fs *mount;

	table->filesystems =
		g_ptr_array_new_with_free_func((GDestroyNotify)mounted_filesystem_free);
	if (!mounts) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED, "cannot read %s",
			    mountinfo ? mountinfo : MOUNTINFO);
		return NULL;
	}

	while (mnt_table_next_fs(mounts, iterator, &mount) == 0)
		add_mount(table, mount);
	for (size_t i = 0; i < table->filesystems->len; i++) {
		MountedFilesystem *filesystem = table->filesystems->pdata[i];
		const MountedFilesystem *known = known_of(earlier, filesystem);

		if (!known)
			continue;
		filesystem->identity = known->identity;
		filesystem->tags = g_strdupv(known->tags);
		fs_uuid_format(filesystem->identity.uuid, filesystem->uuid);
	}

	return g_steal_pointer(&table);
}

void mount_table_replace(MountTable *table, size_t index, MountedFilesystem *filesystem)
{
	mounted_filesystem_free(table->filesystems->pdata[index]);
	table->filesystems->pdata[index] = filesystem;
}

const MountedFilesystem *mount_table_find_twin(const MountTable *table,
					       const MountedFilesystem *filesystem)
{
	for (size_t i = 0; i < table->filesystems->len; i++) {
		const MountedFilesystem *other = table->filesystems->pdata[i];

		if (other != filesystem && other->uuid[0] != '\0' &&
		    fs_uuid_equal(other->identity.superblock_uuid,
				  filesystem->identity.superblock_uuid))
			return other;
	}
	return NULL;
}

void mount_table_conclude(MountTable *table)
{
	for (size_t i = 0; i < table->filesystems->len; i++) {
		MountedFilesystem *filesystem = table->filesystems->pdata[i];

		filesystem->is_only = !mount_table_find_twin(table, filesystem);
		if (!filesystem->refusal)
			filesystem->refusal = dedupe_failure_of(table, filesystem);
	}
}

MountTable *mount_table_read(const char *mountinfo, const MountLook *look,
			     const MountTable *earlier, GError **error)
{
	MountTable *table = mount_table_list(mountinfo, earlier, error);

	if (!table)
		return NULL;

	for (size_t i = 0; i < table->filesystems->len; i++)
		mounted_filesystem_examine(table->filesystems->pdata[i], look);
	mount_table_conclude(table);
	return table;
}

const GPtrArray *mount_table_filesystems(const MountTable *table)
{
	return table->filesystems;
}

const MountedFilesystem *mount_table_find_uuid(const MountTable *table, const char *uuid)
{
	for (size_t i = 0; i < table->filesystems->len; i++) {
		const MountedFilesystem *filesystem = table->filesystems->pdata[i];

		if (strcmp(filesystem->uuid, uuid) == 0)
			return filesystem;
	}

	return NULL;
}

char *mounted_kind_of(const char *path)
{
	g_autoptr(LibmountTable) mounts = mnt_new_table_from_file(MOUNTINFO);
	struct libmnt_fs *mount =
		mounts ? mnt_table_find_mountpoint(mounts, path, MNT_ITER_BACKWARD) : NULL;

	return mount ? g_strdup(mnt_fs_get_fstype(mount)) : NULL;
}

int mount_table_open_uuid(const MountTable *table, const char *uuid)
{
	const MountedFilesystem *filesystem = mount_table_find_uuid(table, uuid);
	g_auto(GStrv) ways = filesystem ? mounted_filesystem_ways(filesystem) : NULL;

	return ways && ways[0] ? open(ways[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
}

const MountedFilesystem *mount_table_find_target(const MountTable *table, const char *target)
{
	for (size_t i = 0; i < table->filesystems->len; i++) {
		const MountedFilesystem *filesystem = table->filesystems->pdata[i];

		for (size_t j = 0; j < filesystem->mount_points->len; j++) {
			const MountPoint *mount_point = filesystem->mount_points->pdata[j];

			if (mount_point->is_reachable && strcmp(mount_point->target, target) == 0)
				return filesystem;
		}
	}

	return NULL;
}

static const MountedFilesystem *find_device_name(const MountTable *table, const char *name)
{
	g_autoptr(DeviceLinks) links = device_links_new("/dev");

	for (size_t i = 0; i < table->filesystems->len; i++) {
		const MountedFilesystem *filesystem = table->filesystems->pdata[i];
		g_auto(GStrv) names = mounted_filesystem_names(filesystem, links);

		if (g_strv_contains((const char *const *)names, name))
			return filesystem;
	}

	return NULL;
}

const MountedFilesystem *mount_table_find_name(const MountTable *table, const char *name)
{
	const MountedFilesystem *found = *name == '/' ? mount_table_find_target(table, name)
						      : mount_table_find_uuid(table, name);

	/* A copy that is the only one also goes by the UUID in its superblock. */
	if (!found && (device_names_may_have(name) || g_uuid_string_is_valid(name)))
		found = find_device_name(table, name);
	return found;
}

const MountedFilesystem *mount_table_find_device(const MountTable *table, const char *name)
{
	const MountedFilesystem *found = find_device_name(table, name);
	/* A link that is not one of udev's. */
	char *device = found ? NULL : realpath(name, NULL);

	if (device)
		found = find_device_name(table, device);
	free(device);
	return found;
}

bool mount_table_has(const MountTable *table, const MountedFilesystem *filesystem)
{
	const MountedFilesystem *other =
		find_superblock(table, makedev(filesystem->major, filesystem->minor));

	return other && g_strcmp0(other->refusal, filesystem->refusal) == 0;
}
