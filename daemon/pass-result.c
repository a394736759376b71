/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/pass-result.h"

void pass_result_clear(PassResult *result)
{
	g_clear_error(&result->error);
	g_clear_pointer(&result->store.path, g_free);
	skip_ledger_clear(&result->skips);
	pin_ledger_clear(&result->pins);
}
