/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/files/extent-refs.h"
#include "daemon/context/pass.h"

/*
 * Leave the extent @target alone for @reason, and count it; @place is where to say that was, or NULL.
 * If the reason may pass the next pass tries again.
 *
 * Thread: the filesystem's worker.
 */
void extent_skips_add(Pass *pass, const Object *target, SkipReason reason, const ExtentRef *place);
