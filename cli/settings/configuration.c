/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/settings/configuration.h"

#include <string.h>

Config *configuration_read(const Options *options, GError **error)
{
	if (!options->config)
		return config_read(config_places_standard(), error);
	if (strcmp(options->config, "none") == 0)
		return config_new();
	return config_read_file(options->config, error);
}

bool configuration_is_wrong(const Options *options)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(Config) config = configuration_read(options, &error);

	return !config && g_error_matches(error, CONFIG_ERROR, CONFIG_ERROR_WRONG);
}
