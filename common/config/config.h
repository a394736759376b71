/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/config/config-files.h"
#include "common/config/config-key.h"
#include "common/config/disk-settings.h"
#include "common/config/settings.h"

/*
 * Config - what the files of the configuration say, checked, with where they say it.
 *
 * What is said of one filesystem or disk is stronger than what [Dedupd] says of all; of equally strong
 * ones the later wins; lists grow from the weaker to the stronger.
 *
 * Set when read, never changed.  Thread: any.
 */
#define CONFIG_ERROR (config_error_quark())
GQuark config_error_quark(void);

typedef enum {
	CONFIG_ERROR_FILE,  /* cannot be read */
	CONFIG_ERROR_WRONG, /* is refused */
} ConfigError;

typedef struct Config Config;

/* The beginning of a section, or one of the lines in it. */
typedef struct {
	ConfigSection section;
	char *name;           /* of a disk, or a filesystem's UUID or mount point; NULL: [Dedupd] */
	const ConfigKey *key; /* NULL: the section begins */
	char *text;           /* the value */
	char *file;
	unsigned line;
} ConfigEntry;

/* One that says nothing. */
Config *config_new(void);
void config_free(Config *config);

/*
 * Read the files of @places.  NULL: one of them cannot be read, or all that is wrong in them, a line
 * each: file, line, section, key, and what would be right.
 */
Config *config_read(const ConfigPlaces *places, GError **error);

/* The same of one file alone. */
Config *config_read_file(const char *path, GError **error);

/* Add what the @length bytes at @text say, as if they were read from @file. */
bool config_add(Config *config, const char *file, const char *text, size_t length, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* All there is, in the order in which it was read: an array of ConfigEntry. */
const GPtrArray *config_entries(const Config *config);

/* The paths that were read. */
const GPtrArray *config_paths(const Config *config);

/* "[Filesystem /srv]", fit for a terminal */
char *config_section_text(ConfigSection section, const char *name);
char *config_entry_section(const ConfigEntry *entry);

/*
 * The name by which a filesystem is compared: of a UUID in lower case, of an absolute path without slashes
 * at its end, of a tag as it is (LABEL=pool), but UUID= left out; NULL: it is none of these.
 */
char *config_name_of_filesystem(const char *text);

/* The same for a disk: of the kernel, or in /dev/disk/by-id, without a directory. */
char *config_name_of_disk(const char *text);

/*
 * The settings of a pass over the filesystem that goes by each of @names (UUID, mount points;
 * NULL-terminated), with all that nothing is said of at its default.
 */
void config_settings(const Config *config, const char *const *names, Settings *ret);

/* Whether the filesystem that goes by each of @names is to be worked on: a section names it, and says so. */
bool config_enables(const Config *config, const char *const *names);

/* The same for a disk. */
void config_disk_settings(const Config *config, const char *const *names, DiskSettings *ret);

/*
 * Where the value of @key comes from, for what goes by @names in @section: an array of ConfigEntry, of
 * which only lists have several; empty: the default.
 */
GPtrArray *config_origins(const Config *config, ConfigSection section, const char *const *names,
			  const ConfigKey *key);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Config, config_free)
