/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/machine/device-links.h"
#include "tests/unit/scratch.h"

#include <unistd.h>

static void add_link(const Scratch *dev, const char *target, const char *name)
{
	g_autofree char *path = scratch_path(dev, name);
	g_autofree char *directory = g_path_get_dirname(path);

	g_assert_cmpint(g_mkdir_with_parents(directory, 0755), ==, 0);
	g_assert_cmpint(symlink(target, path), ==, 0);
}

static void assert_links(DeviceLinks *links, const char *directory, const char *device,
			 const char *expected)
{
	g_autofree char *found =
		g_strjoinv(" ", (char **)device_links_to(links, directory, device));

	g_assert_cmpstr(found, ==, expected);
}

static void test_links_are_found_by_their_device(void)
{
	g_autoptr(Scratch) dev = scratch_new();
	g_autoptr(DeviceLinks) links = device_links_new(dev->path);

	add_link(dev, "../../sda", "disk/by-id/wwn-2");
	add_link(dev, "../../sda", "disk/by-id/ata-1");
	add_link(dev, "../../sda1", "disk/by-id/ata-1-part1");
	add_link(dev, "../../sda1", "disk/by-label/pool");
	scratch_put(dev, "disk/by-id/no-link", "");

	assert_links(links, "by-id", "sda", "ata-1 wwn-2");
	assert_links(links, "by-id", "sda1", "ata-1-part1");
	assert_links(links, "by-label", "sda1", "pool");
	assert_links(links, "by-label", "sda", "");
	assert_links(links, "by-path", "sda", "");
}

static void test_without_udev_there_are_none(void)
{
	g_autoptr(DeviceLinks) links = device_links_new("/nonexistent");

	assert_links(links, "by-id", "sda", "");
}

/* However many devices are asked for. */
static void test_a_directory_is_read_once(void)
{
	g_autoptr(Scratch) dev = scratch_new();
	g_autoptr(DeviceLinks) links = device_links_new(dev->path);

	add_link(dev, "../../sda", "disk/by-id/ata-1");
	assert_links(links, "by-id", "sda", "ata-1");
	add_link(dev, "../../sdb", "disk/by-id/ata-2");
	assert_links(links, "by-id", "sdb", "");

	g_autoptr(DeviceLinks) later = device_links_new(dev->path);
	assert_links(later, "by-id", "sdb", "ata-2");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/device-links/devices", test_links_are_found_by_their_device);
	g_test_add_func("/device-links/without", test_without_udev_there_are_none);
	g_test_add_func("/device-links/once", test_a_directory_is_read_once);
	return g_test_run();
}
