/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/pass-text.h"

#include "daemon/name-text.h"

#include <string.h>

const char *pass_outcome_name(PassOutcome outcome)
{
	switch (outcome) {
	case PASS_COMPLETE:
		return "complete";
	case PASS_INTERRUPTED:
		return "interrupted";
	case PASS_FAILED:
		return "failed";
	}
	return "unknown";
}

char *pass_mount_point(const PassRecord *pass)
{
	const char *mount_point = pass->mount_point ? pass->mount_point : "";

	return name_text(mount_point, strlen(mount_point));
}
