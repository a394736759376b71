/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/terminal/message.h"
#include "cli/verbs/verb.h"
#include "common/content/fleet-key.h"

#include <stdio.h>

ExitStatus verb_fleet_key(const Options *options)
{
	const char *path = options->names ? options->names[0] : FLEET_KEY_FILE;
	g_autofree char *shown = message_terminal_text(path);
	g_autoptr(GError) error = NULL;
	g_auto(FleetKey) key = { 0 };

	if (options->names && options->names[1]) {
		message_print("fleet-key: it takes one FILE");
		return EXIT_STATUS_USAGE;
	}
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
