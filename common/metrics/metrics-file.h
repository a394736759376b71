/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/metrics/metrics.h"

/*
 * MetricsFile - the file that MetricsFile= names, for the textfile collector of node_exporter.
 *
 * The service claims it for as long as it runs, --once while it writes.  So --once does not replace what only the
 * service knows, and of two --once the later one writes last.
 *
 * Thread: one at a time.
 */

/*
 * Claim the file at @path; *ret_fd holds the claim until it is closed.  False: another process has it.  Without a
 * place for locks, *ret_fd is -1.
 */
bool metrics_file_claim(const char *path, int *ret_fd);

/*
 * Write @metrics and what the stores of @state_directory say; @stores are the StoreFigures of the last call.  No
 * reader sees half of the file, and all users may read it.
 */
bool metrics_file_write(const char *path, const char *state_directory, const Metrics *metrics,
			GPtrArray *stores, GError **error) G_GNUC_WARN_UNUSED_RESULT;
