/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>

/*
 * PowerSupply - whether the machine runs on battery.
 *
 * It does when a battery of its own discharges and no other supply is online.  Facts: each entry of
 * /sys/class/power_supply has a type.  Mains and USB supplies are online or not; a battery has a status.  Its
 * scope is Device if it powers a mouse (Documentation/ABI/testing/sysfs-class-power).
 *
 * @sysfs is "/sys", except in tests.  Thread: any.
 */
bool power_supply_is_battery(const char *sysfs);
