/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/config/settings.h"

/*
 * Policies - the names of policies, and the text that records under which of them a store was settled.
 *
 * Pure.  Thread: any.
 */

/* The names of their values, in the order of the enums; NULL-terminated. */
extern const char *const zeros_policy_names[];
extern const char *const find_policy_names[];
extern const char *const read_policy_names[];
extern const char *const snapshot_policy_names[];
extern const char *const no_cow_policy_names[];
extern const char *const compressed_policy_names[];
extern const char *const rewrite_policy_names[];
extern const char *const owners_policy_names[];
extern const char *const changing_policy_names[];
extern const char *const enable_policy_names[];
extern const char *const mode_names[];
extern const char *const sleeping_policy_names[];
extern const char *const hardship_policy_names[];
extern const char *const pressure_policy_names[];
extern const char *const rotating_policy_names[];
extern const char *const priority_policy_names[];

/*
 * The policies that decide what may be shared, as one text.  Defaults are left out, so that the texts of older
 * versions, which lacked a policy, stay equal.  Policies about reading files are not part of it: each object
 * records them.
 */
char *policies_text(const Settings *settings);
