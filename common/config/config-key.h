/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * ConfigKey - one key of the configuration: its sections, its values, and the field that it sets.
 *
 * One table of keys serves the parser, the options of dedupd, the shipped dedupd.conf, dedupd.conf(5) and `dedupctl
 * config`.
 * Pure.  Thread: any.
 */
typedef enum {
	CONFIG_DEDUPD = 1 << 0,     /* [Dedupd]: the default for all filesystems and disks */
	CONFIG_DISK = 1 << 1,       /* [Disk NAME] */
	CONFIG_FILESYSTEM = 1 << 2, /* [Filesystem UUID] or [Filesystem /mount/point] */
} ConfigSection;

/* The type of the field; comments give the C types. */
typedef enum {
	CONFIG_CHOICE,   /* unsigned, or an enum: the index of one of the words */
	CONFIG_BYTES,    /* uint64_t */
	CONFIG_NUMBER,   /* uint32_t */
	CONFIG_DURATION, /* uint64_t, in microseconds */
	CONFIG_PATH,     /* char *, absolute */
	CONFIG_WINDOW,   /* GArray * of TimeWindow: a list */
	CONFIG_EXCLUDE,  /* char **, patterns: a list */
	CONFIG_INCLUDE,  /* the same, each with a ! before it */
} ConfigType;

typedef struct {
	const char *name;
	const char *option; /* of dedupd, without the dashes; NULL: none */
	unsigned sections;  /* ConfigSection */
	ConfigType type;
	const char *standard;     /* the default value; "" for an empty list */
	const char *form;         /* the accepted form, for people; NULL: one of the words */
	const char *help;         /* one line */
	const char *const *words; /* of a choice */
	uint64_t least;           /* of bytes and numbers */
	uint64_t most;            /* of numbers */
	const char *word;         /* an additional word that stands for word_value, or NULL */
	uint64_t word_value;
	size_t offset; /* in Settings, or in DiskSettings for a key of [Disk] */
} ConfigKey;

/* All keys, in the order of the manual. */
const ConfigKey *config_keys(size_t *ret_n);

/* The key with this name, in this case; NULL: none. */
const ConfigKey *config_key_find(const char *name);

/* Why @name is no key of @section, and what would be right, to follow "NAME=: ".  To be freed. */
char *config_key_refusal(const char *name, ConfigSection section);

/* Several lines add up to one value. */
bool config_key_is_list(const ConfigKey *key);

/* The value is in DiskSettings. */
bool config_key_is_of_disk(const ConfigKey *key);

/* "Dedupd", "Disk" or "Filesystem". */
const char *config_section_name(ConfigSection section);

/* The section with this name; 0: none. */
ConfigSection config_section_find(const char *name);
