/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/config/settings.h"

#include <string.h>

void settings_clear(Settings *settings)
{
	g_strfreev(settings->paths);
	g_strfreev(settings->excludes);
	g_strfreev(settings->patterns);
	g_clear_pointer(&settings->windows, g_array_unref);
	g_free(settings->state_directory);
	g_free(settings->fleet_key);
	g_free(settings->metrics_file);
	g_free(settings->config);
	memset(settings, 0, sizeof(*settings));
}

void settings_add_excludes(Settings *settings, char *const *more)
{
	g_autoptr(GStrvBuilder) all = g_strv_builder_new();

	if (settings->excludes)
		g_strv_builder_addv(all, (const char **)settings->excludes);
	if (more)
		g_strv_builder_addv(all, (const char **)more);
	g_strfreev(settings->excludes);
	settings->excludes = g_strv_builder_end(all);
}

Settings *settings_new(void)
{
	return g_rc_box_new0(Settings);
}

Settings *settings_copy(const Settings *settings)
{
	Settings *copy = settings_new();

	*copy = *settings;
	copy->paths = g_strdupv(settings->paths);
	copy->excludes = g_strdupv(settings->excludes);
	copy->patterns = g_strdupv(settings->patterns);
	copy->windows = settings->windows ? g_array_copy(settings->windows) : NULL;
	copy->state_directory = g_strdup(settings->state_directory);
	copy->fleet_key = g_strdup(settings->fleet_key);
	copy->metrics_file = g_strdup(settings->metrics_file);
	copy->config = g_strdup(settings->config);
	return copy;
}

Settings *settings_ref(Settings *settings)
{
	return g_rc_box_acquire(settings);
}

static void clear(void *settings)
{
	settings_clear(settings);
}

void settings_unref(Settings *settings)
{
	g_rc_box_release_full(settings, clear);
}
