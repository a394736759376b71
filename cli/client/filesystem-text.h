/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/client/daemon-client.h"

/*
 * Explain the state of a filesystem in words: the stage and progress of its pass, what it waits for, or what is
 * wrong.  Escaped for a terminal.
 *
 * Thread: any.
 */
char *filesystem_why_text(const DaemonFilesystem *filesystem);
