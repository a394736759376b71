/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>

/*
 * Whether anybody else has a file open, or mapped.
 *
 * A lease is asked for (F_SETLEASE), which the kernel grants only where nobody else has the file open,
 * and given back at once: 2 us, where looking through /proc would take as long as there are processes.
 * Also on a descriptor that is open for reading alone (checked on Linux 6.18, btrfs and XFS).  O_PATH
 * descriptors of others do not count, other ones of this process do.
 *
 * Whoever opens the file in that moment waits for it, or with O_NONBLOCK is told EWOULDBLOCK, as by
 * every lease; so ask once per file, and only where it matters.  Measured with a probe for each call, two
 * of a million such opens failed.
 *
 * Thread: any.
 */
typedef enum {
	FILE_USERS_NONE,
	FILE_USERS_OTHERS,
	/* Only the owner may ask and who has CAP_LEASE; leases may be forbidden (fs.leases-enable). */
	FILE_USERS_UNKNOWN,
} FileUsers;

/* Ask for the file that @fd has open, for reading; with @writers_only, who may write to it. */
FileUsers file_users_ask(int fd, bool writers_only);
