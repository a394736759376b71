/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/system/name-buffer.h"
#include "daemon/context/lost-stand-ins.h"
#include "daemon/inventory/inventory.h"
#include "daemon/inventory/same-sizes.h"
#include "daemon/inventory/walk.h"
#include "hashstore/anchors/sorter.h"
#include "hashstore/objects/objects.h"

/*
 * What the ways of building an Inventory have in common: what becomes of a file by what the store
 * knows of it.
 *
 * Thread: the filesystem's worker.
 */

/* What is seen of whether an object may be a target. */
#define OBJECT_RIGHTS ((unsigned)(OBJECT_FOREIGN | OBJECT_IMMUTABLE))

/* A regular file as it was met. */
typedef struct {
	uint64_t subvolume;
	uint64_t inode;
	uint64_t parent;
	uint64_t name_hash;
	uint64_t name_position; /* in the NameBuffer */
	uint64_t physical;      /* where it begins on the disk; 0: not known */
	Stamp stamp;
	uint32_t generation; /* 0: not known */
	unsigned rights;     /* OBJECT_RIGHTS that it has */
	uint32_t changes;    /* met in a row, this one included, if it is to be read */
	bool is_plain;       /* no flag of the inode says how its data is to be treated */
} FileRecord;

typedef enum {
	FILE_KEPT, /* nothing is to be done */
	FILE_TO_READ,
	FILE_TO_READ_ON, /* of which the store has a half */
	FILE_DOUBTED,    /* its row gets the new ctime, and the day */
	FILE_LEFT,       /* it is not read yet, as it always changes */
	FILE_NOTED,      /* its row gets what else was seen of it */
} FileAction;

struct Inventory {
	Pass *pass;
	FileOpener *opener;
	NameBuffer *names;
	Walk *walk;
	Sorter *files;
	ReadList *to_read;
	SameSizes *sizes; /* NULL: all files are to be read, whatever their sizes */
	uint32_t settled_below;
	bool is_flushed;
	uint64_t unsettled;
	GArray *regained;   /* uint32_t: ids of settled objects that may be targets again */
	LostStandIns *lost; /* what else is to be read for their sake */
	bool lists_relying; /* all that relied on these is listed to be read */
	Sorter *outside;    /* uint32_t: ids of unsettled objects outside the walk */
};

uint64_t inventory_name_hash(const void *name, size_t bytes);

/*
 * Count a file that the store knows, and say what is to be done.  Names do not matter.  One that is kept
 * and was left alone is the caller's to count as such, as is one that is left.
 */
FileAction inventory_judge(Inventory *inventory, FileRecord *seen, const Object *known);

/* Count a file that is gone, and have the store forget it. */
bool inventory_forget(Inventory *inventory, const Object *known, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* List what relied on files that are gone or changed.  The next pass over all files does, where this one is not. */
bool inventory_list_relying(Inventory *inventory, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Have the store know that a file is left alone for a time, which always changes. */
bool inventory_leave(Inventory *inventory, const Object *known, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Have others compared with the file, of which there is nothing to read. */
bool inventory_add_known(Inventory *inventory, FileAction action, const FileRecord *seen,
			 const Object *known, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Do it; @seen has its name by now.  @known may be NULL for FILE_TO_READ. */
bool inventory_act(Inventory *inventory, FileAction action, const FileRecord *seen,
		   const Object *known, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Write out what is dirty, if that was not done yet: when all that is to be read was listed. */
bool inventory_flush(Inventory *inventory, GError **error) G_GNUC_WARN_UNUSED_RESULT;
