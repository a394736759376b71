/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/settings/drop-in.h"

#include "common/config/config-value.h"
#include "common/config/config.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_LINE "# Written by dedupctl, which replaces and removes it.\n"

/* The maximum length of a file name (255), less the suffix that it has while it is written. */
#define NAME_BYTES_MAX 240

G_DEFINE_QUARK(dedupctl - drop - in - error - quark, drop_in_error)

/* As systemd-escape --path. */
static char *escaped(const char *path)
{
	GString *text = g_string_new(NULL);

	while (*path == '/')
		path++;
	if (*path == '\0')
		g_string_append_c(text, '-');
	for (const char *byte = path; *byte; byte++) {
		if (*byte == '/')
			g_string_append_c(text, '-');
		else if (g_ascii_isalnum(*byte) || *byte == '_' || *byte == ':' ||
			 (*byte == '.' && byte > path))
			g_string_append_c(text, *byte);
		else
			g_string_append_printf(text, "\\x%02x", (unsigned char)*byte);
	}

	return g_string_free(text, FALSE);
}

char *drop_in_path(const char *directory, const char *name)
{
	g_autofree char *base = *name == '/' ? escaped(name) : g_strdup(name);
	g_autofree char *file = NULL;

	if (strlen(base) > NAME_BYTES_MAX) {
		g_autofree char *digest =
			g_compute_checksum_for_string(G_CHECKSUM_SHA256, name, -1);

		g_free(base);
		base = g_steal_pointer(&digest);
	}
	file = g_strconcat(base, ".conf", NULL);
	return g_build_filename(directory, file, NULL);
}

static bool check_value(const char *assignment, GError **error)
{
	const char *equals = strchr(assignment, '=');
	g_autofree char *name =
		equals ? g_strndup(assignment, (size_t)(equals - assignment)) : NULL;
	const ConfigKey *key = name ? config_key_find(name) : NULL;
	g_auto(Settings) settings = { 0 };

	if (!equals) {
		g_set_error(error, DROP_IN_ERROR, DROP_IN_ERROR_VALUE,
			    "'%s' is not KEY=VALUE: name one filesystem, then its settings",
			    assignment);
		return false;
	}
	if (strcmp(name, "Enable") == 0) {
		g_set_error_literal(error, DROP_IN_ERROR, DROP_IN_ERROR_VALUE,
				    "use 'enable' and 'disable' to set Enable=");
		return false;
	}
	if (!key || !(key->sections & CONFIG_FILESYSTEM)) {
		g_autofree char *refusal = config_key_refusal(name, CONFIG_FILESYSTEM);

		g_set_error(error, DROP_IN_ERROR, DROP_IN_ERROR_VALUE, "%s=: %s", name, refusal);
		return false;
	}
	if (!config_value_set(key, equals + 1, &settings, error)) {
		g_prefix_error(error, "%s=: ", name);
		return false;
	}

	return true;
}

/* Whether @text keeps its meaning in a file, where some bytes are special. */
static bool is_read_as_meant(const char *text, const char *name, char *const *values)
{
	g_autoptr(Config) config = config_new();
	const GPtrArray *entries = config_entries(config);
	size_t n_values = values ? g_strv_length((char **)values) : 0;

	/* The section, and Enable=. */
	if (!config_add(config, "", text, strlen(text), NULL) || entries->len != n_values + 2)
		return false;
	for (size_t i = 0; i < entries->len; i++) {
		const ConfigEntry *entry = entries->pdata[i];
		g_autofree char *assignment = NULL;

		if (entry->section != CONFIG_FILESYSTEM || strcmp(entry->name, name) != 0)
			return false;
		if (i < 2)
			continue;
		assignment = g_strconcat(entry->key->name, "=", entry->text, NULL);
		if (strcmp(assignment, values[i - 2]) != 0)
			return false;
	}

	return true;
}

char *drop_in_text(const char *name, bool enables, char *const *values, GError **error)
{
	g_autoptr(GString) text = g_string_new(FIRST_LINE);

	g_string_append_printf(text, "[Filesystem %s]\nEnable=%s\n", name, enables ? "yes" : "no");
	for (char *const *value = values; value && *value; value++) {
		if (!check_value(*value, error))
			return NULL;
		g_string_append_printf(text, "%s\n", *value);
	}

	if (!is_read_as_meant(text->str, name, values)) {
		g_set_error(
			error, DROP_IN_ERROR, DROP_IN_ERROR_VALUE,
			"%s cannot be configured like that: blanks at the ends of lines, and line "
			"breaks, have a meaning in files",
			name);
		return NULL;
	}
	return g_string_free(g_steal_pointer(&text), FALSE);
}

/* The settings of @text, a drop-in, for its filesystem, as "KEY=VALUE". */
static GPtrArray *values_in(const char *text)
{
	g_autoptr(Config) config = config_new();
	const GPtrArray *entries = config_entries(config);
	GPtrArray *values = g_ptr_array_new_with_free_func(g_free);

	/* A caller that writes it again has checked the configuration. */
	if (!config_add(config, "", text, strlen(text), NULL))
		return values;
	for (guint i = 0; i < entries->len; i++) {
		const ConfigEntry *entry = entries->pdata[i];

		if (entry->key && strcmp(entry->key->name, "Enable") != 0)
			g_ptr_array_add(values,
					g_strconcat(entry->key->name, "=", entry->text, NULL));
	}
	return values;
}

static const ConfigKey *key_of(const char *assignment)
{
	g_autofree char *name = g_strndup(assignment, strcspn(assignment, "="));

	return config_key_find(name);
}

/* Remove all that sets the value of @key from @values, and report each removal unless @new sets it, too. */
static void drop_values(GPtrArray *values, const ConfigKey *key, const char *new,
			GPtrArray *changes)
{
	for (guint i = values->len; i > 0; i--) {
		const char *old = values->pdata[i - 1];

		if (key_of(old)->offset != key->offset)
			continue;
		if (strcmp(old, new) != 0)
			g_ptr_array_add(changes, g_strdup_printf("removed: %s", old));
		g_ptr_array_remove_index(values, i - 1);
	}
}

/* Append @value ("KEY=VALUE") to @values: it is added to lists, and replaces other values. */
static void add_value(GPtrArray *values, const char *value, GPtrArray *changes)
{
	const char *equals = strchr(value, '=');
	const ConfigKey *key = equals ? key_of(value) : NULL;
	/* Keys that are not of filesystems are refused later. */
	bool is_known = key && key->sections & CONFIG_FILESYSTEM;
	bool empties = is_known && equals[1] == '\0';
	guint index;

	if (is_known && (empties || !config_key_is_list(key)))
		drop_values(values, key, value, changes);
	else if (g_ptr_array_find_with_equal_func(values, value, g_str_equal, &index))
		/* The last pattern decides. */
		g_ptr_array_remove_index(values, index);
	if (!empties || config_key_is_list(key))
		g_ptr_array_add(values, g_strdup(value));
}

/* The KEY=VALUE that @assignment, KEY-=VALUE, removes from a list; NULL: it has another form. */
static char *taken_back_by(const char *assignment)
{
	size_t length = strcspn(assignment, "=");
	g_autofree char *name =
		length > 1 && assignment[length] == '=' && assignment[length - 1] == '-'
			? g_strndup(assignment, length - 1)
			: NULL;
	const ConfigKey *key = name ? config_key_find(name) : NULL;

	/* Keys that are not of filesystems, or not lists, are refused later. */
	return key && config_key_is_list(key) && key->sections & CONFIG_FILESYSTEM
		       ? g_strconcat(name, assignment + length, NULL)
		       : NULL;
}

/* Remove @value, of a list. */
static bool take_back(GPtrArray *values, const char *value, GPtrArray *changes, GError **error)
{
	guint index;

	if (!g_ptr_array_find_with_equal_func(values, value, g_str_equal, &index)) {
		g_set_error(error, DROP_IN_ERROR, DROP_IN_ERROR_VALUE,
			    "%s cannot be taken back: 'enable' did not write it for this "
			    "filesystem ('dedupctl config' says which file does)",
			    value);
		return false;
	}

	g_ptr_array_remove_index(values, index);
	g_ptr_array_add(changes, g_strdup_printf("removed: %s", value));
	return true;
}

char **drop_in_merge(const char *old, char *const *values, GPtrArray *changes, GError **error)
{
	g_autoptr(GPtrArray) merged = values_in(old ? old : "");

	for (; *values; values++) {
		g_autofree char *taken_back = taken_back_by(*values);

		if (taken_back && !take_back(merged, taken_back, changes, error))
			return NULL;
		if (!taken_back)
			add_value(merged, *values, changes);
	}

	g_ptr_array_add(merged, NULL);
	return (char **)g_ptr_array_steal(merged, NULL);
}

static void fail(GError **error, const char *what, const char *path, const char *why)
{
	g_set_error(error, DROP_IN_ERROR, DROP_IN_ERROR_FILE, "cannot %s %s: %s", what, path, why);
}

bool drop_in_read(const char *path, char **ret_text, GError **error)
{
	g_autoptr(GError) failed = NULL;
	g_autofree char *text = NULL;

	*ret_text = NULL;
	if (!g_file_get_contents(path, &text, NULL, &failed)) {
		if (g_error_matches(failed, G_FILE_ERROR, G_FILE_ERROR_NOENT))
			return true;
		fail(error, "read", path, failed->message);
		return false;
	}
	if (g_str_has_prefix(text, FIRST_LINE)) {
		*ret_text = g_steal_pointer(&text);
		return true;
	}

	g_set_error(
		error, DROP_IN_ERROR, DROP_IN_ERROR_FOREIGN,
		"dedupctl did not write %s, so it does not change it: edit or remove it by hand",
		path);
	return false;
}

bool drop_in_write(const char *path, const char *text, GError **error)
{
	g_autofree char *directory = g_path_get_dirname(path);
	g_autoptr(GError) failed = NULL;
	g_autofree char *old = NULL;

	if (!drop_in_read(path, &old, error))
		return false;
	if (g_mkdir_with_parents(directory, 0755) != 0) {
		fail(error, "make", directory, g_strerror(errno));
		return false;
	}
	if (!g_file_set_contents_full(path, text, (gssize)strlen(text),
				      G_FILE_SET_CONTENTS_CONSISTENT | G_FILE_SET_CONTENTS_DURABLE,
				      0644, &failed)) {
		fail(error, "write", path, failed->message);
		return false;
	}

	/* Set the mode regardless of the umask: all who may ask for the configuration may read it. */
	chmod(path, 0644);
	return true;
}

bool drop_in_remove(const char *path, bool *ret_removed, GError **error)
{
	g_autofree char *old = NULL;

	*ret_removed = false;
	if (!drop_in_read(path, &old, error))
		return false;
	*ret_removed = old;
	if (!old || unlink(path) == 0)
		return true;

	fail(error, "remove", path, g_strerror(errno));
	return false;
}
