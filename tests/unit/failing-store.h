/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/hash-store.h"

/*
 * FailingStore - what a step makes of a store that fails, and of a failing kernel of FakeBtrfs.  It is the sqlite3_step()
 * and the sqlite3_prepare_v3() of a program that links it.  For hashstore itself, test-failing-statements.c does this.
 *
 * Thread: one at a time.
 */
typedef bool FailingStep(void *data, GError **error);

/*
 * Commit, and call @step again and again: at first the first of its calls fails, then the second one, and so on, until
 * it makes fewer.  It must return false if and only if it sets an error.  It may do without a call, but not without all
 * of them, and does its work in the end.  After each failure the store is rolled back.  A failure in it fails the test.
 */
void failing_store_try(HashStore *store, FailingStep *step, void *data);
