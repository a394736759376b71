/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/failing-call.h"

static unsigned n_until_failure;
static bool has_failed;

void failing_call_arm(unsigned number)
{
	n_until_failure = number;
	has_failed = false;
}

bool failing_call_has_failed(void)
{
	return has_failed;
}

bool failing_call_is_now(void)
{
	if (n_until_failure == 0 || --n_until_failure > 0)
		return false;

	has_failed = true;
	return true;
}
