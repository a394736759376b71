/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>

/*
 * FileUsers - whether anybody else has a file open or mapped.
 *
 * The test asks for a lease (F_SETLEASE) and returns it at once.  The kernel grants a lease only if nobody
 * else has the file open.  It takes 2 us, while a search of /proc takes time per process.  A descriptor open
 * only for reading is enough (checked on Linux 6.18, btrfs and XFS).  O_PATH descriptors of others do not
 * count; other descriptors of this process do.
 *
 * A program that opens the file in that moment waits, or gets EWOULDBLOCK with O_NONBLOCK, as with every
 * lease.  So ask once per file, and only if it matters.  In a test with a probe for each call, two of a million
 * such opens failed.
 *
 * Thread: any.
 */
typedef enum {
	FILE_USERS_NONE,
	FILE_USERS_OTHERS,
	/* Only the owner, or a process with CAP_LEASE, may ask; fs.leases-enable may forbid leases. */
	FILE_USERS_UNKNOWN,
} FileUsers;

/* @fd is open for reading.  With @writers_only, only users that have the file open for writing count. */
FileUsers file_users_ask(int fd, bool writers_only);
