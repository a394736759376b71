/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/client/filesystem-text.h"

#include "cli/terminal/message.h"

static char *stage_text(const DaemonFilesystem *filesystem)
{
	g_autofree char *stage = message_text(filesystem->stage);

	if (filesystem->stage_total_bytes == 0)
		return g_steal_pointer(&stage);

	return g_strdup_printf("%s, %.0f %%", stage,
			       100.0 * (double)filesystem->stage_bytes /
				       (double)filesystem->stage_total_bytes);
}

char *filesystem_why_text(const DaemonFilesystem *filesystem)
{
	if (filesystem->stage[0] != '\0')
		return stage_text(filesystem);
	if (filesystem->refusal[0] != '\0')
		return message_text(filesystem->refusal);
	if (filesystem->is_paused)
		return g_strdup("paused");

	return message_text(filesystem->waits_for);
}
