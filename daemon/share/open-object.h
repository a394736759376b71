/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/disks/file-reader.h"
#include "common/files/stamp.h"
#include "daemon/context/file-opener.h"
#include "daemon/context/pass.h"

/*
 * OpenObject - an object of the store whose file is open and has its stamp.
 *
 * Only the ctime may differ, since all data is compared before it is shared.
 *
 * Thread: as Pass.
 */
typedef struct {
	uint32_t id;
	uint64_t subvolume;
	uint64_t inode;
	uint64_t parent; /* inode of a directory that it was in, in the same subvolume */
	uint64_t size_bytes;
	uint64_t blocks;
	bool is_usable;     /* else it was not opened, or was given up */
	FileReader *reader; /* NULL: it was not opened */
	Stamp stamp;        /* when it was opened */
	uint32_t owner;     /* uid; then, too */
	bool keeps_zeros;   /* OBJECT_KEEP_ZEROS */
	unsigned n_users;   /* of a source: threads that took it; 0: it is being opened or closed */
} OpenObject;

/* How long the pass gives up an object. */
typedef enum {
	GIVE_UP_FOR_GOOD,   /* until it changes */
	GIVE_UP_FOR_NOW,    /* the next pass tries it again without reading: see Postponed */
	GIVE_UP_AND_FORGET, /* the store's record is wrong: the next pass reads it again */
} GiveUp;

/* Open the object @id, without the turn if it is opened by handle.  One that cannot be used is counted as skipped. */
bool open_object(Pass *pass, FileOpener *opener, uint32_t id, OpenObject **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

void open_object_free(OpenObject *object);

/* Stop using the object for the rest of the pass, and count @bytes for @reason. */
bool open_object_give_up(Pass *pass, FileOpener *opener, OpenObject *object, SkipReason reason,
			 uint64_t bytes, GiveUp how, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Whether the usable object changed since it was opened; costs one statx. */
StampVerdict open_object_compare(const OpenObject *object);

/*
 * Whether the usable object, on XFS, has so many extents that sharing could make them too many.  On btrfs SharingCost
 * decides.
 */
bool open_object_has_most_extents(const OpenObject *object);

/* The first block of the usable object at or after @block that is not in a hole; huge if there is none. */
uint64_t open_object_skip_hole(const OpenObject *object, uint64_t block, uint32_t block_bytes);

/* The end of the blocks before @end_block in bytes: the end of file cuts the last one. */
uint64_t open_object_end_bytes(const OpenObject *object, uint64_t end_block, uint32_t block_bytes);

/*
 * OpenSources - sources of runs, of which the latest stay open.
 *
 * Several threads may use a source at a time.  It is opened once: a file that were opened twice would seem to be in use by
 * another process.
 *
 * Thread: as Pass.
 */
typedef struct OpenSources OpenSources;

/* Both are borrowed. */
OpenSources *open_sources_new(Pass *pass, FileOpener *opener);
void open_sources_free(OpenSources *sources);

/* Find the source @id, or open it.  Each who takes it gives it back. */
bool open_sources_take(OpenSources *sources, uint32_t id, OpenObject **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* NULL: nothing. */
void open_sources_give_back(OpenSources *sources, OpenObject *source);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(OpenObject, open_object_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OpenSources, open_sources_free)
