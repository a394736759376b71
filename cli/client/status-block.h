/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/client/status-list.h"

/*
 * Print all that is known of one filesystem, one "name: value" per line, as systemctl does.
 *
 * Thread: main.
 */
void status_block_print(const StatusList *list, const FilesystemStatus *status, bool in_bytes);
