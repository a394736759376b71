/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/settings/pass-settings.h"

#include "daemon/settings/configured-filesystems.h"
#include "daemon/settings/options.h"

#include <unistd.h>

static void take_config(const Config *config, const char *const *names, Settings *ret)
{
	config_settings(config, names, ret);
	/* Only root may write there. */
	if (geteuid() != 0) {
		g_clear_pointer(&ret->state_directory, g_free);
		g_clear_pointer(&ret->metrics_file, g_free);
	}
}

bool pass_settings_make_resident(const Config *config, char *const *arguments,
				 const char *const *names, Settings *ret, GError **error)
{
	g_auto(GStrv) taken = g_strdupv((char **)arguments);
	bool done;

	take_config(config, names, ret);
	/* Nobody waits for the service's passes. */
	ret->priority = PRIORITY_IDLE;
	return options_parse(&taken, ret, &done, error);
}

bool pass_settings_make(const Config *config, char *const *arguments, const Filesystem *filesystem,
			Settings *ret, bool *ret_done, GError **error)
{
	g_auto(GStrv) names = filesystem ? named_filesystem_names(filesystem) : NULL;
	g_auto(GStrv) taken = g_strdupv((char **)arguments);
	uint64_t min_size_bytes, min_age_usec;

	take_config(config, (const char *const *)names, ret);
	min_size_bytes = ret->min_size_bytes;
	min_age_usec = ret->min_age_usec;
	if (!options_parse(&taken, ret, ret_done, error))
		return false;

	ret->has_given_limits = ret->min_size_bytes != min_size_bytes ||
				ret->min_age_usec != min_age_usec ||
				(ret->excludes && ret->excludes[0]);
	return true;
}
