/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/config/config.h"
#include "daemon/context/filesystem.h"

/*
 * What a pass is to do: the command line over the configuration of its filesystem over that of all
 * over what is built in.
 *
 * Thread: main.
 */

/* The configuration that @settings, those of the command line alone, ask for. */
Config *pass_settings_read_config(const Settings *settings, GError **error);

/* Of @filesystem the settings; NULL: without any.  @arguments are those of the command line. */
bool pass_settings_make(const Config *config, char *const *arguments, const Filesystem *filesystem,
			Settings *ret, bool *ret_done, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * The same for the service, of a filesystem that goes by each of @names: see config_settings().
 * Everybody else's work comes first there, unless the command line says otherwise.
 */
bool pass_settings_make_resident(const Config *config, char *const *arguments,
				 const char *const *names, Settings *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
