/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/config/config.h"
#include "daemon/context/filesystem.h"

/*
 * The settings of a pass: the command line over the section of its filesystem over the general section over the
 * defaults.
 *
 * Thread: main.
 */

/* The settings of @filesystem; NULL: of none.  @arguments are those of the command line. */
bool pass_settings_make(const Config *config, char *const *arguments, const Filesystem *filesystem,
			Settings *ret, bool *ret_done, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * The same for the service, for a filesystem with any of @names: see config_settings().  A pass of the service
 * yields to all other work, unless the command line says otherwise.
 */
bool pass_settings_make_resident(const Config *config, char *const *arguments,
				 const char *const *names, Settings *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
