/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/client/daemon-client.h"
#include "cli/client/disk-limits.h"
#include "cli/terminal/message.h"
#include "cli/terminal/table.h"
#include "cli/verbs/verb.h"
#include "common/config/config.h"
#include "common/text/size-text.h"

#include <string.h>

#define BUDGET_COLUMNS(COLUMN)                                                                     \
	DISK_COLUMNS(COLUMN)                                                                       \
	COLUMN(BUDGET_ROTATING, "ROTATING", "rotating", COLUMN_TEXT)                               \
	COLUMN(BUDGET_CHARGED, "CHARGED", "charged_bytes", COLUMN_NUMBER)

TABLE_COLUMNS(columns, BUDGET_COLUMNS);

const TableKind table_of_budget = { "disks", columns, G_N_ELEMENTS(columns), "dedupctl-budget", 1 };

/* The word for no limit. */
static bool is_none(const char *text)
{
	return strcmp(text, "none") == 0;
}

static bool take_rate(const char *text, uint64_t *ret)
{
	g_autoptr(GError) error = NULL;

	if (!text)
		return true;
	*ret = 0;
	if (is_none(text) || size_parse(text, ret, &error))
		return true;

	message_print("--rate: %s", error->message);
	return false;
}

static bool take_iops(const char *text, uint64_t *ret)
{
	if (!text)
		return true;
	*ret = 0;
	if (is_none(text) || g_ascii_string_to_unsigned(text, 10, 0, G_MAXUINT32, ret, NULL))
		return true;

	message_print("--iops: %s is no number of requests per second: none, or 0 and more", text);
	return false;
}

static void add_row(Table *table, const DaemonDisk *disk)
{
	disk_limits_add_row(table, disk);
	table_set_text(table, BUDGET_ROTATING, disk->is_rotating ? "yes" : "no");
	table_set_size(table, BUDGET_CHARGED, disk->charged_bytes);
}

/* The disk by its kernel name; NULL: none has this name. */
static const DaemonDisk *find_disk(const GPtrArray *all, const char *name)
{
	g_autofree char *known = config_name_of_disk(name);

	return known ? disk_limits_find(all, known) : NULL;
}

static ExitStatus show(const GPtrArray *all, const Options *options)
{
	g_autoptr(Table) table = table_new_asked(&table_of_budget, options);
	ExitStatus status = EXIT_STATUS_DONE;

	for (size_t i = 0; !options->names && i < all->len; i++)
		add_row(table, all->pdata[i]);
	for (char **name = options->names; name && *name; name++) {
		const DaemonDisk *disk = find_disk(all, *name);

		if (disk) {
			add_row(table, disk);
			continue;
		}
		message_print("%s is not a disk of an enabled filesystem", *name);
		status = EXIT_STATUS_FAILED;
	}

	table_print(table);
	return status;
}

/* Limits that are not given stay as they are. */
static ExitStatus set(DaemonClient *client, const GPtrArray *all, const Options *options)
{
	for (char **name = options->names; *name; name++) {
		const DaemonDisk *disk = find_disk(all, *name);
		uint64_t bytes = disk ? disk->rate_bytes : 0;
		uint64_t requests = disk ? disk->rate_requests : 0;
		g_autoptr(GError) error = NULL;

		if (!take_rate(options->rate, &bytes) || !take_iops(options->iops, &requests))
			return EXIT_STATUS_USAGE;
		if (!daemon_client_set_budget(client, *name, bytes, requests, &error))
			return message_fail_error(error);
	}

	return EXIT_STATUS_DONE;
}

ExitStatus verb_budget(const Options *options)
{
	bool sets = options->rate || options->iops;
	g_autoptr(GError) error = NULL;
	g_autoptr(DaemonClient) client = NULL;
	g_autoptr(GPtrArray) all = NULL;

	if (sets && !options->names)
		return message_fail(EXIT_STATUS_USAGE, "no disk: 'dedupctl budget' shows them");

	client = daemon_client_connect(&error);
	all = client ? daemon_client_disks(client, &error) : NULL;
	if (!all) {
		message_print_error(error);
		return client ? EXIT_STATUS_FAILED : EXIT_STATUS_NEEDS_DAEMON;
	}

	return sets ? set(client, all, options) : show(all, options);
}
