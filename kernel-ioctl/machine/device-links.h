/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>

/*
 * DeviceLinks - udev's links to block devices, such as those in /dev/disk/by-id, by the devices that they lead to.
 *
 * A directory is read when it is first asked for, and then never again.  So an object serves one piece of work over many
 * devices, and is not kept: udev changes the links at any time.
 *
 * Thread: one at a time.
 */
typedef struct DeviceLinks DeviceLinks;

/* @dev is the directory of device nodes ("/dev"). */
DeviceLinks *device_links_new(const char *dev);
void device_links_free(DeviceLinks *links);

/*
 * The names of the links in @directory, such as "by-id", to the device with the kernel's name @device.  They are sorted
 * and NULL-terminated.  Empty without udev.  Owned by @links.
 */
const char *const *device_links_to(DeviceLinks *links, const char *directory, const char *device);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(DeviceLinks, device_links_free)
