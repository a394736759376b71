/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * DiskBudget - the bytes and requests per second that all users of one disk together may have.
 *
 * It is a token bucket whose capacity is a sixteenth of a second: so no second has much more than the rate.  A
 * user may put the bucket in debt, and the next user waits for it.  Of several waiting users, the one that has
 * had the fewest bytes comes first (start-time fair queueing: Goyal, Vin, Cheng, SIGCOMM 1996).  So two passes
 * on one disk get equal shares for any sizes of requests.
 *
 * The caller passes the time and sleeps itself, so limits may change while somebody waits.
 *
 * Thread: any.
 */
typedef struct DiskBudget DiskBudget;

/* Per second; 0: no limit. */
typedef struct {
	uint64_t bytes;
	uint64_t requests;
} DiskLimits;

/*
 * DiskRules - what is in force for a disk.
 *
 * Main mostly replaces it as a whole, and all threads read it (common/threads/rcu.h).  So no thread
 * waits for another, even if that one does not get the processor.
 */
typedef struct {
	DiskLimits limits; /* the user's */
	bool is_set;       /* they were set, and are not those of the configuration */
	bool makes_way;    /* the pressure counts, too */
	bool is_rotating;
} DiskRules;

DiskBudget *disk_budget_new(const DiskRules *rules);
DiskBudget *disk_budget_ref(DiskBudget *budget);
void disk_budget_unref(DiskBudget *budget);

void disk_budget_set_rules(DiskBudget *budget, const DiskRules *rules);
DiskRules disk_budget_rules(const DiskBudget *budget);

/* Set the limits that other work on the disk leaves.  If the budget makes way, the lower limits apply. */
void disk_budget_set_pressure(DiskBudget *budget, const DiskLimits *limits);

/* False if nobody would ever have to wait. */
bool disk_budget_is_limited(const DiskBudget *budget);

/* The bytes charged to all users so far. */
uint64_t disk_budget_charged_bytes(const DiskBudget *budget);

/*
 * DiskUser - one thread that uses the disk.
 *
 * Thread: its own.
 */
typedef struct DiskUser DiskUser;

DiskUser *disk_user_new(DiskBudget *budget);

/* Gives up a pending request. */
void disk_user_free(DiskUser *user);

/* The longest wait that disk_user_ask() returns. */
#define DISK_USER_NAP_USEC 25000

/*
 * Ask for permission.  0: granted, and charged.  Otherwise the time in us after which to ask again, at most
 * DISK_USER_NAP_USEC; until then the user keeps its place in the queue.
 */
int64_t disk_user_ask(DiskUser *user, const DiskLimits *wanted, int64_t now_usec);

/* Withdraw the pending request. */
void disk_user_give_up(DiskUser *user);

/* Charge I/O without a request, or refund (below zero) I/O that was not needed. */
void disk_user_settle(DiskUser *user, int64_t bytes, int64_t requests);

/* Count I/O from the time without a limit: it adds to the charged bytes, and no request waits for it. */
void disk_user_note(DiskUser *user, int64_t bytes);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(DiskBudget, disk_budget_unref)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DiskUser, disk_user_free)
