/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/config/settings.h"

/*
 * RunRequest - a pass over directories or files of a filesystem that a caller asks the service for once, with
 * options of its own.  All other settings are those of the filesystem.
 *
 * The options choose which files are looked at, and whether anything is shared.  No caller can make the service use
 * disks more than it does.
 *
 * Set when made, never changed.  Thread: main.
 */
typedef struct {
	char **paths; /* absolute */
	char **wishes;
} RunRequest;

/* At most so many in one request. */
#define RUN_PATHS_MOST  1024
#define RUN_WISHES_MOST 64

/*
 * @paths are absolute, and are not looked at.  @wishes are options of dedupd(8) without the dashes: "name=value",
 * or "name" if it has no value.  Both are NULL-terminated and copied.
 */
RunRequest *run_request_new(char *const *paths, char *const *wishes, GError **error);

/* The @settings of the filesystem, with the options of the request laid over them: to be unreferenced. */
Settings *run_request_settings(const RunRequest *request, const Settings *settings, GError **error);

void run_request_free(RunRequest *request);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(RunRequest, run_request_free)
