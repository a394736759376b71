/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>

/*
 * OwnOptions - the options of mounted filesystems themselves, which all mounts of one show alike: the last field of a
 * line of mountinfo.
 *
 * Mountinfo is read when options are first asked for, and then never again.  So an object serves one piece of work over
 * many filesystems, and is not kept.
 *
 * Thread: one at a time.
 */
typedef struct OwnOptions OwnOptions;

/* @mountinfo is "/proc/self/mountinfo". */
OwnOptions *own_options_new(const char *mountinfo);
void own_options_free(OwnOptions *options);

/*
 * The options of what lies on the device @major:@minor; borrowed.  NULL: it is not mounted here, or
 * mountinfo cannot be read.
 */
const char *own_options_of(OwnOptions *options, unsigned major, unsigned minor);

/* The same for one device alone, to be freed. */
char *own_options_read(const char *mountinfo, unsigned major, unsigned minor);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(OwnOptions, own_options_free)
