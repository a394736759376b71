/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/machine/device-links.h"

#include <string.h>

struct DeviceLinks {
	char *path;
	GHashTable *directories; /* name -> GHashTable of a device -> GPtrArray of names */
};

DeviceLinks *device_links_new(const char *dev)
{
	DeviceLinks *links = g_new0(DeviceLinks, 1);

	links->path = g_build_filename(dev, "disk", NULL);
	links->directories = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
						   (GDestroyNotify)g_hash_table_unref);
	return links;
}

void device_links_free(DeviceLinks *links)
{
	if (!links)
		return;

	g_hash_table_unref(links->directories);
	g_free(links->path);
	g_free(links);
}

static int compare_names(const void *one, const void *other)
{
	return strcmp(*(const char *const *)one, *(const char *const *)other);
}

static void add_link(GHashTable *by_device, const char *directory, const char *name)
{
	g_autofree char *link = g_build_filename(directory, name, NULL);
	g_autofree char *target = g_file_read_link(link, NULL);
	g_autofree char *device = target ? g_path_get_basename(target) : NULL;
	GPtrArray *names = device ? g_hash_table_lookup(by_device, device) : NULL;

	if (!device)
		return;
	if (!names) {
		names = g_ptr_array_new_with_free_func(g_free);
		g_hash_table_insert(by_device, g_steal_pointer(&device), names);
	}
	g_ptr_array_add(names, g_strdup(name));
}

static GHashTable *read_directory(const char *path)
{
	GHashTable *by_device = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
						      (GDestroyNotify)g_ptr_array_unref);
	g_autoptr(GDir) directory = g_dir_open(path, 0, NULL);
	const char *name;
	GHashTableIter iterator;
	void *names;

	while (directory && (name = g_dir_read_name(directory)))
		add_link(by_device, path, name);
	g_hash_table_iter_init(&iterator, by_device);
	while (g_hash_table_iter_next(&iterator, NULL, &names)) {
		g_ptr_array_sort(names, compare_names);
		g_ptr_array_add(names, NULL);
	}
	return by_device;
}

const char *const *device_links_to(DeviceLinks *links, const char *directory, const char *device)
{
	static const char *const none[] = { NULL };
	GHashTable *by_device = g_hash_table_lookup(links->directories, directory);
	const GPtrArray *names;

	if (!by_device) {
		g_autofree char *path = g_build_filename(links->path, directory, NULL);

		by_device = read_directory(path);
		g_hash_table_insert(links->directories, g_strdup(directory), by_device);
	}
	names = g_hash_table_lookup(by_device, device);
	return names ? (const char *const *)names->pdata : none;
}
