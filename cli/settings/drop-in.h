/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/*
 * DropIn - the configuration file that dedupctl writes for one filesystem. dedupctl changes no other files.  A
 * line at the beginning marks its own.
 *
 * Messages contain unescaped names: use message_text() before printing.
 *
 * Thread: main.
 */
#define DROP_IN_ERROR (drop_in_error_quark())
GQuark drop_in_error_quark(void);

typedef enum {
	DROP_IN_ERROR_VALUE,   /* not a valid setting */
	DROP_IN_ERROR_FOREIGN, /* a file of this name exists that dedupctl did not write */
	DROP_IN_ERROR_FILE,    /* cannot be read or written */
} DropInError;

/*
 * The file in @directory for the filesystem @name, as returned by config_name_of_filesystem().  It is named
 * after the UUID, or after the mount point in the form of systemd-escape --path.
 */
char *drop_in_path(const char *directory, const char *name);

/*
 * A section for @name with Enable= and each KEY=VALUE of @values (NULL-terminated; NULL: none).  Returns NULL
 * if a value is refused, or would be read with another meaning.
 */
char *drop_in_text(const char *name, bool enables, char *const *values, GError **error);

/*
 * Merge @values into @old, the text of a drop-in (NULL: there is none).  Values of lists are added; others
 * replace.  An empty value takes back what @old says, and KEY-=VALUE removes one value from a list.  @changes
 * gets each removed line, as text for users.  NULL: a value to remove does not exist.
 */
char **drop_in_merge(const char *old, char *const *values, GPtrArray *changes, GError **error);

/*
 * Read the file at @path into *@ret_text; NULL: it does not exist.  A file that dedupctl did not write is an
 * error.
 */
bool drop_in_read(const char *path, char **ret_text, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Write @text to @path atomically, and create its directory. */
bool drop_in_write(const char *path, const char *text, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Remove the file; *ret_removed: it existed. */
bool drop_in_remove(const char *path, bool *ret_removed, GError **error) G_GNUC_WARN_UNUSED_RESULT;
