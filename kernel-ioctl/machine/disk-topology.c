/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/machine/disk-topology.h"

#include "kernel-ioctl/call/sysfs-attribute.h"

#include <stdlib.h>
#include <string.h>

/* The limit of devices on devices: nobody stacks more, and nonsense in sysfs must end. */
#define DEPTH_MAX 32

/* device-mapper's UUIDs begin with the name of the subsystem that made the device. */
#define MULTIPATH_UUID "mpath-"

typedef struct {
	const DiskTopology *topology;
	DeviceLinks *links;
	GPtrArray *disks;  /* what is collected: either these */
	GPtrArray *arrays; /* or, if not NULL, arrays */
	unsigned depth;
} Search;

static bool find_location(Search *search, const FsLocation *location);

const DiskTopology *disk_topology_system(void)
{
	static const DiskTopology system = {
		.sysfs = "/sys",
		.dev = "/dev",
		.mountinfo = "/proc/self/mountinfo",
		.locate = fs_location_of_path,
	};

	return &system;
}

DiskTopology *disk_topology_new_look(const DiskTopology *topology)
{
	DiskTopology *look = g_memdup2(topology, sizeof(*topology));

	look->links = device_links_new(look->dev);
	look->options = own_options_new(look->mountinfo);
	look->disks =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)disk_free);
	return look;
}

void disk_topology_free(DiskTopology *topology)
{
	if (!topology)
		return;

	device_links_free(topology->links);
	own_options_free(topology->options);
	g_clear_pointer(&topology->disks, g_hash_table_unref);
	g_free(topology);
}

/* Directories of sysfs have no links above: realpath() would look for one at each level. */
static char *resolve(const char *path)
{
	g_autofree char *target = g_file_read_link(path, NULL);
	g_autofree char *above = g_path_get_dirname(path);
	char *resolved, *copy;

	if (target)
		return g_canonicalize_filename(target, above);

	resolved = realpath(path, NULL);
	copy = g_strdup(resolved);
	free(resolved);
	return copy;
}

static bool has(const char *directory, const char *name)
{
	g_autofree char *path = g_build_filename(directory, name, NULL);

	return g_file_test(path, G_FILE_TEST_EXISTS);
}

static int compare_disks(const void *one, const void *other)
{
	const Disk *a = *(const Disk *const *)one;
	const Disk *b = *(const Disk *const *)other;

	if (a->major != b->major)
		return a->major < b->major ? -1 : 1;
	return (a->minor > b->minor) - (a->minor < b->minor);
}

/* Whether this look has found that nothing lies below it. */
static bool is_known_disk(const Search *search, const char *directory)
{
	return search->topology->disks && g_hash_table_contains(search->topology->disks, directory);
}

/* @disk is consumed; NULL: nobody wants to know it yet. */
static void keep_disk(const Search *search, const char *directory, Disk *disk)
{
	if (search->topology->disks)
		g_hash_table_insert(search->topology->disks, g_strdup(directory), disk);
	else
		disk_free(disk);
}

static Disk *get_disk(const Search *search, const char *directory)
{
	const Disk *known = search->topology->disks
				    ? g_hash_table_lookup(search->topology->disks, directory)
				    : NULL;
	Disk *disk = known ? disk_copy(known) : disk_read(directory, search->links);

	if (disk && !known)
		keep_disk(search, directory, disk_copy(disk));
	return disk;
}

/* A search for arrays needs to know only that there is a disk. */
static bool is_disk(const Search *search, const char *directory)
{
	if (is_known_disk(search, directory))
		return true;
	if (!has(directory, "dev"))
		return false;

	keep_disk(search, directory, NULL);
	return true;
}

static bool add_disk(Search *search, const char *directory)
{
	g_autoptr(Disk) disk = NULL;

	if (search->arrays)
		return is_disk(search, directory);

	disk = get_disk(search, directory);
	if (!disk)
		return false;

	for (size_t i = 0; i < search->disks->len; i++)
		if (compare_disks(&disk, &search->disks->pdata[i]) == 0)
			return true;

	g_ptr_array_add(search->disks, g_steal_pointer(&disk));
	return true;
}

static void add_array(Search *search, const char *directory)
{
	if (search->arrays && has(directory, "md") &&
	    !g_ptr_array_find_with_equal_func(search->arrays, directory, g_str_equal, NULL))
		g_ptr_array_add(search->arrays, g_strdup(directory));
}

static bool is_multipath(const char *directory)
{
	g_autofree char *uuid = sysfs_attribute(directory, "dm/uuid");

	return uuid && g_str_has_prefix(uuid, MULTIPATH_UUID);
}

static bool find_backing_file(Search *search, const char *directory)
{
	g_autofree char *file = sysfs_attribute(directory, "loop/backing_file");
	FsLocation location;

	return file && search->topology->locate(file, &location) &&
	       find_location(search, &location);
}

static bool find_device(Search *search, const char *path);

/* Follow the entries of @path, which are links to devices.  True if any led to a disk. */
static bool find_devices(Search *search, const char *path)
{
	g_autoptr(GDir) entries = g_dir_open(path, 0, NULL);
	bool found = false;
	const char *name;

	while (entries && (name = g_dir_read_name(entries))) {
		g_autofree char *device = g_build_filename(path, name, NULL);

		found |= find_device(search, device);
	}

	return found;
}

static bool descend(Search *search, const char *directory);

/* @directory is the directory of a device in sysfs, free of symlinks. */
static bool find_below(Search *search, const char *directory)
{
	g_autofree char *slaves = g_build_filename(directory, "slaves", NULL);
	g_autofree char *whole = g_path_get_dirname(directory);

	if (is_known_disk(search, directory)) {
		add_array(search, directory);
		return add_disk(search, directory);
	}
	if (has(directory, "partition"))
		return descend(search, whole);
	add_array(search, directory);
	if (is_multipath(directory))
		return add_disk(search, directory);

	return find_devices(search, slaves) || find_backing_file(search, directory) ||
	       add_disk(search, directory);
}

static bool descend(Search *search, const char *directory)
{
	bool found;

	if (search->depth >= DEPTH_MAX)
		return false;

	search->depth++;
	found = find_below(search, directory);
	search->depth--;
	return found;
}

static bool find_device(Search *search, const char *path)
{
	g_autofree char *directory = resolve(path);

	return directory && descend(search, directory);
}

static bool find_number(Search *search, unsigned major, unsigned minor)
{
	g_autofree char *path =
		g_strdup_printf("%s/dev/block/%u:%u", search->topology->sysfs, major, minor);

	return major != 0 && find_device(search, path);
}

/*
 * The log and real-time devices of an XFS filesystem (logdev=, rtdev= in its options) on the device @major:@minor.
 * Empty if mountinfo cannot be read.
 */
static char **additional_devices(const DiskTopology *topology, unsigned major, unsigned minor)
{
	g_autofree char *options =
		topology->options ? g_strdup(own_options_of(topology->options, major, minor))
				  : own_options_read(topology->mountinfo, major, minor);
	g_auto(GStrv) parts = g_strsplit(options ? options : "", ",", -1);
	GPtrArray *paths = g_ptr_array_new();

	for (char **part = parts; *part; part++) {
		/* mountinfo writes blanks as \040. */
		if (g_str_has_prefix(*part, "logdev=") || g_str_has_prefix(*part, "rtdev="))
			g_ptr_array_add(paths, g_strcompress(strchr(*part, '=') + 1));
	}

	g_ptr_array_add(paths, NULL);
	return (char **)g_ptr_array_free(paths, false);
}

/* Follow the devices that mount options name, such as the log of XFS. */
static bool find_others(Search *search, const FsLocation *location)
{
	g_auto(GStrv) nodes =
		additional_devices(search->topology, location->major, location->minor);
	bool found = false;

	for (char **node = nodes; *node; node++) {
		FsLocation other;

		if (search->topology->locate(*node, &other) && !other.is_btrfs)
			found |= find_number(search, other.major, other.minor);
	}

	return found;
}

static bool find_btrfs(Search *search, const FsLocation *location)
{
	char uuid[FS_UUID_TEXT_BYTES];
	g_autofree char *path = NULL;

	fs_uuid_format(location->fsid, uuid);
	path = g_build_filename(search->topology->sysfs, "fs/btrfs", uuid, "devices", NULL);
	return find_devices(search, path);
}

static bool find_location(Search *search, const FsLocation *location)
{
	bool found;

	if (location->is_btrfs)
		return find_btrfs(search, location);

	found = find_number(search, location->major, location->minor);
	return find_others(search, location) || found;
}

GPtrArray *disk_topology_find(const DiskTopology *topology, const FsLocation *location)
{
	g_autoptr(DeviceLinks) links = topology->links ? NULL : device_links_new(topology->dev);
	Search search = {
		.topology = topology,
		.links = links ? links : topology->links,
		.disks = g_ptr_array_new_with_free_func((GDestroyNotify)disk_free),
	};

	find_location(&search, location);
	g_ptr_array_sort(search.disks, compare_disks);
	return search.disks;
}

GPtrArray *disk_topology_find_arrays(const DiskTopology *topology, const FsLocation *location)
{
	Search search = {
		.topology = topology,
		.arrays = g_ptr_array_new_with_free_func(g_free),
	};

	find_location(&search, location);
	return search.arrays;
}

char **disks_names(const GPtrArray *disks)
{
	char **names = g_new0(char *, disks->len + 1);

	for (size_t i = 0; i < disks->len; i++)
		names[i] = g_strdup(((const Disk *)disks->pdata[i])->name);
	return names;
}
