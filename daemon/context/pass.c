/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/context/pass.h"

#include "common/mounts/pattern-look.h"
#include "daemon/context/pass-devices.h"

#define COMMIT_USEC (30 * G_USEC_PER_SEC)
#define DAY_USEC    (INT64_C(86400) * G_USEC_PER_SEC)

bool pass_pay(const Pass *pass)
{
	if (pass->throttle && !atomic_load(pass->stop))
		throttle_settle(pass->throttle, pass->stop);

	return !atomic_load(pass->stop);
}

bool pass_checkpoint(const Pass *pass)
{
	if (!pass_pay(pass))
		return false;

	if (pass->watch)
		pass_devices_look(pass);

	return !atomic_load(pass->stop);
}

bool pass_flush_shared(const Pass *pass, GError **error)
{
	return pass->result->shared.runs == 0 || pass->settings->dry_run ||
	       filesystem_flush(pass->filesystem, error);
}

uint32_t pass_day(const Pass *pass)
{
	return (uint32_t)(pass->result->started_usec / DAY_USEC);
}

bool pass_commit(Pass *pass, GError **error)
{
	return pass_devices_fail(pass) || hash_store_commit(pass->store, error);
}

bool pass_commit_when_due(Pass *pass, GError **error)
{
	int64_t now_usec = g_get_monotonic_time();

	if (now_usec - pass->committed_usec < COMMIT_USEC)
		return true;

	pass->committed_usec = now_usec;
	return pass_commit(pass, error);
}

void pass_note_unmatched(const Pass *pass, bool looked_at_all)
{
	g_autofree const char **patterns = filter_unmatched_patterns(pass->filter);
	g_autoptr(GStrvBuilder) noted = g_strv_builder_new();

	for (size_t i = 0; patterns[i]; i++)
		if (looked_at_all || pattern_is_of_nothing(pass->filesystem->mount_point,
							   patterns[i] + (*patterns[i] == '!')))
			g_strv_builder_add(noted, patterns[i]);
	pass->result->unmatched = g_strv_builder_end(noted);
}
