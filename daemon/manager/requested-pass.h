/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/manager/main-loop.h"
#include "daemon/settings/run-request.h"

/*
 * RequestedPass - the passes over a filesystem that callers ask for: over all of it, or over paths that a detached
 * task looks up first.
 *
 * Thread: main.
 */
typedef struct RequestedPass RequestedPass;

typedef struct {
	/* Whether a pass over paths may begin now: the state may have changed since the request. */
	bool (*may_begin)(void *data, GError **error);
	/* A pass is asked for, or no longer. */
	void (*changed)(void *data);
	void *data;
} RequestedPassListener;

/*
 * The answer to a request for a pass over paths.  NULL: it will begin; else why not: FILESYSTEM_ERROR_IN_USE if a
 * pass runs already, or is about to.
 */
typedef void (*RequestedPassAnswer)(const GError *error, void *data);

/* @uuid, of the filesystem, is borrowed. */
RequestedPass *requested_pass_new(MainLoop *loop, const char *uuid,
				  const RequestedPassListener *listener);

/* Nothing may be looked up. */
void requested_pass_free(RequestedPass *requested);

bool requested_pass_is_asked(const RequestedPass *requested);

/* The paths of the pass that is asked for, or runs.  NULL: it is over all of the filesystem. */
const RunRequest *requested_pass_paths(const RequestedPass *requested);

/*
 * Ask for a pass over all of the filesystem: after that over paths, if one is asked for, and after the one that runs,
 * if that @is_ending.
 */
void requested_pass_ask(RequestedPass *requested, bool is_ending);

/*
 * Ask for a pass over @paths, with @wishes (see RunRequest), if they lie on the filesystem.  @answer is called once,
 * now or later.
 */
void requested_pass_look_up(RequestedPass *requested, const char *mount_point, char *const *paths,
			    char *const *wishes, RequestedPassAnswer answer, void *data);

/* If paths are being looked up, answer that no pass begins, and @why. */
void requested_pass_cancel(RequestedPass *requested, const char *mount_point, const char *why);

/* The pass that was asked for has ended, or cannot begin.  A pass that was to follow it is asked for now. */
void requested_pass_done(RequestedPass *requested);

/* No pass is asked for any more.  A pass that @runs keeps its paths. */
void requested_pass_withdraw(RequestedPass *requested, bool runs);
