/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/metrics/metrics-file.h"

#include "common/metrics/store-figures.h"
#include "common/system/lock-file.h"

#include <string.h>
#include <sys/stat.h>

bool metrics_file_claim(const char *path, int *ret_fd)
{
	g_autofree char *sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, path, -1);
	g_autofree char *name = g_strconcat("metrics-", sum, NULL);
	g_autoptr(GError) ignored = NULL;

	return lock_file_take(name, ret_fd, &ignored) != LOCK_FILE_HELD;
}

bool metrics_file_write(const char *path, const char *state_directory, const Metrics *metrics,
			GPtrArray *stores, GError **error)
{
	g_autofree char *text = NULL;

	if (!store_figures_read(stores, state_directory, error))
		return false;
	text = metrics_text(metrics, stores);
	if (!g_file_set_contents_full(path, text, (gssize)strlen(text),
				      G_FILE_SET_CONTENTS_CONSISTENT, 0644, error))
		return false;

	/* Readable with any umask of the service: it has no names of files. */
	chmod(path, 0644);
	return true;
}
