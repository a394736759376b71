/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/pass.h"

/*
 * The devices of a pass: watch them (DeviceWatch), end the pass if they fail, and remember their errors for the
 * next one.
 *
 * Thread: the filesystem's worker.
 */

/* Watch them from now on. */
bool pass_devices_begin(Pass *pass, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Look at the devices if that is due.  Wait if they are busy.  End the pass if they fail, or if somebody holds the
 * filesystem.
 */
void pass_devices_look(const Pass *pass);

/* Look at once, without waiting.  Returns whether the devices fail, which ends the pass. */
bool pass_devices_fail(const Pass *pass);

/* Whether the devices are why the pass failed with *@error.  That is an outcome: it replaces the error. */
bool pass_devices_explain(const Pass *pass, GError **error);

/* Note in the store how many errors there are by now. */
bool pass_devices_note(Pass *pass, GError **error) G_GNUC_WARN_UNUSED_RESULT;
