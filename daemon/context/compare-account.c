/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/context/compare-account.h"

#include <glib.h>

/* The slack pays for blocks with this many references, whatever the factor is. */
#define SLACK_REFERENCES 32

static bool is_within(const CompareAccount *account, uint64_t cost_bytes, uint64_t gain_bytes,
		      uint64_t slack_bytes)
{
	return account->compared_bytes + cost_bytes <=
	       account->factor * (account->gained_bytes + gain_bytes) + slack_bytes;
}

bool compare_account_allows(const CompareAccount *account, uint64_t cost_bytes, uint64_t gain_bytes)
{
	return is_within(account, cost_bytes, gain_bytes, COMPARE_SLACK_BYTES);
}

bool compare_account_is_low(const CompareAccount *account)
{
	return !is_within(account, 0, 0, COMPARE_SLACK_BYTES / 2);
}

size_t compare_account_most_references(const CompareAccount *account)
{
	return MAX(account->factor, SLACK_REFERENCES);
}

uint64_t compare_account_cost(uint64_t bytes, uint64_t n_references, bool is_hole)
{
	return (n_references + (is_hole ? 0 : 1)) * bytes;
}
