/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/settings.h"

#include <string.h>

void settings_clear(Settings *settings)
{
	g_strfreev(settings->paths);
	g_strfreev(settings->excludes);
	g_free(settings->state_directory);
	memset(settings, 0, sizeof(*settings));
}
