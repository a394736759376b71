/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * MountDevices - the devices beside its own that a filesystem is mounted with: the log and the
 * real-time data of an XFS (logdev=, rtdev= in its options), as mountinfo names them.
 *
 * Thread: any.
 */

/*
 * Paths of the device nodes of what lies on the device @major:@minor, NULL-terminated, to be freed
 * with g_strfreev(); none where @mountinfo (/proc/self/mountinfo) cannot be read.
 */
char **mount_devices_read(const char *mountinfo, unsigned major, unsigned minor);
