/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/terminal/options.h"
#include "common/config/config.h"

/*
 * Read the configuration in question: the system's, or the one that --config names.
 *
 * Thread: main.
 */
Config *configuration_read(const Options *options, GError **error);

/*
 * Whether the configuration is refused, so that no command makes a pass.  A configuration that the caller may
 * not read does not count as refused.
 */
bool configuration_is_wrong(const Options *options);
