/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/files/sharer-text.h"

#include "cli/arguments/named-file.h"
#include "common/text/name-text.h"

#include <string.h>
#include <unistd.h>

static char *text_without_names(const FileReport *report, const NamedFile *file, uint64_t n)
{
	if (report->is_in_use)
		return g_strdup("it shares this with other files: a pass works on the filesystem, "
				"so dedupctl did not ask for their names");
	if (file->identity.kind == FS_KIND_BTRFS && geteuid() != 0)
		return g_strdup("it shares this with other files: only root can see which");
	if (n > 0)
		return g_strdup_printf("it shares this with %" G_GUINT64_FORMAT
				       " other file%s, of which no name is known",
				       n, n == 1 ? "" : "s");
	return g_strdup("it shares this with other files: the filesystem does not tell which, and "
			"no file that the store knows has all of it");
}

char *sharer_text(const FileReport *report, const NamedFile *file)
{
	const char *named = NULL;
	uint64_t n = 0;

	for (guint i = 0; i < report->others->len; i++) {
		const ReportedFile *other = &g_array_index(report->others, ReportedFile, i);

		if (other->relation != OTHER_SHARES)
			continue;
		n++;
		if (!named)
			named = other->path;
	}
	if (!named)
		return text_without_names(report, file, n);

	g_autofree char *name = name_text(named, strlen(named));
	bool has_more =
		report->has_more_sharers || (n == report->others->len && report->n_others > n);

	if (n == 1 && has_more)
		return g_strdup_printf("it shares this with %s, and perhaps others", name);
	if (n == 1)
		return g_strdup_printf("it shares this with %s", name);
	return g_strdup_printf("it shares this with %s and %s%" G_GUINT64_FORMAT " other file%s",
			       name, has_more ? "at least " : "", n - 1, n == 2 ? "" : "s");
}
