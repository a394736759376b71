/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/daemon-client.h"
#include "cli/filesystem-text.h"
#include "cli/message.h"
#include "cli/table.h"
#include "cli/verb.h"

#include <string.h>

enum {
	LIST_MOUNT,
	LIST_KIND,
	LIST_STATE,
	LIST_WHY,
	LIST_NEXT,
	LIST_PASSES,
	LIST_LAST_STARTED,
	LIST_LAST_OUTCOME,
	LIST_LAST_FREED,
	LIST_FREED,
	LIST_STAGE,
	LIST_STAGE_BYTES,
	LIST_STAGE_TOTAL_BYTES,
	LIST_UUID,
};

static const TableColumn columns[] = {
	[LIST_MOUNT] = { "MOUNT", "mount_point", COLUMN_TEXT },
	[LIST_KIND] = { "KIND", "kind", COLUMN_TEXT },
	[LIST_STATE] = { "STATE", "state", COLUMN_TEXT },
	[LIST_WHY] = { "WHY", "why", COLUMN_TEXT_CUT },
	[LIST_NEXT] = { "UNTIL", "until", COLUMN_TEXT },
	[LIST_PASSES] = { NULL, "passes", COLUMN_NUMBER },
	[LIST_LAST_STARTED] = { NULL, "last_pass", COLUMN_TEXT },
	[LIST_LAST_OUTCOME] = { NULL, "last_outcome", COLUMN_TEXT },
	[LIST_LAST_FREED] = { "LAST FREED", "last_freed_bytes", COLUMN_NUMBER },
	[LIST_FREED] = { "IN ALL", "freed_bytes", COLUMN_NUMBER },
	[LIST_STAGE] = { NULL, "stage", COLUMN_TEXT },
	[LIST_STAGE_BYTES] = { NULL, "stage_bytes", COLUMN_NUMBER },
	[LIST_STAGE_TOTAL_BYTES] = { NULL, "stage_total_bytes", COLUMN_NUMBER },
	[LIST_UUID] = { "UUID", "uuid", COLUMN_TEXT_CUT },
};

const TableKind table_of_list = { "filesystems", columns, G_N_ELEMENTS(columns) };

static bool is_wanted(const DaemonFilesystem *filesystem, char *const *names)
{
	return !names || g_strv_contains((const char *const *)names, filesystem->uuid) ||
	       g_strv_contains((const char *const *)names, filesystem->mount_point);
}

static void add_row(Table *table, const DaemonFilesystem *filesystem)
{
	g_autofree char *mount_point = message_text(filesystem->mount_point);
	g_autofree char *why = filesystem_why_text(filesystem);
	uint64_t until_usec = filesystem->waits_until_usec ? filesystem->waits_until_usec
							   : filesystem->deadline_usec;

	table_add_row(table);
	table_set_text(table, LIST_MOUNT, mount_point);
	table_set_text(table, LIST_KIND, filesystem->kind);
	table_set_text(table, LIST_STATE, filesystem->state);
	table_set_text(table, LIST_WHY, why);
	table_set_text(table, LIST_UUID, filesystem->uuid);
	table_set_count(table, LIST_PASSES, filesystem->passes);
	table_set_size(table, LIST_FREED, filesystem->freed_bytes);
	if (until_usec > 0)
		table_set_time(table, LIST_NEXT, (int64_t)until_usec);
	if (filesystem->stage[0] != '\0') {
		table_set_text(table, LIST_STAGE, filesystem->stage);
		table_set_size(table, LIST_STAGE_BYTES, filesystem->stage_bytes);
		table_set_size(table, LIST_STAGE_TOTAL_BYTES, filesystem->stage_total_bytes);
	}
	if (filesystem->last_outcome[0] == '\0')
		return;

	table_set_time(table, LIST_LAST_STARTED, (int64_t)filesystem->last_started_usec);
	table_set_text(table, LIST_LAST_OUTCOME, filesystem->last_outcome);
	table_set_size(table, LIST_LAST_FREED, filesystem->last_freed_bytes);
}

/* Say which names were of no filesystem; returns whether there were none. */
static bool all_were_found(char *const *names, const GPtrArray *all)
{
	bool found_all = true;

	for (; names && *names; names++) {
		char *one[] = { *names, NULL };
		bool found = false;

		for (size_t i = 0; i < all->len && !found; i++)
			found = is_wanted(all->pdata[i], one);
		if (found)
			continue;

		g_autofree char *name = message_text(*names);
		message_print("no btrfs or XFS that is mounted has the UUID or mount point %s",
			      name);
		found_all = false;
	}

	return found_all;
}

ExitStatus verb_list(const Options *options)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(DaemonClient) client = daemon_client_connect(&error);
	g_autoptr(GPtrArray) all = client ? daemon_client_list(client, &error) : NULL;
	g_autoptr(Table) table = table_new_asked(&table_of_list, options);

	if (!all) {
		message_print("%s", error->message);
		return client ? EXIT_STATUS_FAILED : EXIT_STATUS_NEEDS_DAEMON;
	}

	for (size_t i = 0; i < all->len; i++)
		if (is_wanted(all->pdata[i], options->names))
			add_row(table, all->pdata[i]);

	table_print(table);
	return all_were_found(options->names, all) ? EXIT_STATUS_DONE : EXIT_STATUS_FAILED;
}
