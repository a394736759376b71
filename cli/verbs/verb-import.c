/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/export/import-reader.h"
#include "cli/terminal/message.h"
#include "cli/verbs/verb.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void say(const Imported *imported, const char *directory)
{
	g_autofree char *text = message_terminal_text(directory);

	printf("Imported %" PRIu64 " objects and %" PRIu64 " anchors of %s into %s.\n",
	       imported->n_objects, imported->n_anchors, imported->uuid, text);
	if (imported->aside) {
		g_autofree char *aside = message_terminal_text(imported->aside);

		printf("The store that was there is %s now.\n", aside);
	}
}

/* Report the error of one store.  It does not affect the others. */
static ExitStatus say_failed(const GError *error)
{
	message_print_error(error);
	return g_error_matches(error, HASH_STORE_ERROR, HASH_STORE_ERROR_IN_USE)
		       ? EXIT_STATUS_IN_USE
		       : EXIT_STATUS_FAILED;
}

static ExitStatus read_all(ImportReader *reader, const char *name, const char *directory)
{
	ExitStatus status = EXIT_STATUS_DONE;
	unsigned n_stores = 0;

	while (true) {
		g_autoptr(GError) error = NULL;
		g_auto(Imported) imported = { 0 };
		bool found = true;

		if (!import_reader_next(reader, &imported, &found, &error)) {
			ExitStatus failed = say_failed(error);

			status = MAX(status, failed);
			found = !g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_IO);
		} else if (found) {
			say(&imported, directory);
		}
		if (!found)
			break;
		n_stores++;
	}

	if (n_stores > 0 || status != EXIT_STATUS_DONE)
		return status;
	return message_fail(EXIT_STATUS_FAILED, "%s is empty: there is no store to import", name);
}

/* A directory can be opened, but not read. */
static FILE *open_file(const char *name)
{
	FILE *file = fopen(name, "re");
	struct stat st;

	if (!file || fstat(fileno(file), &st) != 0 || !S_ISDIR(st.st_mode))
		return file;

	fclose(file);
	errno = EISDIR;
	return NULL;
}

ExitStatus verb_import(const Options *options)
{
	const char *given = options->names ? options->names[0] : "-";
	bool is_standard = strcmp(given, "-") == 0;
	g_autofree char *name = message_text(is_standard ? "standard input" : given);
	g_autoptr(ImportReader) reader = NULL;
	ExitStatus status;
	FILE *file;

	if (options->names && options->names[1])
		return message_fail(EXIT_STATUS_USAGE,
				    "import: it takes one FILE, or none for standard input");
	if (is_standard && isatty(STDIN_FILENO))
		return message_fail(
			EXIT_STATUS_USAGE,
			"import: give a FILE, or what 'dedupctl export' printed on standard "
			"input");
	file = is_standard ? stdin : open_file(given);
	if (!file)
		return message_fail(EXIT_STATUS_FAILED, "cannot read %s: %s", name,
				    g_strerror(errno));

	reader = import_reader_new(file, name, options->state_directory, options->replace);
	status = read_all(reader, name, options->state_directory);
	if (!is_standard)
		fclose(file);
	return status;
}
