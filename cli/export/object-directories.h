/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/objects/objects.h"

#include <glib.h>

/*
 * ObjectDirectories - in which directory an object lies.
 *
 * On XFS the store has the names.  On btrfs the filesystem is asked; of several files that show an extent, the
 * first one in the extent tree counts.
 *
 * Thread: main.
 */
typedef struct ObjectDirectories ObjectDirectories;

/* @fd is any directory of the mounted filesystem, or -1 for XFS.  All are borrowed. */
ObjectDirectories *object_directories_new(HashStore *store, int fd, GError **error);
void object_directories_free(ObjectDirectories *directories);

/*
 * The path, escaped, valid until the next call; "": not known.  NULL: the extent is gone, which a pass may note days
 * later.
 */
const char *object_directories_find(ObjectDirectories *directories, const Object *object);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ObjectDirectories, object_directories_free)
