/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * ConfigKey - one key of the configuration: where it may stand, what it may be, where it goes.
 *
 * The parser, the shipped dedupd.conf, dedupd.conf(5) and `dedupctl config` all follow the one table
 * of them.  Pure.  Thread: any.
 */
typedef enum {
	CONFIG_DEDUPD = 1 << 0, /* [Dedupd]: for all, where nothing more special says otherwise */
	CONFIG_DISK = 1 << 1,   /* [Disk NAME] */
	CONFIG_FILESYSTEM = 1 << 2, /* [Filesystem UUID] or [Filesystem /mount/point] */
} ConfigSection;

/* What a value is in its struct: see the comments. */
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
	unsigned sections; /* ConfigSection */
	ConfigType type;
	const char *standard;     /* its value where nothing is said; "" for an empty list */
	const char *form;         /* what may be given, for people; NULL: one of the words */
	const char *help;         /* one line */
	const char *const *words; /* of a choice */
	uint64_t least;           /* of bytes and numbers */
	uint64_t most;            /* of numbers */
	const char *word;         /* that may stand for a value, or NULL */
	uint64_t word_value;
	size_t offset; /* in Settings, or of a key of [Disk] in DiskSettings */
} ConfigKey;

/* All keys, in the order in which people read of them. */
const ConfigKey *config_keys(size_t *ret_n);

/* The key of this name; NULL: there is none.  Case matters. */
const ConfigKey *config_key_find(const char *name);

/* A key that may stand in @section whose name is near to @name; NULL: none. */
const ConfigKey *config_key_near(const char *name, ConfigSection section);

/* Why no key @name is in sections of the kind @section, with what is right: behind "NAME=: ". */
char *config_key_refusal(const char *name, ConfigSection section);

/* Whether several lines make one value. */
bool config_key_is_list(const ConfigKey *key);

/* Whether its value is kept in DiskSettings. */
bool config_key_is_of_disk(const ConfigKey *key);

/* "Dedupd", "Disk" or "Filesystem". */
const char *config_section_name(ConfigSection section);

/* The section of this name; 0: there is none. */
ConfigSection config_section_find(const char *name);
