/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/arguments/store-list.h"
#include "cli/export/export-writer.h"
#include "cli/verbs/verb.h"

static bool write_store(const StoreEntry *entry, void *data, GError **error)
{
	return export_write(entry->store, error);
}

ExitStatus verb_export(const Options *options)
{
	return store_list_each(options->state_directory, options->names, write_store, NULL);
}
