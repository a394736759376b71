/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/arguments/run-paths.h"
#include "cli/client/daemon-client.h"
#include "cli/terminal/command-runner.h"
#include "cli/terminal/message.h"
#include "cli/verbs/verb.h"
#include "common/mounts/filesystem-hold.h"
#include "common/mounts/filesystem-lock.h"
#include "common/mounts/mount-table.h"
#include "kernel-ioctl/call/fd.h"

#include <string.h>
#include <unistd.h>

/* The time that the service waits, too: passes end within 2 seconds, if their disk answers. */
#define WAIT_USEC (20 * G_USEC_PER_SEC)
#define LOOK_USEC (G_USEC_PER_SEC / 20)

/* The maximum length of a reason in the service. */
#define WHY_BYTES_MAX 256

/* Descriptors that hold the filesystems until the process ends.  They are never closed before. */
typedef struct {
	GArray *fds;
	DaemonClient *client; /* NULL: the service does not run */
	const char *why;
} Holder;

/* A mistyped UUID belongs to no filesystem, so root's lock of it would protect nothing. */
static bool check_mounted(const char *uuid, GError **error)
{
	g_autoptr(MountTable) mounts = mount_table_read(NULL, NULL, NULL, error);

	if (!mounts)
		return false;
	if (!mount_table_find_uuid(mounts, uuid)) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT,
			    "no filesystem with the UUID %s is mounted", uuid);
		return false;
	}
	return true;
}

/* UUIDs of the named filesystems, each once. */
static GStrv find_uuids(char *const *names, GError **error)
{
	g_autoptr(GStrvBuilder) uuids = g_strv_builder_new();
	g_autoptr(GHashTable) known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

	for (char *const *name = names; *name; name++) {
		char *const one[] = { *name, NULL };
		g_autoptr(GPtrArray) found = NULL;
		g_autofree char *uuid = NULL;

		if (g_uuid_string_is_valid(*name)) {
			uuid = g_ascii_strdown(*name, -1);
			if (geteuid() == 0 && !check_mounted(uuid, error))
				return NULL;
		} else {
			found = run_paths_find(one, error);
			if (!found)
				return NULL;
			uuid = g_strdup(((const RunPaths *)found->pdata[0])->uuid);
		}
		if (g_hash_table_add(known, g_strdup(uuid)))
			g_strv_builder_add(uuids, uuid);
	}

	return g_strv_builder_end(uuids);
}

/* Take root's own lock.  It survives a restart of the service, and ends the passes of all processes of root. */
static bool hold_by_lock(Holder *holder, const char *uuid, GError **error)
{
	int fd;

	if (!filesystem_hold(uuid, &fd, error))
		return false;

	g_array_append_val(holder->fds, fd);
	return true;
}

static bool wait_for_passes(const char *uuid, GError **error)
{
	int64_t give_up_usec = g_get_monotonic_time() + WAIT_USEC;

	for (;;) {
		g_autofree char *worker = filesystem_lock_holder(uuid);

		if (!worker)
			return true;
		if (g_get_monotonic_time() >= give_up_usec) {
			g_set_error(error, FILESYSTEM_LOCK_ERROR, FILESYSTEM_LOCK_ERROR_IN_USE,
				    "%s works on the filesystem %s, and does not end", worker,
				    uuid);
			return false;
		}
		g_usleep(LOOK_USEC);
	}
}

/* Returns false without an error if the service does not know the filesystem. */
static bool hold_by_service(Holder *holder, const char *uuid, GError **error)
{
	g_autoptr(GError) failure = NULL;
	int fd;

	if (daemon_client_hold(holder->client, uuid, holder->why, &fd, &failure)) {
		g_array_append_val(holder->fds, fd);
		return true;
	}
	if (!g_error_matches(failure, DAEMON_CLIENT_ERROR, DAEMON_CLIENT_ERROR_UNKNOWN))
		g_propagate_error(error, g_steal_pointer(&failure));
	return false;
}

static bool hold(Holder *holder, const char *uuid, GError **error)
{
	bool is_root = geteuid() == 0;
	g_autoptr(GError) failure = NULL;

	if (is_root && !hold_by_lock(holder, uuid, error))
		return false;
	if (holder->client && hold_by_service(holder, uuid, &failure))
		return true;
	/* Root's lock does not need a service that does not answer. */
	if (is_root &&
	    (g_error_matches(failure, DAEMON_CLIENT_ERROR, DAEMON_CLIENT_ERROR_SILENT) ||
	     g_error_matches(failure, DAEMON_CLIENT_ERROR, DAEMON_CLIENT_ERROR_FAILED))) {
		message_print("hold: %s: the service does not know of it: %s", uuid,
			      failure->message);
		g_clear_error(&failure);
	}
	if (failure) {
		g_propagate_error(error, g_steal_pointer(&failure));
		return false;
	}
	if (is_root)
		return wait_for_passes(uuid, error);

	g_set_error(error, DAEMON_CLIENT_ERROR, DAEMON_CLIENT_ERROR_FAILED,
		    "cannot hold %s: the service %s, and without it only root can prevent root's "
		    "passes",
		    uuid, holder->client ? "does not know it" : "does not run");
	return false;
}

static bool hold_all(Holder *holder, char *const *names, GError **error)
{
	g_auto(GStrv) uuids = find_uuids(names, error);

	for (size_t i = 0; uuids && uuids[i]; i++)
		if (!hold(holder, uuids[i], error))
			return false;
	return uuids;
}

/* The name of the command alone: its arguments may be secret, and name files. */
static char *make_why(const Options *options)
{
	g_autofree char *name = g_path_get_basename(options->command[0]);
	g_autofree char *valid = g_utf8_make_valid(options->why ? options->why : name, -1);

	/* It is cut between characters. */
	g_autofree char *cut = g_strndup(valid, WHY_BYTES_MAX);
	const char *end;
	g_utf8_validate(cut, -1, &end);
	return g_strndup(cut, (gsize)(end - cut));
}

static ExitStatus run_command(char *const *words)
{
	int cause;
	ExitStatus status = command_run(words, &cause);

	if (cause != 0)
		message_print("hold: cannot run %s: %s", words[0], g_strerror(cause));
	return status;
}

ExitStatus verb_hold(const Options *options)
{
	g_autofree char *why = NULL;
	g_autoptr(GArray) fds = g_array_new(false, false, sizeof(int));
	g_autoptr(DaemonClient) client = NULL;
	g_autoptr(GError) error = NULL;
	Holder holder;

	if (!options->names || !options->command || !options->command[0])
		return message_fail(
			EXIT_STATUS_USAGE,
			"hold: it takes filesystems, and behind '--' the command to run: "
			"dedupctl hold /srv -- btrfs send ...");

	why = make_why(options);
	client = daemon_client_connect(NULL);
	holder = (Holder){ fds, client, why };
	if (!hold_all(&holder, options->names, &error))
		return message_fail(EXIT_STATUS_NOT_HELD, "hold: %s", error->message);

	/* The connection is one of few, and the leases need none. */
	g_clear_pointer(&client, daemon_client_close);
	return run_command(options->command);
}
