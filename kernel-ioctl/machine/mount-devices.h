/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * MountDevices - the additional devices of a mounted filesystem: the log and real-time devices of an XFS
 * filesystem (logdev=, rtdev= in its options), as mountinfo names them.
 *
 * Thread: any.
 */

/*
 * Paths of the additional device nodes of the filesystem on the device @major:@minor, NULL-terminated, to be freed
 * with g_strfreev().  Empty if @mountinfo (/proc/self/mountinfo) cannot be read.
 */
char **mount_devices_read(const char *mountinfo, unsigned major, unsigned minor);
