/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/text/exit-status.h"

#include <stddef.h>

/* From the best to the worst. */
static const ExitStatus order[] = { EXIT_STATUS_DONE,         EXIT_STATUS_UNREADABLE,
				    EXIT_STATUS_STOPPED,      EXIT_STATUS_IN_USE,
				    EXIT_STATUS_DISK_FAILING, EXIT_STATUS_FAILED };

static size_t rank(ExitStatus status)
{
	size_t i = 0;

	while (i < sizeof(order) / sizeof(order[0]) && order[i] != status)
		i++;
	return i;
}

ExitStatus exit_status_worse(ExitStatus one, ExitStatus other)
{
	return rank(other) > rank(one) ? other : one;
}
