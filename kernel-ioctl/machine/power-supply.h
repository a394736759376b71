/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>

/*
 * PowerSupply - whether the machine runs on battery.
 *
 * It does when a battery of its own discharges and nothing else gives power.  Facts: each entry of
 * /sys/class/power_supply has a type; Mains and USB ones are online or not, a battery has a status, and
 * scope is Device where it powers a mouse and not the machine
 * (Documentation/ABI/testing/sysfs-class-power).
 *
 * @sysfs is "/sys", or where a test has its own.  Thread: any.
 */
bool power_supply_is_battery(const char *sysfs);
