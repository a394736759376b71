/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>

/*
 * FailingCall - one of the calls to what tests stand in for fails: to SQLite (FailingStore), and to the kernel of
 * FakeBtrfs.
 *
 * Thread: one at a time.
 */

/* The call of this number fails, counted from now on; 0: none. */
void failing_call_arm(unsigned number);

/* Whether it has failed since. */
bool failing_call_has_failed(void);

/* Whether the present call is the one. */
bool failing_call_is_now(void);
