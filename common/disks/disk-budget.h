/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * DiskBudget - what one disk may be asked for per second, by all who use it together.
 *
 * A bucket that fills at the rate, and holds little of it: a sixteenth of a second, so that what is
 * asked for in any second is hardly more than the rate allows.  Who takes more than is there puts it
 * in debt, which the next one waits for.  Of several who wait, that one comes first which has had
 * the fewest bytes since it began to want some (start-time fair queueing: Goyal, Vin, Cheng, SIGCOMM
 * 1996), so two passes on one disk get the same whatever the sizes of their requests.
 *
 * Time is told by the caller, who also sleeps: so limits may change while someone waits.
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
 * Replaced as a whole, mostly by main, and read by all threads (common/threads/rcu.h): so no one waits for
 * the other, also not for a thread of a pass that does not get the processor.
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

/* What other work on the disk leaves.  If the budget makes way, the lesser of this and the limits counts. */
void disk_budget_set_pressure(DiskBudget *budget, const DiskLimits *limits);

/* Whether anyone would ever have to wait. */
bool disk_budget_is_limited(const DiskBudget *budget);

/* What all users together were charged for so far, in bytes. */
uint64_t disk_budget_charged_bytes(const DiskBudget *budget);

/*
 * DiskUser - one thread that uses the disk.
 *
 * Thread: its own.
 */
typedef struct DiskUser DiskUser;

DiskUser *disk_user_new(DiskBudget *budget);

/* Whatever it waits for is given up. */
void disk_user_free(DiskUser *user);

/* The longest time that disk_user_ask() says. */
#define DISK_USER_NAP_USEC 25000

/*
 * Ask for leave.  0: granted, and charged.  Else in how many microseconds to ask again, at most
 * DISK_USER_NAP_USEC; until then the user has its place among those who wait.
 */
int64_t disk_user_ask(DiskUser *user, const DiskLimits *wanted, int64_t now_usec);

/* No longer wait for what was asked for. */
void disk_user_give_up(DiskUser *user);

/* Charge what was not asked for, or give back, below zero, what was not needed. */
void disk_user_settle(DiskUser *user, int64_t bytes, int64_t requests);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(DiskBudget, disk_budget_unref)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DiskUser, disk_user_free)
