/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/config/config-files.h"

#include "common/text/word-list.h"

#include <stdbool.h>

static const char *const standard_directories[] = {
	DEDUPD_CONFIG_DIRECTORY "/dedupd.conf.d",
	"/run/dedupd/dedupd.conf.d",
	DEDUPD_VENDOR_DIRECTORY "/dedupd.conf.d",
	NULL,
};

static const ConfigPlaces standard = { DEDUPD_CONFIG_DIRECTORY "/dedupd.conf",
				       standard_directories };

const ConfigPlaces *config_places_standard(void)
{
	return &standard;
}

/* Add the drop-ins of @directory to @found (name to path), except those whose name is already there. */
static bool add_directory(GHashTable *found, const char *directory, GError **error)
{
	g_autoptr(GError) failed = NULL;
	g_autoptr(GDir) opened = g_dir_open(directory, 0, &failed);
	const char *name;

	if (g_error_matches(failed, G_FILE_ERROR, G_FILE_ERROR_NOENT))
		return true;
	if (!opened) {
		g_propagate_error(error, g_steal_pointer(&failed));
		return false;
	}

	while ((name = g_dir_read_name(opened))) {
		if (!g_str_has_suffix(name, ".conf") || *name == '.' ||
		    g_hash_table_contains(found, name))
			continue;
		g_hash_table_insert(found, g_strdup(name), g_build_filename(directory, name, NULL));
	}

	return true;
}

GPtrArray *config_files_find(const ConfigPlaces *places, GError **error)
{
	g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GHashTable) found =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	g_autofree const char **names = NULL;
	guint n;

	for (const char *const *directory = places->directories; *directory; directory++)
		if (!add_directory(found, *directory, error))
			return NULL;

	if (g_file_test(places->file, G_FILE_TEST_EXISTS))
		g_ptr_array_add(files, g_strdup(places->file));
	names = (const char **)g_hash_table_get_keys_as_array(found, &n);
	qsort(names, n, sizeof(*names), word_compare);
	for (guint i = 0; i < n; i++)
		g_ptr_array_add(files, g_strdup(g_hash_table_lookup(found, names[i])));

	return g_steal_pointer(&files);
}
