/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/manager/requested-pass.h"

#include "common/text/name-text.h"
#include "daemon/manager/filesystem-search.h"

#include <string.h>

struct RequestedPass {
	/* Set at creation, never changed. */
	MainLoop *loop;
	const char *uuid;
	RequestedPassListener listener;

	bool is_asked;
	RunRequest *paths; /* NULL: a pass over all of it, if any */
	bool asked_again; /* for a pass over all of it, after that or after the pass that is ending */

	/* All NULL: no paths are being looked up. */
	FilesystemSearch *search;
	RunRequest *request;
	RequestedPassAnswer answer;
	void *data;
};

RequestedPass *requested_pass_new(MainLoop *loop, const char *uuid,
				  const RequestedPassListener *listener)
{
	RequestedPass *requested = g_new0(RequestedPass, 1);

	requested->loop = loop;
	requested->uuid = uuid;
	requested->listener = *listener;
	return requested;
}

void requested_pass_free(RequestedPass *requested)
{
	g_clear_pointer(&requested->paths, run_request_free);
	g_free(requested);
}

bool requested_pass_is_asked(const RequestedPass *requested)
{
	return requested->is_asked;
}

const RunRequest *requested_pass_paths(const RequestedPass *requested)
{
	return requested->paths;
}

void requested_pass_ask(RequestedPass *requested, bool is_ending)
{
	requested->asked_again = requested->paths || is_ending;
	requested->is_asked = true;
	requested->listener.changed(requested->listener.data);
}

void requested_pass_done(RequestedPass *requested)
{
	requested->is_asked = requested->asked_again;
	requested->asked_again = false;
	g_clear_pointer(&requested->paths, run_request_free);
}

void requested_pass_withdraw(RequestedPass *requested, bool runs)
{
	requested->is_asked = false;
	requested->asked_again = false;
	if (runs)
		return;

	g_clear_pointer(&requested->paths, run_request_free);
	requested->listener.changed(requested->listener.data);
}

/* The request is cleared before the requester is told, who may make another one. */
static void answer(RequestedPass *requested, const GError *error)
{
	RequestedPassAnswer tell = requested->answer;

	g_clear_pointer(&requested->search, filesystem_search_free);
	g_clear_pointer(&requested->request, run_request_free);
	tell(error, g_steal_pointer(&requested->data));
}

/* Whether the paths lie on the filesystem. */
static bool lie_on(const char *uuid, const GPtrArray *found, GError **error)
{
	for (guint i = 0; i < found->len; i++) {
		const Filesystem *filesystem = found->pdata[i];
		g_autofree char *shown = NULL;

		if (strcmp(filesystem->uuid, uuid) == 0)
			continue;
		shown = name_text(filesystem->mount_point, strlen(filesystem->mount_point));
		g_set_error(error, FILESYSTEM_ERROR, FILESYSTEM_ERROR_UNSUITABLE,
			    "%s is another filesystem", shown);
		return false;
	}

	return true;
}

static void on_found(GPtrArray *found, const GError *failure, void *data)
{
	RequestedPass *requested = data;
	const RequestedPassListener *listener = &requested->listener;
	g_autoptr(GError) error = NULL;

	if (!found) {
		answer(requested, failure);
		return;
	}
	if (lie_on(requested->uuid, found, &error) && listener->may_begin(listener->data, &error)) {
		requested->paths = g_steal_pointer(&requested->request);
		requested->is_asked = true;
		listener->changed(listener->data);
	}
	answer(requested, error);
}

/* Returns false if other paths are being looked up. */
static bool start_search(RequestedPass *requested, const char *mount_point, RunRequest *request,
			 GError **error)
{
	if (requested->search) {
		g_set_error(error, FILESYSTEM_ERROR, FILESYSTEM_ERROR_IN_USE,
			    "paths for a pass over %s are being looked up: 'dedupctl stop' ends "
			    "that",
			    mount_point);
		return false;
	}

	requested->search = filesystem_search_new(requested->loop, SEARCH_FOR_CALLER,
						  request->paths, on_found, requested, error);
	return requested->search;
}

void requested_pass_look_up(RequestedPass *requested, const char *mount_point, char *const *paths,
			    char *const *wishes, RequestedPassAnswer tell, void *data)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(RunRequest) request = run_request_new(paths, wishes, &error);

	if (!request || !start_search(requested, mount_point, request, &error)) {
		tell(error, data);
		return;
	}

	requested->request = g_steal_pointer(&request);
	requested->answer = tell;
	requested->data = data;
}

void requested_pass_cancel(RequestedPass *requested, const char *mount_point, const char *why)
{
	g_autoptr(GError) error = NULL;

	if (!requested->search)
		return;

	error = g_error_new(FILESYSTEM_ERROR, FILESYSTEM_ERROR_UNSUITABLE,
			    "no pass begins over %s: %s", mount_point, why);
	answer(requested, error);
}
