/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/config/config-files.h"
#include "common/config/config-key.h"
#include "common/config/disk-settings.h"
#include "common/config/settings.h"

/*
 * Config - the checked contents of the configuration files, with the place of each entry.
 *
 * Entries for one filesystem or disk override those in [Dedupd].  Among equals the later one wins.  Lists grow
 * from weaker to stronger entries.
 *
 * Set when read, never changed.  Thread: any.
 */
#define CONFIG_ERROR (config_error_quark())
GQuark config_error_quark(void);

typedef enum {
	CONFIG_ERROR_FILE,  /* cannot be read */
	CONFIG_ERROR_WRONG, /* its contents are wrong */
} ConfigError;

typedef struct Config Config;

/* The start of a section, or one of its lines. */
typedef struct {
	ConfigSection section;
	char *name;           /* of a disk, or a filesystem's UUID or mount point; NULL: [Dedupd] */
	const ConfigKey *key; /* NULL: the section begins */
	char *text;           /* the value */
	char *file;
	unsigned line;
} ConfigEntry;

/* A configuration without entries. */
Config *config_new(void);
void config_free(Config *config);

/*
 * Read the files of @places.  NULL: a file cannot be read, or is wrong.  The error then lists all mistakes, one
 * per line: file, line, section, key, and what would be right.
 */
Config *config_read(const ConfigPlaces *places, GError **error);

/* Read one file only. */
Config *config_read_file(const char *path, GError **error);

/* Read what the option --config names: a file, or "none"; NULL: the standard places. */
Config *config_read_chosen(const char *chosen, GError **error);

/* Add the @length bytes at @text as if they were the contents of @file. */
bool config_add(Config *config, const char *file, const char *text, size_t length, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* All entries in reading order: an array of ConfigEntry. */
const GPtrArray *config_entries(const Config *config);

/* "[Filesystem /srv]", escaped for a terminal. */
char *config_section_text(ConfigSection section, const char *name);
char *config_entry_section(const ConfigEntry *entry);

/*
 * The form of a filesystem's name for comparison, to be freed.  A UUID becomes lower case, UUID= is removed,
 * an absolute path loses slashes at its end, and other tags (LABEL=pool) stay.  NULL: it is none of these.
 */
char *config_name_of_filesystem(const char *text);

/* The same for a disk: the kernel's name, or one in /dev/disk/by-id, without a directory. */
char *config_name_of_disk(const char *text);

/*
 * The settings of a pass over the filesystem with @names (UUID, mount points; NULL-terminated).  Other
 * settings have their defaults.
 */
void config_settings(const Config *config, const char *const *names, Settings *ret);

/* True if a section names the filesystem with @names and enables it. */
bool config_enables(const Config *config, const char *const *names);

/* The settings of the disk with @names. */
void config_disk_settings(const Config *config, const char *const *names, DiskSettings *ret);

/*
 * The entries that set the value of @key for @names in @section: an array of ConfigEntry, empty for the
 * default.  Only lists have several.
 */
GPtrArray *config_origins(const Config *config, ConfigSection section, const char *const *names,
			  const ConfigKey *key);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Config, config_free)
