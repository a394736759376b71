/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/client/hold-table.h"

#include "cli/terminal/message.h"
#include "cli/terminal/time-text.h"

#include <pwd.h>

#define HOLD_COLUMNS(COLUMN)                                                                       \
	COLUMN(HOLD_UID, "USER", "uid", COLUMN_NUMBER)                                             \
	COLUMN(HOLD_PID, "PROCESS", "pid", COLUMN_NUMBER)                                          \
	COLUMN(HOLD_SINCE, "SINCE", "since", COLUMN_TEXT)                                          \
	COLUMN(HOLD_WHY, "WHY", "why", COLUMN_TEXT)

TABLE_COLUMNS(columns, HOLD_COLUMNS);

static const TableKind table_of_holds = { "holds", columns, G_N_ELEMENTS(columns), NULL, 0 };

Table *hold_table(const GPtrArray *holds, const Options *options)
{
	Table *table = table_new(&table_of_holds, options);

	for (guint i = 0; i < holds->len; i++) {
		const DaemonHold *hold = holds->pdata[i];
		g_autofree char *why = message_text(hold->why);

		table_add_row(table);
		table_set_count(table, HOLD_UID, hold->uid);
		if (hold->pid > 0)
			table_set_count(table, HOLD_PID, hold->pid);
		table_set_time(table, HOLD_SINCE, (int64_t)hold->since_usec);
		if (why[0] != '\0')
			table_set_text(table, HOLD_WHY, why);
	}

	return table;
}

static char *user_text(uint32_t uid)
{
	const struct passwd *entry = getpwuid(uid);

	return entry ? message_text(entry->pw_name) : g_strdup_printf("user %u", uid);
}

char *hold_text(const DaemonHold *hold)
{
	g_autofree char *since = time_text_local((int64_t)hold->since_usec);
	g_autofree char *user = user_text(hold->uid);
	g_autofree char *why = message_text(hold->why);
	GString *text = g_string_new(NULL);

	if (hold->pid > 0)
		g_string_append_printf(text, "process %u (%s)", hold->pid, user);
	else
		g_string_append(text, user);
	g_string_append_printf(text, " since %s%s%s", since ? since : "-",
			       why[0] != '\0' ? ": " : "", why);
	return g_string_free(text, FALSE);
}
