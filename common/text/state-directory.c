/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/text/state-directory.h"

#include <glib.h>
#include <unistd.h>

char *state_directory_default(void)
{
	if (geteuid() == 0)
		return g_strdup(DEDUPD_STATE_DIRECTORY);
	return g_build_filename(g_get_user_state_dir(), "dedupd", NULL);
}
