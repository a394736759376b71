/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/terminal/options.h"
#include "common/config/config.h"

/*
 * The configuration that is asked about: of the system, or what --config names.
 *
 * Thread: main.
 */
Config *configuration_read(const Options *options, GError **error);

/* Whether it is refused, so that no command makes a pass; one that the caller may not read is not. */
bool configuration_is_wrong(const Options *options);
