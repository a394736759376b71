/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/pass.h"

/*
 * What a pass does about the devices that it works on: it has them watched (DeviceWatch), ends when they
 * fail, and has the next one know of errors that there were.
 *
 * Thread: the filesystem's worker.
 */

/* Watch them from now on. */
bool pass_devices_begin(Pass *pass, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Look at them when that is due, wait if they are busy, and end the pass if they fail or somebody holds it. */
void pass_devices_look(const Pass *pass);

/* Look at once, and without waiting: whether they fail, which ends the pass. */
bool pass_devices_fail(const Pass *pass);

/*
 * Whether the pass, which has failed with *@error, did so for its devices: that is an outcome, and takes
 * the place of the error.
 */
bool pass_devices_explain(const Pass *pass, GError **error);

/* Have the store remember what errors there are by now. */
bool pass_devices_note(Pass *pass, GError **error) G_GNUC_WARN_UNUSED_RESULT;
