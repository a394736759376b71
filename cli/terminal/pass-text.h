/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/objects/history.h"

/*
 * Texts about a pass, the same for every verb.
 *
 * Thread: any.
 */

/* Escaped for a terminal. */
char *pass_mount_point(const PassRecord *pass);
