/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/arguments/missing-names.h"
#include "cli/arguments/mounts-with-timeout.h"
#include "cli/arguments/store-list.h"
#include "cli/terminal/message.h"
#include "cli/terminal/table.h"
#include "cli/verbs/verb.h"
#include "common/config/config-value.h"
#include "common/config/config.h"

#include <stdio.h>
#include <string.h>

#define CONFIG_COLUMNS(COLUMN)                                                                     \
	COLUMN(CONFIG_SECTION, "SECTION", "section", COLUMN_TEXT)                                  \
	COLUMN(CONFIG_KEY, "KEY", "key", COLUMN_TEXT)                                              \
	COLUMN(CONFIG_VALUE, "VALUE", "value", COLUMN_TEXT)                                        \
	COLUMN(CONFIG_FROM, "FROM", NULL, COLUMN_TEXT)                                             \
	COLUMN(CONFIG_FILE, NULL, "file", COLUMN_TEXT)                                             \
	COLUMN(CONFIG_LINE, NULL, "line", COLUMN_NUMBER)                                           \
	COLUMN(CONFIG_TAKES, NULL, "takes", COLUMN_TEXT)                                           \
	COLUMN(CONFIG_HELP, NULL, "help", COLUMN_TEXT)                                             \
	COLUMN(CONFIG_TYPE_NAME, NULL, "type", COLUMN_TEXT)                                        \
	COLUMN(CONFIG_DEFAULT, NULL, "default", COLUMN_TEXT)                                       \
	COLUMN(CONFIG_WORDS, NULL, "words", COLUMN_LINES)                                          \
	COLUMN(CONFIG_LEAST, NULL, "least", COLUMN_NUMBER)                                         \
	COLUMN(CONFIG_MOST, NULL, "most", COLUMN_NUMBER)                                           \
	COLUMN(CONFIG_LIST, NULL, "list", COLUMN_TEXT)                                             \
	COLUMN(CONFIG_SECTIONS, NULL, "sections", COLUMN_LINES)

TABLE_COLUMNS(config_columns, CONFIG_COLUMNS);

const TableKind table_of_config = { "config", config_columns, G_N_ELEMENTS(config_columns),
				    "dedupctl-config", 1 };

/* Add the facts about @key that a form needs. */
static void set_form(Table *table, const ConfigKey *key)
{
	static const char *const types[] = {
		[CONFIG_CHOICE] = "choice",   [CONFIG_BYTES] = "size",
		[CONFIG_NUMBER] = "number",   [CONFIG_DURATION] = "duration",
		[CONFIG_PATH] = "path",       [CONFIG_WINDOW] = "window",
		[CONFIG_EXCLUDE] = "pattern", [CONFIG_INCLUDE] = "pattern",
	};
	g_autofree char *choices = key->words ? g_strjoinv("\n", (char **)key->words) : NULL;
	g_autofree char *takes = config_value_form(key);
	g_autoptr(GString) sections = g_string_new(NULL);

	for (unsigned one = CONFIG_DEDUPD; one <= CONFIG_FILESYSTEM; one <<= 1)
		if (key->sections & one)
			g_string_append_printf(sections, "%s%s", sections->len > 0 ? "\n" : "",
					       config_section_name(one));
	table_set_text(table, CONFIG_SECTIONS, sections->str);
	table_set_text(table, CONFIG_TAKES, takes);
	table_set_text(table, CONFIG_HELP, key->help);
	table_set_text(table, CONFIG_TYPE_NAME, types[key->type]);
	table_set_text(table, CONFIG_DEFAULT, key->standard);
	table_set_text(table, CONFIG_WORDS, choices ? choices : key->word);
	if (key->type == CONFIG_BYTES || key->type == CONFIG_NUMBER)
		table_set_count(table, CONFIG_LEAST, key->least);
	if (key->type == CONFIG_NUMBER)
		table_set_count(table, CONFIG_MOST, key->most);
	table_set_text(table, CONFIG_LIST, config_key_is_list(key) ? "yes" : "no");
}

/* One line that sets @key, or, without an @origin, its default. */
static void add_value(Table *table, const char *section, const ConfigKey *key,
		      const ConfigEntry *origin)
{
	table_add_row(table);
	table_set_text(table, CONFIG_SECTION, section);
	table_set_text(table, CONFIG_KEY, key->name);
	table_set_escaped(table, CONFIG_VALUE, origin ? origin->text : key->standard);
	set_form(table, key);
	if (!origin) {
		table_set_text(table, CONFIG_FROM, "default");
		return;
	}

	g_autofree char *file = message_text(origin->file);
	g_autofree char *from = g_strdup_printf("%s:%u", file, origin->line);
	table_set_text(table, CONFIG_FROM, from);
	table_set_text(table, CONFIG_FILE, file);
	table_set_count(table, CONFIG_LINE, origin->line);
}

/* Whether a section applies to the filesystem or disk with @names. */
static bool has_section(const Config *config, ConfigSection section, const char *const *names)
{
	const GPtrArray *entries = config_entries(config);

	for (guint i = 0; i < entries->len; i++) {
		const ConfigEntry *entry = entries->pdata[i];

		if (entry->section == section && names && g_strv_contains(names, entry->name))
			return true;
	}
	return false;
}

/*
 * Print all keys allowed in @section, with their values for @names.  Keys that require a section appear only if
 * there is one.
 */
static void add_keys(Table *table, const Config *config, ConfigSection section,
		     const char *const *names, const char *title)
{
	size_t n;
	const ConfigKey *keys = config_keys(&n);
	bool is_named = has_section(config, section, names);

	for (size_t i = 0; i < n; i++) {
		g_autoptr(GPtrArray) origins = config_origins(config, section, names, &keys[i]);

		if (!(keys[i].sections & section) ||
		    (!is_named && !(keys[i].sections & CONFIG_DEDUPD)))
			continue;
		for (guint j = 0; j < origins->len; j++)
			add_value(table, title, &keys[i], origins->pdata[j]);
		if (origins->len == 0)
			add_value(table, title, &keys[i], NULL);
	}
}

/* Print the sections of single filesystems and disks. */
static void add_sections(Table *table, const Config *config)
{
	const GPtrArray *entries = config_entries(config);

	for (guint i = 0; i < entries->len; i++) {
		const ConfigEntry *entry = entries->pdata[i];

		if (!entry->key || entry->section == CONFIG_DEDUPD)
			continue;
		g_autofree char *section = config_entry_section(entry);
		add_value(table, section, entry->key, entry);
	}
}

/* Add the other names by which the stores know the filesystem @name. */
static void add_names_of_stores(const Options *options, const char *name, GPtrArray *names)
{
	char *const asked[] = { (char *)name, NULL };
	g_autoptr(StoreList) list = store_list_open(options->state_directory, asked, NULL);
	const StoreEntry *entry;

	while (list && (entry = store_list_next(list))) {
		g_ptr_array_add(names, g_strdup(hash_store_about(entry->store)->uuid));
		if (entry->has_pass)
			g_ptr_array_add(names, g_strdup(entry->last_pass.mount_point));
	}
}

/* Print the settings in force for the filesystem or disk @name. */
static void add_named(Table *table, const Config *config, const Options *options, const char *name)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	g_autofree char *known = config_name_of_filesystem(name);
	g_autofree char *disk = config_name_of_disk(name);
	g_autofree char *title = NULL;
	ConfigSection section = CONFIG_FILESYSTEM;

	if (!known || g_str_has_prefix(name, "/dev/")) {
		section = CONFIG_DISK;
		g_ptr_array_add(names, g_strdup(disk ? disk : name));
	} else {
		g_ptr_array_add(names, g_strdup(known));
		add_names_of_stores(options, known, names);
	}
	title = config_section_text(section, names->pdata[0]);
	g_ptr_array_add(names, NULL);
	add_keys(table, config, section, (const char *const *)names->pdata, title);
}

/* A section without a present filesystem or disk is no error: it may appear later. */
static void warn_of_names(const Config *config)
{
	g_autoptr(MountTable) mounts = mounts_with_timeout_read(NULL);
	g_autoptr(GPtrArray) missing = mounts ? missing_names_find(config, mounts) : NULL;

	for (guint i = 0; missing && i < missing->len; i++) {
		const MissingName *name = missing->pdata[i];

		message_print("warning: %s: %s", name->text, name->advice);
	}
}

static ExitStatus check_files(const Options *options)
{
	char *const standard[] = { NULL };
	char *const *files = options->names ? options->names : standard;
	ExitStatus status = EXIT_STATUS_DONE;

	do {
		g_autoptr(GError) error = NULL;
		g_autoptr(Config) config = *files ? config_read_file(*files, &error)
						  : config_read_chosen(options->config, &error);

		if (!config) {
			message_print_lines(error->message);
			status = EXIT_STATUS_FAILED;
		} else {
			warn_of_names(config);
		}
	} while (*files && *++files);

	return status;
}

ExitStatus verb_config(const Options *options)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(Config) config = NULL;
	g_autoptr(Table) table = table_new_asked(&table_of_config, options);

	if (options->check)
		return check_files(options);

	config = config_read_chosen(options->config, &error);
	if (!config) {
		message_print_lines(error->message);
		return EXIT_STATUS_FAILED;
	}

	if (!options->names) {
		add_keys(table, config, CONFIG_DEDUPD, NULL, "[Dedupd]");
		add_sections(table, config);
	}
	for (char **name = options->names; name && *name; name++)
		add_named(table, config, options, *name);
	table_print(table);
	return EXIT_STATUS_DONE;
}
