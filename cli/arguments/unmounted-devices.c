/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/arguments/unmounted-devices.h"

#include "cli/arguments/timed-look.h"
#include "common/mounts/device-contents.h"
#include "common/mounts/device-names.h"
#include "common/text/word-list.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/call/sysfs-attribute.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BLOCK_DEVICES "/sys/class/block"
#define BTRFS_ALL     "/sys/fs/btrfs"

/* Fields of a line that the process writes: path, type, UUID, label. */
#define N_FIELDS 4

#define CHUNK_BYTES 4096

static void device_free(void *data)
{
	UnmountedDevice *device = data;

	g_free(device->path);
	g_free(device->type);
	g_free(device->uuid);
	g_free(device->label);
	g_free(device);
}

static void add_names_in(const char *path, GHashTable *names)
{
	g_autoptr(GDir) directory = g_dir_open(path, 0, NULL);
	const char *name;

	while (directory && (name = g_dir_read_name(directory)))
		g_hash_table_add(names, g_strdup(name));
}

/* The kernel's names of the devices of all btrfs filesystems that are mounted. */
static GHashTable *find_mounted_btrfs(void)
{
	GHashTable *names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_autoptr(GDir) all = g_dir_open(BTRFS_ALL, 0, NULL);
	const char *fsid;

	while (all && (fsid = g_dir_read_name(all))) {
		g_autofree char *devices = g_build_filename(BTRFS_ALL, fsid, "devices", NULL);

		add_names_in(devices, names);
	}
	return names;
}

/* Whether something lies on the device @name: a mapped device, an array, or a filesystem, in any namespace. */
static bool is_in_use(const char *name, GHashTable *of_btrfs)
{
	g_autofree char *held = g_build_filename(BLOCK_DEVICES, name, "holders", NULL);
	g_autofree char *mounted_xfs = g_build_filename("/sys/fs/xfs", name, NULL);
	g_autoptr(GDir) holders = g_dir_open(held, 0, NULL);

	return (holders && g_dir_read_name(holders)) ||
	       g_file_test(mounted_xfs, G_FILE_TEST_EXISTS) ||
	       g_hash_table_contains(of_btrfs, name);
}

/* The value of @key in the database of udev, to be freed; NULL: none. */
static char *udev_value(char *const *lines, const char *key)
{
	for (; *lines; lines++)
		if (g_str_has_prefix(*lines, key))
			return g_strdup(*lines + strlen(key));
	return NULL;
}

/* Returns false if udev does not know the device. */
static bool ask_udev(const char *directory, DeviceContents *ret)
{
	g_autofree char *number = sysfs_attribute(directory, "dev");
	g_autofree char *path = g_strconcat("/run/udev/data/b", number, NULL);
	g_autofree char *text = NULL;
	g_autofree char *label = NULL;
	g_auto(GStrv) lines = NULL;

	if (!number || !g_file_get_contents(path, &text, NULL, NULL))
		return false;

	lines = g_strsplit(text, "\n", -1);
	ret->type = udev_value(lines, "E:ID_FS_TYPE=");
	ret->uuid = udev_value(lines, "E:ID_FS_UUID=");
	label = udev_value(lines, "E:ID_FS_LABEL_ENC=");
	ret->label = label ? device_name_decode(label) : NULL;
	return true;
}

static void describe(const char *name, GHashTable *of_btrfs, FILE *out)
{
	g_autofree char *directory = g_build_filename(BLOCK_DEVICES, name, NULL);
	g_autofree char *size = sysfs_attribute(directory, "size");
	g_autofree char *node = g_strdelimit(g_strdup(name), "!", '/');
	g_autofree char *path = g_build_filename("/dev", node, NULL);
	g_auto(DeviceContents) contents = { 0 };

	if (g_strcmp0(size, "0") == 0 || is_in_use(name, of_btrfs))
		return;
	if (!ask_udev(directory, &contents) && !device_contents_read(path, &contents, NULL))
		return;
	if (!device_contents_are_supported(&contents) || !contents.uuid)
		return;

	g_autofree char *label =
		g_strdelimit(g_strdup(contents.label ? contents.label : ""), "\t\n", ' ');
	fprintf(out, "%s\t%s\t%s\t%s\n", path, contents.type, contents.uuid, label);
	/* The next one may hang. */
	fflush(out);
}

static void describe_all(int fd)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GHashTable) of_btrfs = find_mounted_btrfs();
	g_autoptr(GDir) devices = g_dir_open(BLOCK_DEVICES, 0, NULL);
	FILE *out = fdopen(fd, "w");
	const char *name;

	while (out && devices && (name = g_dir_read_name(devices)))
		g_ptr_array_add(names, g_strdup(name));
	g_ptr_array_sort(names, word_compare);
	for (guint i = 0; i < names->len; i++)
		describe(names->pdata[i], of_btrfs, out);
}

/* All that the process writes, before it ends or hangs. */
static char *read_lines(int fd, bool *ret_hangs)
{
	GString *text = g_string_new(NULL);
	char chunk[CHUNK_BYTES];
	ssize_t n = 1;

	*ret_hangs = false;
	while (n > 0 && !*ret_hangs) {
		*ret_hangs = !timed_look_wait(fd);
		n = *ret_hangs ? 0 : read(fd, chunk, sizeof(chunk));
		if (n > 0)
			g_string_append_len(text, chunk, n);
	}
	return g_string_free(text, FALSE);
}

static void take_line(GPtrArray *found, const char *line)
{
	g_auto(GStrv) fields = g_strsplit(line, "\t", N_FIELDS);

	if (g_strv_length(fields) != N_FIELDS)
		return;

	UnmountedDevice *device = g_new0(UnmountedDevice, 1);
	device->path = g_strdup(fields[0]);
	device->type = g_strdup(fields[1]);
	device->uuid = g_strdup(fields[2]);
	device->label = g_strdup(fields[3]);
	g_ptr_array_add(found, device);
}

GPtrArray *unmounted_devices_find(void)
{
	GPtrArray *found = g_ptr_array_new_with_free_func(device_free);
	g_auto(Fd) fd = -1;
	pid_t child = timed_look_start(&fd);
	bool hangs;

	if (child == 0) {
		describe_all(fd);
		_exit(0);
	}
	if (child < 0)
		return found;

	g_autofree char *text = read_lines(fd, &hangs);
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	(void)timed_look_end(child, hangs);
	for (char **line = lines; *line; line++)
		take_line(found, *line);
	return found;
}

char **unmounted_devices_with(const GPtrArray *devices, const char *uuid)
{
	g_autoptr(GStrvBuilder) paths = g_strv_builder_new();

	for (guint i = 0; i < devices->len; i++) {
		const UnmountedDevice *device = devices->pdata[i];

		if (strcmp(device->uuid, uuid) == 0)
			g_strv_builder_add(paths, device->path);
	}
	return g_strv_builder_end(paths);
}

char **unmounted_device_names(const GPtrArray *devices, const UnmountedDevice *device)
{
	g_auto(GStrv) paths = unmounted_devices_with(devices, device->uuid);
	g_autoptr(GStrvBuilder) names = g_strv_builder_new();
	g_autofree char *by_uuid = g_strconcat("UUID=", device->uuid, NULL);
	g_autofree char *by_label = g_strconcat("LABEL=", device->label, NULL);

	g_strv_builder_add(names, device->uuid);
	g_strv_builder_add(names, by_uuid);
	if (device->label[0] != '\0')
		g_strv_builder_add(names, by_label);
	g_strv_builder_addv(names, (const char **)paths);
	return g_strv_builder_end(names);
}
