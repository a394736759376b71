/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/config/config.h"

#include "common/config/config-lines.h"
#include "common/config/config-value.h"
#include "common/text/name-text.h"
#include "common/text/word-list.h"

#include <string.h>

/* A larger file is a mistake. */
#define FILE_BYTES_MAX (1u << 20)

struct Config {
	GPtrArray *entries; /* ConfigEntry */
};

/* The state while a file is read. */
typedef struct {
	Config *config;
	const char *file;
	unsigned line;
	ConfigSection section; /* 0: none yet, or a refused one */
	bool is_refused;
	char *name;
	GString *problems;
} Reading;

G_DEFINE_QUARK(dedupd - config - error - quark, config_error)

static void entry_free(ConfigEntry *entry)
{
	g_free(entry->name);
	g_free(entry->text);
	g_free(entry->file);
	g_free(entry);
}

Config *config_new(void)
{
	Config *config = g_new0(Config, 1);

	config->entries = g_ptr_array_new_with_free_func((GDestroyNotify)entry_free);
	return config;
}

void config_free(Config *config)
{
	if (!config)
		return;

	g_ptr_array_unref(config->entries);
	g_free(config);
}

const GPtrArray *config_entries(const Config *config)
{
	return config->entries;
}

char *config_section_text(ConfigSection section, const char *name)
{
	g_autofree char *shown = name ? name_text(name, strlen(name)) : NULL;

	return g_strdup_printf("[%s%s%s]", config_section_name(section), name ? " " : "",
			       name ? shown : "");
}

char *config_entry_section(const ConfigEntry *entry)
{
	return config_section_text(entry->section, entry->name);
}

static void complain(Reading *reading, const char *key, const char *what)
{
	g_autofree char *file = name_text(reading->file, strlen(reading->file));
	g_autofree char *section = reading->section
					   ? config_section_text(reading->section, reading->name)
					   : g_strdup("");

	g_string_append_printf(reading->problems, "%s%s:%u: %s%s%s%s%s",
			       reading->problems->len > 0 ? "\n" : "", file, reading->line, section,
			       reading->section ? " " : "", key ? key : "", key ? "=: " : "", what);
}

static void add_entry(Reading *reading, const ConfigKey *key, const char *text)
{
	ConfigEntry *entry = g_new0(ConfigEntry, 1);

	entry->section = reading->section;
	entry->name = g_strdup(reading->name);
	entry->key = key;
	entry->text = g_strdup(text);
	entry->file = g_strdup(reading->file);
	entry->line = reading->line;
	g_ptr_array_add(reading->config->entries, entry);
}

/* Accept tags of fstab(5); UUID= stands for the UUID alone. */
static char *name_of_tag(const char *text)
{
	static const char *const tags[] = { "LABEL=", "PARTUUID=", "PARTLABEL=" };

	for (size_t i = 0; i < G_N_ELEMENTS(tags); i++)
		if (g_str_has_prefix(text, tags[i]) && text[strlen(tags[i])] != '\0')
			return g_strdup(text);

	return NULL;
}

char *config_name_of_filesystem(const char *text)
{
	bool is_of_uuid = g_str_has_prefix(text, "UUID=");
	g_autofree char *name = g_strdup(text + (is_of_uuid ? strlen("UUID=") : 0));
	size_t length = strlen(name);

	if (*name == '/' && !is_of_uuid) {
		while (length > 1 && name[length - 1] == '/')
			name[--length] = '\0';
		return g_steal_pointer(&name);
	}

	if (!g_uuid_string_is_valid(name))
		return is_of_uuid ? NULL : name_of_tag(text);
	return g_ascii_strdown(name, -1);
}

char *config_name_of_disk(const char *text)
{
	static const char *const prefixes[] = { "/dev/disk/by-id/", "/dev/" };

	for (size_t i = 0; i < G_N_ELEMENTS(prefixes); i++) {
		if (!g_str_has_prefix(text, prefixes[i]))
			continue;
		text += strlen(prefixes[i]);
		break;
	}

	return *text == '\0' || strchr(text, '/') ? NULL : g_strdup(text);
}

static void refuse_section(Reading *reading, const char *name)
{
	static const char *const names[] = { "Dedupd", "Disk", "Filesystem" };
	g_autofree char *shown = name_text(name, strlen(name));
	const char *near = nearest_word(name, names, G_N_ELEMENTS(names));
	g_autofree char *meant =
		near ? g_strdup_printf(", did you mean [%s]?", near) : g_strdup(":");
	g_autofree char *what = g_strdup_printf(
		"the section [%s] is unknown%s  There are [Dedupd], [Disk NAME] and "
		"[Filesystem UUID] or [Filesystem /MOUNT/POINT]",
		shown, meant);

	complain(reading, NULL, what);
}

/* Begin a section.  The lines of a refused section are skipped. */
static void take_section(Reading *reading, const ConfigLine *line)
{
	ConfigSection section = config_section_find(line->name);
	g_autofree char *name = NULL;
	const char *right = NULL;

	reading->section = 0;
	g_clear_pointer(&reading->name, g_free);
	reading->is_refused = true;
	if (!section) {
		refuse_section(reading, line->name);
		return;
	}

	if (section != CONFIG_DEDUPD && strchr("\"'", *line->text) && *line->text != '\0') {
		right = "a name is written without quotation marks";
	} else if (section == CONFIG_FILESYSTEM) {
		name = config_name_of_filesystem(line->text);
		right = "[Filesystem …] takes a UUID, the absolute path of a mount point, a "
			"device, "
			"or LABEL=, UUID=, PARTUUID= or PARTLABEL= with a value";
	} else if (section == CONFIG_DISK) {
		name = config_name_of_disk(line->text);
		right = "[Disk …] takes the name of a disk, as sda, or of a link in "
			"/dev/disk/by-id";
	}
	if (section == CONFIG_DEDUPD ? *line->text != '\0' : !name) {
		complain(reading, NULL, right ? right : "[Dedupd] takes no name");
		return;
	}

	reading->section = section;
	reading->name = g_steal_pointer(&name);
	reading->is_refused = false;
	add_entry(reading, NULL, NULL);
}

static void refuse_key(Reading *reading, const char *name)
{
	g_autofree char *shown = name_text(name, strlen(name));
	g_autofree char *what = config_key_refusal(name, reading->section);

	complain(reading, shown, what);
}

static void take_value(Reading *reading, const ConfigLine *line)
{
	const ConfigKey *key = config_key_find(line->name);
	g_autoptr(GError) error = NULL;
	g_auto(Settings) settings = { 0 };
	DiskSettings disk = { 0 };
	void *values = &settings;

	if (reading->is_refused)
		return;
	if (!reading->section) {
		complain(reading, line->name, "no section begins before this line: [Dedupd]?");
		return;
	}
	if (!key || !(key->sections & reading->section)) {
		refuse_key(reading, line->name);
		return;
	}

	if (config_key_is_of_disk(key))
		values = &disk;
	if (config_value_set(key, line->text, values, &error))
		add_entry(reading, key, line->text);
	else
		complain(reading, key->name, error->message);
}

bool config_add(Config *config, const char *file, const char *text, size_t length, GError **error)
{
	g_autoptr(GString) problems = g_string_new(NULL);
	ConfigLines lines = config_lines_of(text, length);
	Reading reading = { .config = config, .file = file, .problems = problems };

	for (;;) {
		g_auto(ConfigLine) line = { 0 };

		if (!config_lines_next(&lines, &line))
			break;
		reading.line = line.number;
		if (line.kind == CONFIG_LINE_SECTION)
			take_section(&reading, &line);
		else if (line.kind == CONFIG_LINE_VALUE)
			take_value(&reading, &line);
		else
			complain(&reading, NULL, line.name);
	}

	g_free(reading.name);
	if (problems->len > 0)
		g_set_error_literal(error, CONFIG_ERROR, CONFIG_ERROR_WRONG, problems->str);
	return problems->len == 0;
}

/* Read @path and append its mistakes to @problems.  A file that cannot be read is an error. */
static bool add_file(Config *config, const char *path, GString *problems, GError **error)
{
	g_autofree char *shown = name_text(path, strlen(path));
	g_autoptr(GError) failed = NULL;
	g_autofree char *text = NULL;
	size_t length;

	if (!g_file_get_contents(path, &text, &length, &failed)) {
		g_set_error(error, CONFIG_ERROR, CONFIG_ERROR_FILE,
			    "cannot read the configuration: %s", failed->message);
		return false;
	}
	if (length > FILE_BYTES_MAX) {
		g_set_error(error, CONFIG_ERROR, CONFIG_ERROR_FILE,
			    "cannot read the configuration: %s is larger than a MiB", shown);
		return false;
	}

	if (!config_add(config, path, text, length, &failed))
		g_string_append_printf(problems, "%s%s", problems->len > 0 ? "\n" : "",
				       failed->message);
	return true;
}

static Config *read_all(const GPtrArray *files, GError **error)
{
	g_autoptr(Config) config = config_new();
	g_autoptr(GString) problems = g_string_new(NULL);

	for (guint i = 0; i < files->len; i++)
		if (!add_file(config, files->pdata[i], problems, error))
			return NULL;

	if (problems->len > 0) {
		g_set_error_literal(error, CONFIG_ERROR, CONFIG_ERROR_WRONG, problems->str);
		return NULL;
	}
	return g_steal_pointer(&config);
}

Config *config_read(const ConfigPlaces *places, GError **error)
{
	g_autoptr(GError) failed = NULL;
	g_autoptr(GPtrArray) files = config_files_find(places, &failed);

	if (!files) {
		g_set_error(error, CONFIG_ERROR, CONFIG_ERROR_FILE,
			    "cannot read the configuration: %s", failed->message);
		return NULL;
	}
	return read_all(files, error);
}

Config *config_read_file(const char *path, GError **error)
{
	g_autoptr(GPtrArray) files = g_ptr_array_new();

	g_ptr_array_add(files, (char *)path);
	return read_all(files, error);
}

Config *config_read_chosen(const char *chosen, GError **error)
{
	if (!chosen)
		return config_read(config_places_standard(), error);
	if (strcmp(chosen, "none") == 0)
		return config_new();
	return config_read_file(chosen, error);
}

/* True if @entry is in @section, and its name is one of @names. */
static bool applies(const ConfigEntry *entry, ConfigSection section, const char *const *names)
{
	return entry->section == section &&
	       (section == CONFIG_DEDUPD || (names && g_strv_contains(names, entry->name)));
}

/* Apply the entries of @section whose keys belong to disks (@of_disk) or to filesystems. */
static void apply(const Config *config, ConfigSection section, const char *const *names,
		  bool of_disk, void *values)
{
	for (guint i = 0; i < config->entries->len; i++) {
		const ConfigEntry *entry = config->entries->pdata[i];
		g_autoptr(GError) error = NULL;

		if (!entry->key || config_key_is_of_disk(entry->key) != of_disk ||
		    !applies(entry, section, names))
			continue;
		if (!config_value_set(entry->key, entry->text, values, &error))
			g_error("%s:%u: %s", entry->file, entry->line, error->message);
	}
}

static void set_standards(bool of_disk, void *values)
{
	size_t n;
	const ConfigKey *keys = config_keys(&n);

	for (size_t i = 0; i < n; i++)
		if (config_key_is_of_disk(&keys[i]) == of_disk)
			config_value_set_standard(&keys[i], values);
}

void config_settings(const Config *config, const char *const *names, Settings *ret)
{
	memset(ret, 0, sizeof(*ret));
	set_standards(false, ret);
	apply(config, CONFIG_DEDUPD, names, false, ret);
	apply(config, CONFIG_FILESYSTEM, names, false, ret);
}

static bool has_section(const Config *config, const char *const *names)
{
	for (guint i = 0; i < config->entries->len; i++) {
		const ConfigEntry *entry = config->entries->pdata[i];

		if (entry->section == CONFIG_FILESYSTEM && !entry->key &&
		    g_strv_contains(names, entry->name))
			return true;
	}

	return false;
}

bool config_enables(const Config *config, const char *const *names)
{
	g_auto(Settings) settings = { 0 };

	if (!has_section(config, names))
		return false;

	config_settings(config, names, &settings);
	return settings.enable == ENABLE_YES;
}

void config_disk_settings(const Config *config, const char *const *names, DiskSettings *ret)
{
	memset(ret, 0, sizeof(*ret));
	set_standards(true, ret);
	apply(config, CONFIG_DEDUPD, names, true, ret);
	apply(config, CONFIG_DISK, names, true, ret);
}

/* Exclude= and Include= set the same value: an empty line of one also clears the other. */
static bool is_same_value(const ConfigKey *one, const ConfigKey *other)
{
	return one->offset == other->offset &&
	       config_key_is_of_disk(one) == config_key_is_of_disk(other);
}

static void add_origins(const Config *config, ConfigSection section, const char *const *names,
			const ConfigKey *key, GPtrArray *origins)
{
	for (guint i = 0; i < config->entries->len; i++) {
		ConfigEntry *entry = config->entries->pdata[i];

		if (!entry->key || !is_same_value(entry->key, key) ||
		    !applies(entry, section, names))
			continue;
		if (!config_key_is_list(key) || *entry->text == '\0')
			g_ptr_array_set_size(origins, 0);
		if (!config_key_is_list(key) || (*entry->text != '\0' && entry->key == key))
			g_ptr_array_add(origins, entry);
	}
}

GPtrArray *config_origins(const Config *config, ConfigSection section, const char *const *names,
			  const ConfigKey *key)
{
	GPtrArray *origins = g_ptr_array_new();

	add_origins(config, CONFIG_DEDUPD, names, key, origins);
	if (section != CONFIG_DEDUPD)
		add_origins(config, section, names, key, origins);
	return origins;
}
