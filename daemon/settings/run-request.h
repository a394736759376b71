/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/config/settings.h"

/*
 * RunRequest - a pass over some directories or files of a filesystem, that somebody asked the service for
 * once, with wishes of his own: what the configuration says of the filesystem holds but for these.
 *
 * Wishes are about which files are looked at, and whether anything is shared at all: nobody can ask more of
 * disks than the service does.
 *
 * Set when made, never changed.  Thread: main.
 */
typedef struct {
	char **paths; /* absolute */
	char **wishes;
} RunRequest;

/* What one may have of each. */
#define RUN_PATHS_MOST  1024
#define RUN_WISHES_MOST 64

/*
 * @paths, each absolute, are not looked at; @wishes are "name=value", or "name" for what has no value: of
 * options of dedupd(8), without the dashes.  Both are NULL-terminated and copied.
 */
RunRequest *run_request_new(char *const *paths, char *const *wishes, GError **error);

/* @settings, which are those of the filesystem, with the wishes laid over them: to be unreferenced. */
Settings *run_request_settings(const RunRequest *request, const Settings *settings, GError **error);

void run_request_free(RunRequest *request);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(RunRequest, run_request_free)
