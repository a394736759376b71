/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/mounts/device-names.h"

#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/call/sysfs-attribute.h"
#include "kernel-ioctl/file/open-file.h"

#include <blkid.h>
#include <string.h>

#define LINKS "/dev/disk"

/* The longest name of a link: udev encodes a byte in at most four. */
#define LINK_BYTES_MAX 1024

typedef struct {
	const char *directory;
	const char *tag;       /* NULL: its links are no values of one */
	bool is_of_superblock; /* a copy has the same */
} Kind;

enum { KIND_LABEL, KIND_UUID };

static const Kind kinds[] = {
	[KIND_LABEL] = { "by-label", "LABEL=", true },
	[KIND_UUID] = { "by-uuid", "UUID=", true },
	{ "by-partuuid", "PARTUUID=", false },
	{ "by-partlabel", "PARTLABEL=", false },
	{ "by-id", NULL, false },
	{ "by-path", NULL, false },
};

bool device_names_may_have(const char *name)
{
	for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++)
		if (kinds[i].tag && g_str_has_prefix(name, kinds[i].tag))
			return true;

	return g_str_has_prefix(name, "/dev/");
}

/* The directory of the btrfs filesystem in sysfs. */
static char *btrfs_directory(const MountedFilesystem *filesystem)
{
	char fsid[FS_UUID_TEXT_BYTES];

	fs_uuid_format(filesystem->identity.fsid, fsid);
	return g_build_filename("/sys/fs/btrfs", fsid, NULL);
}

/* The kernel's names of the devices of @filesystem. */
static GHashTable *find_devices(const MountedFilesystem *filesystem)
{
	GHashTable *devices = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_autofree char *of_btrfs = btrfs_directory(filesystem);
	g_autofree char *path = g_build_filename(of_btrfs, "devices", NULL);
	g_autoptr(GDir) directory = g_dir_open(path, 0, NULL);
	const char *name;

	while (directory && (name = g_dir_read_name(directory)))
		g_hash_table_add(devices, g_strdup(name));

	g_autofree char *by_number =
		g_strdup_printf("/sys/dev/block/%u:%u", filesystem->major, filesystem->minor);
	g_autofree char *device = g_file_read_link(by_number, NULL);

	if (device)
		g_hash_table_add(devices, g_path_get_basename(device));
	return devices;
}

static int digit_at(const char *text)
{
	return g_ascii_isxdigit(*text) ? g_ascii_xdigit_value(*text) : -1;
}

char *device_name_decode(const char *name)
{
	GString *text = g_string_new(NULL);

	for (; *name; name++) {
		int high = g_str_has_prefix(name, "\\x") ? digit_at(name + 2) : -1;
		int low = high >= 0 ? digit_at(name + 3) : -1;

		if (low < 0) {
			g_string_append_c(text, *name);
			continue;
		}
		g_string_append_c(text, (char)(high << 4 | low));
		name += 3;
	}
	return g_string_free(text, FALSE);
}

/* The links to one device. */
static void add_links(const Kind *kind, DeviceLinks *links, const char *device, GStrvBuilder *names)
{
	const char *const *found = device_links_to(links, kind->directory, device);

	for (; *found; found++) {
		g_autofree char *link = g_build_filename(LINKS, kind->directory, *found, NULL);
		g_autofree char *value = device_name_decode(*found);
		g_autofree char *tagged = g_strconcat(kind->tag ? kind->tag : "", value, NULL);

		g_strv_builder_add(names, link);
		if (kind->tag)
			g_strv_builder_add(names, tagged);
	}
}

/* The tag, and the link that udev would make for it. */
static void add_tag(const Kind *kind, const char *value, GStrvBuilder *names)
{
	g_autofree char *tagged = g_strconcat(kind->tag, value, NULL);
	char encoded[LINK_BYTES_MAX];

	g_strv_builder_add(names, tagged);
	if (blkid_encode_string(value, encoded, sizeof(encoded)) == 0) {
		g_autofree char *link = g_build_filename(LINKS, kind->directory, encoded, NULL);

		g_strv_builder_add(names, link);
	}
}

/* By its own name, and by the one that device mapper gives it. */
static void add_device(const char *device, GStrvBuilder *names)
{
	g_autofree char *path = g_build_filename("/dev", device, NULL);
	g_autofree char *in_sysfs = g_build_filename("/sys/class/block", device, NULL);
	g_autofree char *mapped = sysfs_attribute(in_sysfs, "dm/name");

	g_strv_builder_add(names, path);
	if (mapped) {
		g_autofree char *by_mapper = g_build_filename("/dev/mapper", mapped, NULL);

		g_strv_builder_add(names, by_mapper);
	}
}

/* The value that the tag @text gives for @kind; NULL: it is of another kind. */
static const char *value_of(const Kind *kind, const char *text)
{
	return kind->tag && g_str_has_prefix(text, kind->tag) ? text + strlen(kind->tag) : NULL;
}

static void add_kind(const MountedFilesystem *filesystem, const Kind *kind, GHashTable *devices,
		     DeviceLinks *links, GStrvBuilder *names)
{
	GHashTableIter iterator;
	void *device;

	if (kind->is_of_superblock && !mounted_filesystem_goes_by_superblock(filesystem))
		return;

	g_hash_table_iter_init(&iterator, devices);
	while (g_hash_table_iter_next(&iterator, &device, NULL))
		add_links(kind, links, device, names);
	for (char **tag = filesystem->tags; tag && *tag; tag++)
		if (value_of(kind, *tag))
			add_tag(kind, value_of(kind, *tag), names);
}

void device_names_add(const MountedFilesystem *filesystem, DeviceLinks *links, GStrvBuilder *names)
{
	g_autoptr(DeviceLinks) own = links ? NULL : device_links_new("/dev");
	g_autoptr(GHashTable) devices = find_devices(filesystem);
	g_autofree char *of_btrfs = btrfs_directory(filesystem);
	g_autofree char *label = sysfs_attribute(of_btrfs, "label");
	GHashTableIter iterator;
	void *device;

	/* The link may lead to another device with the same UUID, which somebody attached later. */
	add_tag(&kinds[KIND_UUID], filesystem->uuid, names);
	if (label && mounted_filesystem_goes_by_superblock(filesystem))
		add_tag(&kinds[KIND_LABEL], label, names);
	g_hash_table_iter_init(&iterator, devices);
	while (g_hash_table_iter_next(&iterator, &device, NULL))
		add_device(device, names);
	for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++)
		add_kind(filesystem, &kinds[i], devices, links ? links : own, names);
}

/* Names are lines in files and messages. */
static void take_tag(const char *tag, const char *value, GStrvBuilder *tags)
{
	g_autofree char *text = g_strconcat(tag, value, NULL);

	if (!strchr(text, '\n'))
		g_strv_builder_add(tags, text);
}

/* Read the tags of a partition from the table of partitions. */
static void read_partition(const char *device, GStrvBuilder *tags)
{
	static const struct {
		const char *entry;
		const char *tag;
	} entries[] = { { "PART_ENTRY_UUID", "PARTUUID=" }, { "PART_ENTRY_NAME", "PARTLABEL=" } };
	g_autofree char *node = g_build_filename("/dev", device, NULL);
	blkid_probe probe = blkid_new_probe_from_filename(node);
	const char *value;

	if (!probe)
		return;

	blkid_probe_enable_superblocks(probe, false);
	blkid_probe_enable_partitions(probe, true);
	blkid_probe_set_partitions_flags(probe, BLKID_PARTS_ENTRY_DETAILS);
	if (blkid_do_fullprobe(probe) == 0)
		for (size_t i = 0; i < G_N_ELEMENTS(entries); i++)
			if (blkid_probe_lookup_value(probe, entries[i].entry, &value, NULL) == 0)
				take_tag(entries[i].tag, value, tags);
	blkid_free_probe(probe);
}

static bool is_partition(const char *device)
{
	g_autofree char *path = g_build_filename("/sys/class/block", device, "partition", NULL);

	return g_file_test(path, G_FILE_TEST_EXISTS);
}

char **device_tags_read(const MountedFilesystem *filesystem, const char *target)
{
	g_autoptr(GHashTable) devices = find_devices(filesystem);
	g_autoptr(GStrvBuilder) tags = g_strv_builder_new();
	g_autofree char *label = NULL;
	g_auto(Fd) fd = -1;
	GHashTableIter iterator;
	void *device;
	int cause;

	/* The label of a btrfs filesystem is in sysfs. */
	if (filesystem->identity.kind == FS_KIND_XFS &&
	    open_file_or_directory(target, &fd, &cause) == OPEN_OPENED)
		label = fs_label_read(fd);
	if (label)
		take_tag("LABEL=", label, tags);

	if (g_file_test(LINKS "/by-partuuid", G_FILE_TEST_IS_DIR))
		return g_strv_builder_end(tags);
	g_hash_table_iter_init(&iterator, devices);
	while (g_hash_table_iter_next(&iterator, &device, NULL))
		if (is_partition(device))
			read_partition(device, tags);
	return g_strv_builder_end(tags);
}
