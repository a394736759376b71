/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/config/settings.h"
#include "daemon/context/filesystem.h"
#include "daemon/context/pass-result.h"

/*
 * Reports of finished passes: for people, and as JSON (docs/report.md).
 *
 * Thread: main.
 */
typedef struct {
	const Filesystem *filesystem;
	const PassResult *result;
} ReportedPass;

/* A few aligned lines about one pass, to be freed with g_free(). */
char *report_text(const Settings *settings, const ReportedPass *pass);

/* All passes as one JSON object, to be freed with free(). */
char *report_json(const Settings *settings, const ReportedPass *passes, size_t n_passes);
