/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/mounts/device-names.h"

#include <string.h>

#define LINKS "/dev/disk"

static const struct {
	const char *directory;
	const char *tag; /* NULL: its links are no values of one */
} kinds[] = {
	{ "by-label", "LABEL=" },         { "by-uuid", NULL }, { "by-partuuid", "PARTUUID=" },
	{ "by-partlabel", "PARTLABEL=" }, { "by-id", NULL },   { "by-path", NULL },
};

bool device_names_may_have(const char *name)
{
	for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++)
		if (kinds[i].tag && g_str_has_prefix(name, kinds[i].tag))
			return true;

	return g_str_has_prefix(name, "UUID=") || g_str_has_prefix(name, "/dev/");
}

/* The kernel's names of the devices of @filesystem. */
static GHashTable *find_devices(const MountedFilesystem *filesystem)
{
	GHashTable *devices = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_autofree char *of_btrfs = g_strdup_printf("/sys/fs/btrfs/%s/devices", filesystem->uuid);
	g_autoptr(GDir) directory = g_dir_open(of_btrfs, 0, NULL);
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

/* What udev made the name of a link of: it writes "\x20" for a blank. */
static char *decoded(const char *name)
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

static void add_links(const char *kind, const char *tag, GHashTable *devices, GStrvBuilder *names)
{
	g_autofree char *path = g_build_filename(LINKS, kind, NULL);
	g_autoptr(GDir) directory = g_dir_open(path, 0, NULL);
	const char *name;

	while (directory && (name = g_dir_read_name(directory))) {
		g_autofree char *link = g_build_filename(path, name, NULL);
		g_autofree char *target = g_file_read_link(link, NULL);
		g_autofree char *device = target ? g_path_get_basename(target) : NULL;
		g_autofree char *value = decoded(name);
		g_autofree char *tagged = g_strconcat(tag ? tag : "", value, NULL);

		if (!device || !g_hash_table_contains(devices, device))
			continue;
		g_strv_builder_add(names, link);
		if (tag)
			g_strv_builder_add(names, tagged);
	}
}

/* By its own name, and by the one that device mapper gives it. */
static void add_device(const char *device, GStrvBuilder *names)
{
	g_autofree char *path = g_build_filename("/dev", device, NULL);
	g_autofree char *in_sysfs =
		g_build_filename("/sys/class/block", device, "dm", "name", NULL);
	g_autofree char *mapped = NULL;

	g_strv_builder_add(names, path);
	if (g_file_get_contents(in_sysfs, &mapped, NULL, NULL)) {
		g_autofree char *by_mapper =
			g_build_filename("/dev/mapper", g_strchomp(mapped), NULL);

		g_strv_builder_add(names, by_mapper);
	}
}

void device_names_add(const MountedFilesystem *filesystem, GStrvBuilder *names)
{
	g_autoptr(GHashTable) devices = find_devices(filesystem);
	g_autofree char *path = g_strdup_printf("/sys/fs/btrfs/%s/label", filesystem->uuid);
	g_autofree char *uuid = g_strconcat("UUID=", filesystem->uuid, NULL);
	g_autofree char *label = NULL;
	GHashTableIter iterator;
	void *device;

	g_strv_builder_add(names, uuid);
	g_hash_table_iter_init(&iterator, devices);
	while (g_hash_table_iter_next(&iterator, &device, NULL))
		add_device(device, names);
	for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++)
		add_links(kinds[i].directory, kinds[i].tag, devices, names);

	/* Where udev does not run. */
	if (g_file_get_contents(path, &label, NULL, NULL) && *g_strchomp(label) != '\0') {
		g_autofree char *tagged = g_strconcat("LABEL=", label, NULL);

		g_strv_builder_add(names, tagged);
	}
}
