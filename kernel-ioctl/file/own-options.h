/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * The options of a mounted filesystem itself, which all of its mounts show alike: the last field of a line of
 * @mountinfo (/proc/self/mountinfo).  NULL: the device @major:@minor is not mounted here.  To be freed.
 *
 * Thread: any.
 */
char *own_options_read(const char *mountinfo, unsigned major, unsigned minor);
