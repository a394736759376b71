/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/client/daemon-client.h"
#include "cli/terminal/message.h"
#include "cli/verbs/verb.h"
#include "common/metrics/metrics.h"
#include "common/metrics/store-figures.h"

#include <stdio.h>
#include <string.h>

static void add_filesystem(Metrics *metrics, const DaemonFilesystem *live)
{
	const FilesystemMetrics filesystem = {
		.uuid = live->uuid,
		.kind = live->kind,
		.mount_point = live->mount_point,
		.state = live->state,
		.wait_reason = live->wait_reason,
		.next_usec = (int64_t)live->waits_until_usec,
		.last_outcome = live->last_outcome,
		.last_started_usec = (int64_t)live->last_started_usec,
		.last_ended_usec = (int64_t)live->last_ended_usec,
		.is_disk_failing = live->last_exit_status == EXIT_STATUS_DISK_FAILING ||
				   strcmp(live->wait_reason, "degraded") == 0,
	};

	metrics_add_filesystem(metrics, &filesystem);
}

/* The directory of the service's stores; NULL: it has none. */
static char *state_directory_of(const GPtrArray *all)
{
	for (guint i = 0; i < all->len; i++) {
		const DaemonFilesystem *live = all->pdata[i];

		if (g_path_is_absolute(live->state_directory))
			return g_strdup(live->state_directory);
	}

	return NULL;
}

/* Ask the service for its metrics.  *ret_directory is that of its stores; NULL: not known. */
static Metrics *ask(char **ret_directory, GError **error)
{
	g_autoptr(DaemonClient) client = daemon_client_connect(error);
	g_autoptr(GPtrArray) all = client ? daemon_client_list(client, error) : NULL;
	g_autoptr(GPtrArray) disks = all ? daemon_client_disks(client, error) : NULL;
	Metrics *metrics;

	if (!disks)
		return NULL;

	metrics = metrics_new(true);
	for (guint i = 0; i < all->len; i++)
		add_filesystem(metrics, all->pdata[i]);
	for (guint i = 0; i < disks->len; i++) {
		const DaemonDisk *disk = disks->pdata[i];

		metrics_add_disk(metrics, disk->name, disk->charged_bytes);
	}
	*ret_directory = state_directory_of(all);
	return metrics;
}

/* Read the stores of @directory.  Returns false if any cannot be read, and reports it. */
static bool read_stores(GPtrArray *stores, const char *directory, bool has_service)
{
	g_autoptr(GError) error = NULL;
	bool has_all = true;

	if (!store_figures_read(stores, directory, &error)) {
		/* A user who may not read the stores sees what the service reports. */
		if (has_service && g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_ACCES))
			return true;
		message_print("cannot read the stores: %s", error->message);
		return false;
	}
	for (guint i = 0; i < stores->len; i++) {
		const StoreFigures *store = stores->pdata[i];

		if (!store->trouble)
			continue;
		message_print("%s", store->trouble);
		has_all = false;
	}

	return has_all;
}

ExitStatus verb_metrics(const Options *options)
{
	g_autoptr(GPtrArray) stores = store_figures_new();
	g_autoptr(Metrics) metrics = NULL;
	g_autoptr(GError) error = NULL;
	g_autofree char *directory = NULL;
	g_autofree char *text = NULL;
	ExitStatus status = EXIT_STATUS_DONE;

	if (!options->state_directory_is_given)
		metrics = ask(&directory, &error);
	if (error &&
	    !g_error_matches(error, DAEMON_CLIENT_ERROR, DAEMON_CLIENT_ERROR_NOT_RUNNING)) {
		message_print_error(error);
		status = EXIT_STATUS_FAILED;
	}
	if (!read_stores(stores, directory ? directory : options->state_directory, metrics))
		status = EXIT_STATUS_FAILED;
	if (!metrics)
		metrics = metrics_new(false);
	text = metrics_text(metrics, stores);
	fputs(text, stdout);
	return status;
}
