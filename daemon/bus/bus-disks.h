/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <systemd/sd-bus.h>

/*
 * Disks and their budgets on the manager's bus object: handlers for its table, whose data is the Bus.
 *
 * Thread: main.
 */
int bus_disks_list(sd_bus_message *message, void *bus, sd_bus_error *error);
int bus_disks_set_budget(sd_bus_message *message, void *bus, sd_bus_error *error);
