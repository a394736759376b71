/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/settings.h"

#include <string.h>

void settings_clear(Settings *settings)
{
	g_strfreev(settings->paths);
	g_strfreev(settings->excludes);
	g_strfreev(settings->patterns);
	g_clear_pointer(&settings->windows, g_array_unref);
	g_free(settings->state_directory);
	g_free(settings->config);
	memset(settings, 0, sizeof(*settings));
}
