/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/terminal/dedupd-program.h"

#include <glib.h>

char *dedupd_program_find(void)
{
	g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
	g_autofree char *directory = self ? g_path_get_dirname(self) : NULL;
	char *found[] = {
		directory ? g_build_filename(directory, "..", "sbin", "dedupd", NULL) : NULL,
		directory ? g_build_filename(directory, "dedupd", NULL) : NULL,
		directory ? g_build_filename(directory, "..", "daemon", "dedupd", NULL) : NULL,
		g_strdup(DEDUPD_PATH),
	};
	char *program = NULL;

	for (size_t i = 0; i < G_N_ELEMENTS(found); i++) {
		if (!program && found[i] && g_file_test(found[i], G_FILE_TEST_IS_EXECUTABLE))
			program = g_steal_pointer(&found[i]);
		g_free(found[i]);
	}

	return program;
}
