/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/terminal/pass-text.h"

#include "common/text/name-text.h"

#include <string.h>

char *pass_mount_point(const PassRecord *pass)
{
	const char *mount_point = pass->mount_point ? pass->mount_point : "";

	return name_text(mount_point, strlen(mount_point));
}
