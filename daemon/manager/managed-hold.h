/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/manager/managed-filesystem.h"

#include <sys/types.h>

/*
 * Holders of a filesystem: while there is one, no pass runs over it.
 *
 * A hold ends when its lease is closed everywhere, so it ends with the process that has it.  A running pass is
 * ended, and continues afterwards if it is still wanted.  Passes of other processes end as well (FilesystemHold).
 *
 * Thread: main.
 */
typedef struct {
	uid_t uid;
	bool is_own;        /* of root or the service's user */
	pid_t pid;          /* 0: not known */
	const char *why;    /* of any bytes; it may name files */
	int64_t since_usec; /* since 1970 */
} ManagedHold;

/* The longest reason of one holder. */
#define MANAGED_HOLD_WHY_BYTES_MAX 256

/* Holds of one filesystem at a time; only root and the service's user may have all of them. */
#define MANAGED_HOLDS_MAX           32
#define MANAGED_HOLDS_OF_OTHERS_MAX 24
#define MANAGED_HOLDS_OF_USER_MAX   8

/* How long to wait for passes to end, which is less than callers on the bus wait (25 s). */
#define MANAGED_HOLD_WAIT_USEC (UINT64_C(20) * G_USEC_PER_SEC)

/* @lease_fd, borrowed for the call, is the lease; -1: there is none, because of @error. */
typedef void (*ManagedHoldAnswer)(int lease_fd, const GError *error, void *data);

/* Whether there is room for @wanted beside the present holds. */
bool managed_filesystem_has_room_for_hold(const ManagedFilesystem *managed,
					  const ManagedHold *wanted);

/*
 * Hold the filesystem from now on.  @hold is copied, and its time is set.  @answer is called once: when no pass
 * works on the filesystem any more, or if one has not ended after MANAGED_HOLD_WAIT_USEC.
 */
void managed_filesystem_hold(ManagedFilesystem *managed, const ManagedHold *hold,
			     ManagedHoldAnswer answer, void *data);

size_t managed_filesystem_count_holds(const ManagedFilesystem *managed);

/* The hold at @index, in the order in which they began.  The text is valid until the main loop goes on. */
ManagedHold managed_filesystem_get_hold(const ManagedFilesystem *managed, size_t index);
