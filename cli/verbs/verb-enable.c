/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/arguments/mounted-name.h"
#include "cli/client/daemon-client.h"
#include "cli/settings/drop-in.h"
#include "cli/settings/overruling.h"
#include "cli/terminal/message.h"
#include "cli/verbs/verb.h"
#include "common/config/config.h"
#include "common/events/supervisor.h"
#include "common/mounts/mount-table.h"
#include "kernel-ioctl/machine/disk-topology.h"

#include <stdio.h>
#include <string.h>

/* The verbs that add filesystems to the configuration, and remove them. */

/* The data of a verb, which owns all of it. */
typedef struct {
	const Options *options;
	ConfigPlaces places;
	char *file;
	char *directories[2];
	MountTable *mounts;
	const MountedFilesystem *mounted; /* NULL: not mounted */
	char *name;                       /* the name in the written section */
	char **names;                     /* all names that sections may have */
} Naming;

static void naming_clear(Naming *naming)
{
	g_free(naming->file);
	g_free(naming->directories[0]);
	mount_table_free(naming->mounts);
	g_free(naming->name);
	g_strfreev(naming->names);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Naming, naming_clear)

/* Find the configuration, and the directory with the highest priority, where drop-ins are written. */
static void find_places(Naming *naming)
{
	const char *directory = naming->options->config_directory;

	naming->places = *config_places_standard();
	if (!directory)
		return;

	naming->file = g_build_filename(directory, "dedupd.conf", NULL);
	naming->directories[0] = g_build_filename(directory, "dedupd.conf.d", NULL);
	naming->places = (ConfigPlaces){ naming->file, (const char *const *)naming->directories };
}

__attribute__((format(printf, 1, 2))) static void tell(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	g_autofree char *line = g_strdup_vprintf(format, arguments);
	va_end(arguments);

	g_autofree char *text = message_terminal_text(line);
	puts(text);
}

/* Find the filesystem that the first name means. */
static bool find(Naming *naming)
{
	g_autoptr(GError) error = NULL;
	const char *typed = naming->options->names[0];

	find_places(naming);
	naming->mounts = mount_table_read(NULL, NULL, NULL, &error);
	if (!naming->mounts) {
		message_print_error(error);
		return false;
	}

	naming->mounted = mounted_name_find(naming->mounts, typed);
	naming->name = config_name_of_filesystem(typed);
	if (naming->mounted) {
		naming->names = mounted_filesystem_names(naming->mounted, NULL);
		if (!naming->name ||
		    !g_strv_contains((const char *const *)naming->names, naming->name)) {
			g_free(naming->name);
			naming->name = realpath(typed, NULL);
		}
	} else if (naming->name) {
		naming->names = g_new0(char *, 2);
		naming->names[0] = g_strdup(naming->name);
	}
	return true;
}

/* The last entry of the configuration for it, owned by the configuration; NULL: none. */
static const ConfigEntry *last_word(const Config *config, const Naming *naming)
{
	const GPtrArray *entries = config_entries(config);
	const ConfigEntry *section = NULL;
	const ConfigEntry *enable = NULL;

	for (size_t i = 0; i < entries->len; i++) {
		const ConfigEntry *entry = entries->pdata[i];

		if (entry->section != CONFIG_FILESYSTEM ||
		    !g_strv_contains((const char *const *)naming->names, entry->name))
			continue;
		section = entry;
		if (entry->key && strcmp(entry->key->name, "Enable") == 0)
			enable = entry;
	}

	return enable ? enable : section;
}

static Config *read_config(const Naming *naming)
{
	g_autoptr(GError) error = NULL;
	Config *config = config_read(&naming->places, &error);

	if (!config)
		message_print_lines(error->message);
	return config;
}

/* Tell the service, if it runs and this is its configuration. */
static ExitStatus reload(const Naming *naming, bool has_work)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(DaemonClient) client = NULL;

	if (naming->options->config_directory)
		return EXIT_STATUS_DONE;

	client = daemon_client_connect(&error);
	if (!client &&
	    g_error_matches(error, DAEMON_CLIENT_ERROR, DAEMON_CLIENT_ERROR_NOT_RUNNING)) {
		if (has_work)
			tell(BUILT_WITH_SYSTEMD ? "The next 'dedupd --once' heeds this. The "
						  "service does not run: 'systemctl enable --now "
						  "dedupd' starts it, or 'systemctl enable --now "
						  "dedupd.timer' makes a pass every night."
						: "The next 'dedupd --once' heeds this. A running "
						  "service does so after the signal HUP.");
		return EXIT_STATUS_DONE;
	}
	if (client && daemon_client_reload(client, &error))
		return EXIT_STATUS_DONE;

	message_print_lines(error->message);
	return EXIT_STATUS_FAILED;
}

static bool write_drop_in(const Naming *naming, bool enables, char *const *values)
{
	g_autofree char *path = drop_in_path(naming->places.directories[0], naming->name);
	g_autoptr(GError) error = NULL;
	g_autofree char *text = drop_in_text(naming->name, enables, values, &error);

	if (!text || !drop_in_write(path, text, &error)) {
		message_print_error(error);
		return false;
	}

	tell("Wrote %s.", path);
	return true;
}

/* A drop-in has the name of a mount point or a UUID. */
static bool may_have_drop_in(const char *name)
{
	return *name == '/' || !strchr(name, '=');
}

/* Add the values of the drop-in of @name. */
static bool add_drop_in(const Naming *naming, const char *name, GString *text, GError **error)
{
	g_autofree char *path = drop_in_path(naming->places.directories[0], name);
	g_autofree char *old = NULL;

	if (!drop_in_read(path, &old, error))
		return false;
	if (old)
		g_string_append(text, old);
	return true;
}

/*
 * The values that 'enable' has to write, including those that it wrote before under any name.  Changes are
 * reported.
 */
static char **merge_values(const Naming *naming, GPtrArray *changes, GError **error)
{
	g_autoptr(GString) old = g_string_new(NULL);

	for (char **name = naming->names; *name; name++)
		if (may_have_drop_in(*name) && strcmp(*name, naming->name) != 0 &&
		    !add_drop_in(naming, *name, old, error))
			return NULL;

	return add_drop_in(naming, naming->name, old, error)
		       ? drop_in_merge(old->str, naming->options->names + 1, changes, error)
		       : NULL;
}

/* An empty value of a list stays, so tell users who meant to remove their values. */
static void tell_emptying(const Naming *naming, const char *value)
{
	g_autofree char *name = g_strndup(value, strcspn(value, "="));
	const ConfigKey *key = config_key_find(name);

	if (value[strlen(name) + 1] != '\0' || !key || !config_key_is_list(key))
		return;
	tell("  %s takes back what [Dedupd] lists, too, until 'dedupctl enable %s %s-='.", value,
	     naming->name, name);
}

static void tell_changes(const Naming *naming, const GPtrArray *changes, char *const *merged)
{
	const char *const *said = (const char *const *)naming->options->names + 1;

	for (guint i = 0; i < changes->len; i++)
		tell("  %s", (const char *)changes->pdata[i]);
	for (; *merged; merged++) {
		if (!g_strv_contains(said, *merged))
			tell("  as before: %s", *merged);
		tell_emptying(naming, *merged);
	}
}

/* Report values on the command line that have no effect, since a later file overrides them. */
static bool are_in_force(const Naming *naming, const Config *config)
{
	g_autofree char *path = drop_in_path(naming->places.directories[0], naming->name);
	char *const *values = naming->options->names + 1;
	bool are_all = true;

	for (; *values; values++) {
		const ConfigEntry *entry =
			overruling_find(config, (const char *const *)naming->names, path, *values);
		g_autofree char *text = entry ? overruling_text(*values, entry) : NULL;

		if (!text)
			continue;
		message_print("%s", text);
		are_all = false;
	}
	return are_all;
}

/* Whether the written file has its intended effect: a later file may override it. */
static ExitStatus check_effect(const Naming *naming, bool is_to_be_enabled)
{
	g_autoptr(Config) config = read_config(naming);
	const ConfigEntry *word;

	if (!config)
		return EXIT_STATUS_FAILED;
	if (config_enables(config, (const char *const *)naming->names) == is_to_be_enabled) {
		ExitStatus status = reload(naming, is_to_be_enabled);

		return are_in_force(naming, config) ? status : EXIT_STATUS_FAILED;
	}

	word = last_word(config, naming);
	return message_fail(EXIT_STATUS_FAILED, "%s:%u says otherwise, and is read later",
			    word->file, word->line);
}

/* True if any disk of the filesystem is removable, as far as the kernel knows. */
static bool is_removable(const MountedFilesystem *filesystem)
{
	g_auto(GStrv) ways = mounted_filesystem_ways(filesystem);
	g_autoptr(GPtrArray) disks = NULL;
	FsLocation location;

	if (!ways[0] || !fs_location_of_path(ways[0], &location))
		return false;

	disks = disk_topology_find(disk_topology_system(), &location);
	for (size_t i = 0; i < disks->len; i++)
		if (((const Disk *)disks->pdata[i])->is_removable)
			return true;

	return false;
}

/* The mount point of a portable disk may have another filesystem tomorrow. */
static void prefer_uuid(Naming *naming)
{
	if (*naming->name != '/' || !is_removable(naming->mounted))
		return;

	tell("%s is on a removable disk, so it is named by its UUID.", naming->name);
	g_free(naming->name);
	naming->name = g_strdup(naming->mounted->uuid);
}

static bool is_one_named(const Options *options)
{
	if (options->names)
		return true;

	message_print("no filesystem: give a mount point or a UUID");
	return false;
}

/* Remove the files that 'enable' wrote, under any name but @kept. */
static bool remove_drop_ins(const Naming *naming, const char *kept, bool *ret_removed)
{
	*ret_removed = false;
	for (char **name = naming->names; name && *name; name++) {
		if (!may_have_drop_in(*name) || g_strcmp0(*name, kept) == 0)
			continue;
		g_autofree char *path = drop_in_path(naming->places.directories[0], *name);
		g_autoptr(GError) error = NULL;
		bool was_there;

		if (!drop_in_remove(path, &was_there, &error)) {
			message_print_error(error);
			return false;
		}
		if (was_there)
			tell("Removed %s.", path);
		*ret_removed |= was_there;
	}

	return true;
}

ExitStatus verb_enable(const Options *options)
{
	g_auto(Naming) naming = { .options = options };
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) changes = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(Config) config = NULL;
	g_auto(GStrv) values = NULL;
	g_autofree char *text = NULL;
	bool has_removed;

	if (!is_one_named(options))
		return EXIT_STATUS_USAGE;
	if (!find(&naming))
		return EXIT_STATUS_FAILED;
	if (!naming.mounted) {
		g_autofree char *refusal = mounted_name_refusal(naming.mounts, options->names[0]);

		return message_fail(EXIT_STATUS_FAILED, "%s", refusal);
	}
	if (naming.mounted->refusal)
		return message_fail(EXIT_STATUS_FAILED, "%s", naming.mounted->refusal);

	prefer_uuid(&naming);
	values = merge_values(&naming, changes, &error);
	text = values ? drop_in_text(naming.name, true, values, &error) : NULL;
	if (!text) {
		message_print_error(error);
		return values || g_error_matches(error, DROP_IN_ERROR, DROP_IN_ERROR_VALUE)
			       ? EXIT_STATUS_USAGE
			       : EXIT_STATUS_FAILED;
	}
	/* Do not add to a configuration that is already faulty. */
	config = read_config(&naming);
	if (!config || !write_drop_in(&naming, true, values))
		return EXIT_STATUS_FAILED;

	tell_changes(&naming, changes, values);
	/* This file now has the values of the other names. */
	if (!remove_drop_ins(&naming, naming.name, &has_removed))
		return EXIT_STATUS_FAILED;
	return check_effect(&naming, true);
}

ExitStatus verb_disable(const Options *options)
{
	g_auto(Naming) naming = { .options = options };
	g_autoptr(Config) config = NULL;
	const ConfigEntry *word;
	bool has_removed;

	if (!is_one_named(options))
		return EXIT_STATUS_USAGE;
	if (options->names[1])
		return message_fail(EXIT_STATUS_USAGE,
				    "one filesystem at a time, and nothing else");
	if (!find(&naming) || !remove_drop_ins(&naming, NULL, &has_removed))
		return EXIT_STATUS_FAILED;

	config = read_config(&naming);
	if (!config)
		return EXIT_STATUS_FAILED;
	word = naming.names ? last_word(config, &naming) : NULL;
	if (word && config_enables(config, (const char *const *)naming.names)) {
		tell("%s:%u names it, too.", word->file, word->line);
		return write_drop_in(&naming, false, NULL) ? check_effect(&naming, false)
							   : EXIT_STATUS_FAILED;
	}
	if (has_removed)
		return reload(&naming, false);

	if (naming.mounted || word) {
		tell("%s is not enabled.", options->names[0]);
		return EXIT_STATUS_DONE;
	}

	g_autofree char *refusal = mounted_name_refusal(naming.mounts, options->names[0]);
	return message_fail(EXIT_STATUS_FAILED, "%s", refusal);
}
