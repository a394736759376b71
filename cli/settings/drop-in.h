/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/*
 * DropIn - the file of the configuration that dedupctl writes for one filesystem, and it alone: what
 * somebody else wrote is left as it is, which a line at its beginning tells.
 *
 * Messages have names as they are: message_text() makes them fit to be shown.
 *
 * Thread: main.
 */
#define DROP_IN_ERROR (drop_in_error_quark())
GQuark drop_in_error_quark(void);

typedef enum {
	DROP_IN_ERROR_VALUE,   /* cannot be configured so */
	DROP_IN_ERROR_FOREIGN, /* somebody else's file is in the way */
	DROP_IN_ERROR_FILE,    /* cannot be read or written */
} DropInError;

/*
 * The file in @directory for the filesystem @name, as config_name_of_filesystem() has it: named after
 * the UUID, or the mount point as systemd-escape --path does.
 */
char *drop_in_path(const char *directory, const char *name);

/*
 * A section for @name with Enable= and each KEY=VALUE of @values (NULL-terminated; NULL: none).  NULL:
 * one of them is refused, or would not be read as it was meant.
 */
char *drop_in_text(const char *name, bool enables, char *const *values, GError **error);

/*
 * What is to stand in the stead of @old, the text of a drop-in (NULL: there is none), when @values are said: of lists
 * they are added, others replace, one that is empty takes back what @old says, and KEY-=VALUE takes one value out of a
 * list.  Each line that goes is added to @changes, for people.  NULL: what is to be taken out is not there.
 */
char **drop_in_merge(const char *old, char *const *values, GPtrArray *changes, GError **error);

/* *@ret_text: what is at @path; NULL: nothing.  Somebody else's file is an error. */
bool drop_in_read(const char *path, char **ret_text, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Put @text at @path, its directory too, so that nobody ever reads half of it. */
bool drop_in_write(const char *path, const char *text, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Remove it; *ret_removed: it was there. */
bool drop_in_remove(const char *path, bool *ret_removed, GError **error) G_GNUC_WARN_UNUSED_RESULT;
