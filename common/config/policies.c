/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/config/policies.h"

const char *const zeros_policy_names[] = {
	[ZEROS_AUTO] = "auto",
	[ZEROS_HOLE] = "hole",
	[ZEROS_KEEP] = "keep",
	[ZEROS_SHARE] = "share",
	NULL,
};

const char *const find_policy_names[] = {
	[FIND_AUTO] = "auto",
	[FIND_CHECKSUMS] = "checksums",
	[FIND_READ] = "read",
	NULL,
};

const char *const read_policy_names[] = {
	[READ_POLICY_ALL] = "all",
	[READ_POLICY_SAME_SIZE] = "same-size",
	NULL,
};

const char *const snapshot_policy_names[] = {
	[SNAPSHOTS_AUTO] = "auto",         [SNAPSHOTS_SHARE] = "share",
	[SNAPSHOTS_WRITABLE] = "writable", [SNAPSHOTS_SOURCE] = "source",
	[SNAPSHOTS_SKIP] = "skip",         NULL,
};

const char *const no_cow_policy_names[] = {
	[NO_COW_SKIP] = "skip",
	[NO_COW_SHARE] = "share",
	NULL,
};

const char *const compressed_policy_names[] = {
	[COMPRESSED_SUMS] = "sums",
	[COMPRESSED_READ] = "read",
	NULL,
};

const char *const changing_policy_names[] = {
	[CHANGING_WAIT] = "wait",
	[CHANGING_READ] = "read",
	NULL,
};

const char *const rewrite_policy_names[] = {
	[REWRITE_AUTO] = "auto",
	[REWRITE_MORE] = "more",
	[REWRITE_NEVER] = "never",
	NULL,
};

const char *const owners_policy_names[] = {
	[ACROSS_OWNERS] = "yes",
	[WITHIN_OWNERS] = "no",
	NULL,
};

const char *const enable_policy_names[] = {
	[ENABLE_YES] = "yes",
	[ENABLE_NO] = "no",
	NULL,
};

const char *const mode_names[] = {
	[MODE_TIMER] = "timer",
	[MODE_RESIDENT] = "resident",
	NULL,
};

const char *const sleeping_policy_names[] = {
	[SLEEPING_RESPECT] = "respect",
	[SLEEPING_WAKE] = "wake",
	NULL,
};

const char *const hardship_policy_names[] = {
	[HARDSHIP_PAUSE] = "pause",
	[HARDSHIP_RUN] = "run",
	NULL,
};

const char *const pressure_policy_names[] = {
	[PRESSURE_AUTO] = "auto",
	[PRESSURE_ON] = "on",
	[PRESSURE_OFF] = "off",
	NULL,
};

const char *const rotating_policy_names[] = {
	[ROTATING_AUTO] = "auto",
	[ROTATING_YES] = "yes",
	[ROTATING_NO] = "no",
	NULL,
};

const char *const priority_policy_names[] = {
	[PRIORITY_NORMAL] = "normal",
	[PRIORITY_IDLE] = "idle",
	NULL,
};

char *policies_text(const Settings *settings)
{
	g_autoptr(GString) text = g_string_new(zeros_policy_names[settings->zeros]);

	if (settings->read_only_snapshots != SNAPSHOTS_AUTO)
		g_string_append_printf(text, " read-only-snapshots=%s",
				       snapshot_policy_names[settings->read_only_snapshots]);
	if (settings->no_data_cow != NO_COW_SKIP)
		g_string_append_printf(text, " no-data-cow=%s",
				       no_cow_policy_names[settings->no_data_cow]);
	if (settings->compressed != COMPRESSED_SUMS)
		g_string_append_printf(text, " compressed=%s",
				       compressed_policy_names[settings->compressed]);
	if (settings->min_run_bytes != SETTINGS_MIN_RUN_BYTES)
		g_string_append_printf(text, " min-run=%" G_GUINT64_FORMAT,
				       settings->min_run_bytes);
	if (settings->max_compare != SETTINGS_MAX_COMPARE_AUTO)
		g_string_append_printf(text, " max-compare=%u", settings->max_compare);
	if (settings->rewrite != REWRITE_AUTO)
		g_string_append_printf(text, " rewrite=%s",
				       rewrite_policy_names[settings->rewrite]);
	if (settings->across_owners != ACROSS_OWNERS)
		g_string_append_printf(text, " across-owners=%s",
				       owners_policy_names[settings->across_owners]);
	return g_string_free(g_steal_pointer(&text), false);
}
