/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/pass-result.h"

void pass_result_add_known(PassResult *result, SkipReason reason)
{
	if (reason == SKIP_UNREADABLE)
		result->n_known_unreadable++;
}

const char *pass_result_trouble(const PassResult *result)
{
	return result->error ? result->error->message : result->stopped_reason;
}

void pass_result_clear(PassResult *result)
{
	g_clear_error(&result->error);
	g_clear_pointer(&result->stopped_reason, g_free);
	g_clear_pointer(&result->deferred.last_snapshot, g_free);
	g_clear_pointer(&result->store.path, g_free);
	skip_ledger_clear(&result->skips);
	pin_ledger_clear(&result->pins);
}
