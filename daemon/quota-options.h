/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>

/*
 * Whether the options of a mounted XFS, as the kernel shows them, say that it counts the space of users,
 * groups or projects.  It counts a shared block to each owner of a file that has it, so sharing relieves
 * nobody's quota.
 *
 * Pure.  Thread: any.
 */
bool quota_options_are_on(const char *options);
