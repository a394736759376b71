/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/pass.h"

/*
 * The phases of a pass that reads files: XFS, and btrfs without the use of its checksums.
 *
 * Thread: the pass's.
 */
bool file_pass_steps(Pass *pass, GError **error);
