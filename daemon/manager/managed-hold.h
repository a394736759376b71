/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/manager/main-loop.h"

#include <stdbool.h>
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

/* The holders of one filesystem. */
typedef struct ManagedHolds ManagedHolds;

typedef struct {
	/* Whether a pass of the service runs over it. */
	bool (*pass_runs)(void *data);
	/* A holder came, so passes have to end. */
	void (*begun)(void *data);
	void (*changed)(void *data);
	void *data;
} ManagedHoldsListener;

/* @uuid is borrowed. */
ManagedHolds *managed_holds_new(const char *uuid, MainLoop *loop,
				const ManagedHoldsListener *listener);

/* End all holds, as the service ends. */
void managed_holds_free(ManagedHolds *holds);

/* Whether there is room for @wanted beside the present holds. */
bool managed_holds_have_room(const ManagedHolds *holds, const ManagedHold *wanted);

/*
 * Hold the filesystem from now on.  @hold is copied, and its time is set.  @answer is called once: when no pass
 * works on the filesystem any more, or if one has not ended after MANAGED_HOLD_WAIT_USEC.
 */
void managed_holds_add(ManagedHolds *holds, const ManagedHold *hold, ManagedHoldAnswer answer,
		       void *data);

size_t managed_holds_count(const ManagedHolds *holds);

/* The hold at @index, in the order in which they began.  The text is valid until the main loop goes on. */
ManagedHold managed_holds_get(const ManagedHolds *holds, size_t index);

/* The holders with their reasons, in words that may name files.  There must be a holder. */
char *managed_holds_text(const ManagedHolds *holds);
