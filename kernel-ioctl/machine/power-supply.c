/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/machine/power-supply.h"

#include "kernel-ioctl/call/sysfs-attribute.h"

#include <glib.h>

static bool is(const char *directory, const char *name, const char *expected)
{
	g_autofree char *value = sysfs_attribute(directory, name);

	return g_strcmp0(value, expected) == 0;
}

bool power_supply_is_battery(const char *sysfs)
{
	g_autofree char *path = g_build_filename(sysfs, "class/power_supply", NULL);
	g_autoptr(GDir) supplies = g_dir_open(path, 0, NULL);
	bool is_discharging = false;
	const char *name;

	while (supplies && (name = g_dir_read_name(supplies))) {
		g_autofree char *directory = g_build_filename(path, name, NULL);

		if (is(directory, "scope", "Device"))
			continue;
		if (!is(directory, "type", "Battery") && is(directory, "online", "1"))
			return false;
		if (is(directory, "type", "Battery") && is(directory, "status", "Discharging"))
			is_discharging = true;
	}

	return is_discharging;
}
