/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/client/daemon-client.h"

/*
 * Why a filesystem is in its state, in words: the stage of its pass and how far that is, what it waits
 * for, what is wrong.  Escaped for a terminal.
 *
 * Thread: any.
 */
char *filesystem_why_text(const DaemonFilesystem *filesystem);
