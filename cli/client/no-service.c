/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/client/daemon-client.h"
#include "cli/client/journal-reader.h"

/*
 * In place of daemon-client, daemon-properties and journal-reader in builds without systemd.  No connection and no
 * reader is ever made, so all other functions are out of reach.
 */

G_DEFINE_QUARK(daemon - client - error - quark, daemon_client_error)

static void fail(GError **error, const char *what)
{
	g_set_error(error, DAEMON_CLIENT_ERROR, DAEMON_CLIENT_ERROR_NOT_RUNNING,
		    "dedupctl was built without systemd, so it %s", what);
}

DaemonClient *daemon_client_connect(GError **error)
{
	fail(error, "cannot call a service");
	return NULL;
}

JournalReader *journal_reader_open(const char *directory, GError **error)
{
	fail(error, "reads no journal");
	return NULL;
}

void daemon_client_close(DaemonClient *client)
{
}

void daemon_disk_free(DaemonDisk *disk)
{
}

GPtrArray *daemon_client_list(DaemonClient *client, GError **error)
{
	g_assert_not_reached();
}

DaemonFilesystem *daemon_client_get(DaemonClient *client, const char *name, GError **error)
{
	g_assert_not_reached();
}

bool daemon_client_call(DaemonClient *client, const char *name, const char *method, GError **error)
{
	g_assert_not_reached();
}

bool daemon_client_pause_for(DaemonClient *client, const char *name, uint64_t usec, GError **error)
{
	g_assert_not_reached();
}

bool daemon_client_run(DaemonClient *client, const char *name, char *const *paths,
		       char *const *wishes, GError **error)
{
	g_assert_not_reached();
}

bool daemon_client_hold(DaemonClient *client, const char *name, const char *why, int *ret_fd,
			GError **error)
{
	g_assert_not_reached();
}

char *daemon_client_text(DaemonClient *client, const char *name, const char *method, GError **error)
{
	g_assert_not_reached();
}

GPtrArray *daemon_client_disks(DaemonClient *client, GError **error)
{
	g_assert_not_reached();
}

bool daemon_client_set_budget(DaemonClient *client, const char *disk, uint64_t bytes,
			      uint64_t requests, GError **error)
{
	g_assert_not_reached();
}

bool daemon_client_watch(DaemonClient *client, sd_event *event, void (*changed)(void *data),
			 void (*gone)(void *data), void *data, GError **error)
{
	g_assert_not_reached();
}

bool daemon_client_reload(DaemonClient *client, GError **error)
{
	g_assert_not_reached();
}

void journal_reader_close(JournalReader *reader)
{
}

bool journal_reader_select(JournalReader *reader, const GPtrArray *uuids,
			   const GPtrArray *mount_points, GError **error)
{
	g_assert_not_reached();
}

bool journal_reader_seek(JournalReader *reader, uint64_t n, int64_t since_usec, GError **error)
{
	g_assert_not_reached();
}

bool journal_reader_next(JournalReader *reader, bool *ret_there, GError **error)
{
	g_assert_not_reached();
}

bool journal_reader_wait(JournalReader *reader, GError **error)
{
	g_assert_not_reached();
}

int64_t journal_reader_time(const JournalReader *reader)
{
	g_assert_not_reached();
}

char *journal_reader_field(const JournalReader *reader, const char *name)
{
	g_assert_not_reached();
}
