/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/arguments/store-list.h"
#include "cli/export/anchor-export.h"
#include "cli/export/export-writer.h"
#include "cli/terminal/message.h"
#include "cli/verbs/verb.h"
#include "common/content/fleet-key.h"

#include <inttypes.h>
#include <stdio.h>

static bool write_store(const StoreEntry *entry, void *data, GError **error)
{
	return export_write(entry->store, error);
}

static bool write_anchors(const StoreEntry *entry, void *data, GError **error)
{
	const Options *options = data;
	const HashStoreAbout *about = hash_store_about(entry->store);
	g_autofree char *uuid = message_terminal_text(about->uuid);
	g_autofree char *directory = message_terminal_text(options->anchors);
	AnchorExport written;

	/* A filesystem may stay out of the fleet. */
	if (!options->names && about->fleet_key[0] == '\0') {
		message_print("%s is left out: its store was made without a fleet's key", uuid);
		return true;
	}
	if (!anchor_export_write(entry->store, options->anchors, &written, error))
		return false;
	printf("Exported %" PRIu64 " objects and %" PRIu64 " new anchors of %s into %s.\n",
	       written.n_objects, written.n_anchors, uuid, directory);
	if (written.n_halves > 0)
		message_print("%" PRIu64
			      " large files were read in part: after a whole pass, delete %s "
			      "and export again",
			      written.n_halves, directory);
	return true;
}

ExitStatus verb_export(const Options *options)
{
	return store_list_each(options->state_directory, options->names,
			       options->anchors ? write_anchors : write_store, (void *)options);
}

ExitStatus verb_fleet_key(const Options *options)
{
	const char *path = options->names ? options->names[0] : FLEET_KEY_FILE;
	g_autofree char *shown = message_terminal_text(path);
	g_autoptr(GError) error = NULL;
	g_auto(FleetKey) key = { 0 };

	if (options->names && options->names[1])
		return message_fail(EXIT_STATUS_USAGE, "fleet-key: it takes one FILE");
	if (fleet_key_make(path, options->replace, &key, &error)) {
		printf("The fleet key %s is in %s.\n", key.id, shown);
		return EXIT_STATUS_DONE;
	}

	message_print_error(error);
	if (g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_EXIST) &&
	    fleet_key_read(path, &key, NULL))
		message_print("it has the key %s: --replace makes another one, with which all "
			      "stores of the fleet begin anew",
			      key.id);
	return EXIT_STATUS_FAILED;
}
