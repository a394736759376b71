/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/context/pass-result.h"

void pass_result_add_known(PassResult *result, SkipReason reason)
{
	if (reason == SKIP_UNREADABLE)
		result->n_known_unreadable++;
}

uint64_t pass_result_pinned_bytes(const PassResult *result)
{
	uint64_t bytes = 0;

	for (size_t cause = PIN_NONE + 1; cause < PIN_CAUSES; cause++)
		bytes += result->ledger.pinned[cause].bytes;
	return bytes;
}

uint64_t pass_result_freed_low(const PassResult *result)
{
	return result->freed.bytes - MIN(result->freed.unsure_bytes, result->freed.bytes);
}

uint64_t pass_result_freed_high(const PassResult *result)
{
	uint64_t bytes = result->freed.bytes;

	if (!result->is_dry_run || !result->found_by_checksums)
		return bytes;
	/* Everything copied may equal something, and then pinned extents may be covered. */
	return bytes + result->rewritten.bytes - result->deferred.written_bytes +
	       pass_result_pinned_bytes(result);
}

int64_t pass_result_net_bytes(const PassResult *result)
{
	return (int64_t)(result->freed.bytes - result->deferred.written_bytes) -
	       result->freed.kept_bytes;
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
	g_clear_pointer(&result->unmatched, g_strfreev);
	skip_ledger_clear(&result->skips);
	pin_ledger_clear(&result->pins);
}
