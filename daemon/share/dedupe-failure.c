/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/share/dedupe-failure.h"

SkipReason dedupe_failure_reason(DedupeOutcome outcome)
{
	switch (outcome) {
	case DEDUPE_DIFFERS:
		return SKIP_DIFFERS;
	case DEDUPE_DENIED:
		return SKIP_DENIED;
	case DEDUPE_READ_ONLY:
		return SKIP_READ_ONLY;
	case DEDUPE_SWAP_FILE:
		return SKIP_SWAP_FILE;
	case DEDUPE_NO_SPACE:
		return SKIP_NO_SPACE;
	case DEDUPE_UNREADABLE:
		return SKIP_UNREADABLE;
	case DEDUPE_INVALID:
	case DEDUPE_UNSUPPORTED:
		return SKIP_UNSUPPORTED;
	case DEDUPE_NOT_DONE:
	case DEDUPE_SAME:
	case DEDUPE_BUSY:
	case DEDUPE_FAILED:
		break;
	}

	return SKIP_BUSY;
}

GiveUp dedupe_failure_give_up(DedupeOutcome outcome)
{
	switch (outcome) {
	case DEDUPE_DIFFERS:
		return GIVE_UP_AND_FORGET;
	case DEDUPE_BUSY:
	case DEDUPE_NO_SPACE:
	case DEDUPE_READ_ONLY:
	case DEDUPE_FAILED:
		return GIVE_UP_FOR_NOW;
	default:
		return GIVE_UP_FOR_GOOD;
	}
}
