/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/client/status-list.h"

/*
 * Print all that is known of one filesystem, a line of "name: value" each, as systemctl does.
 *
 * Thread: main.
 */
void status_block_print(const StatusList *list, const FilesystemStatus *status, bool in_bytes);
