/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/content/extent-cover.h"
#include "common/files/extent-refs.h"
#include "daemon/btrfs/refs/extent-files.h"
#include "daemon/context/object-table.h"
#include "daemon/context/pass.h"

/*
 * ExtentSources - the extents that may take over what one target shows, and where files show them.
 *
 * An extent that was shared away in this pass is no source any more, nor are places in dedupd's own
 * files, in read-only snapshots if these are skipped, such as are no part of the pass, and of others than
 * the target's owner where data is shared within owners alone.
 *
 * Thread: the filesystem's worker, never while it shares.
 */
typedef struct ExtentSources ExtentSources;

typedef struct {
	Object object;
	GArray *places; /* ExtentRef, some of those that there are; at least one */
	GArray *shown;  /* CoverRange: what they show together */
	bool has_more;  /* there are other places */
	bool has_unfit; /* there are places that cannot be used */
	bool is_named;  /* places are only those in files that the extent's item names */
	bool is_gone;   /* the extent does not exist any more */
	bool is_held; /* snapshots hold it, which are to be deleted: for what equals all of it only, and is freed now */
	bool is_left; /* read-only subvolumes alone show it, and it may be left to their deletion */
	bool is_encoded;
	uint64_t ram_bytes;
} ExtentSource;

/* All arguments are borrowed. */
ExtentSources *extent_sources_new(Pass *pass, ObjectTable *table, const ExtentFiles *files);
void extent_sources_free(ExtentSources *sources);

/*
 * Go on to another target: free the sources found so far, except some whose places are costly to find.  Those
 * places are from before this target, so they may have changed when a caller deduplicates with them.
 */
void extent_sources_clear(ExtentSources *sources);

/* Something was shared: forget what was read of files, save for the sources found so far. */
void extent_sources_note_sharing(ExtentSources *sources);

/*
 * From now on only files of the user @owner serve as places, if --across-owners wants it so.
 */
void extent_sources_set_owner(ExtentSources *sources, uint32_t owner);

/* Ids (uint32_t) of those asked for since then that could not serve as they are shared away. */
const GArray *extent_sources_moved(const ExtentSources *sources);

/*
 * Whether any file still shows part of what was asked for since then, usable or not, and not held.  A file may
 * have overwritten just that part of an extent.  Extents that do not exist were dropped from the store.
 */
bool extent_sources_any_exists(const ExtentSources *sources);

/*
 * The source @id; NULL if it cannot be one.  If it has very many places, those that refer to its bytes [@position,
 * @position + @length) are searched for.
 */
bool extent_sources_find(ExtentSources *sources, uint32_t id, uint64_t position, uint64_t length,
			 const ExtentSource **ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * The place of a source's byte in a file, or the place that it would have if the file went on referring to the
 * source.
 */
typedef struct {
	uint64_t root;
	uint64_t inode;
	uint64_t offset;
	bool is_source; /* a known place shows that byte of the source there */
} SourceBeside;

/* List where the byte @position of the source lies, or would lie, in the files of its known places: up to @most. */
size_t extent_source_besides(const ExtentSource *source, uint64_t position, SourceBeside *ret,
			     size_t most);

/*
 * Where the subvolume @root has what took the place of the byte @position of a target that snapshots alone show, at
 * @refs: at the same place of the same file.  False: these do not show that byte, or are in @root.
 */
bool source_beside_succeed(const ExtentRef *refs, size_t n_refs, uint64_t root, uint64_t position,
			   SourceBeside *ret);

/*
 * The source of the target @target that lies @beside, whichever extent that is; NULL if none can.  It may be one whose
 * own turn as a target comes later, if it is the shorter of the two.  *ret_position is the byte of it that lies there.
 */
bool extent_sources_find_at(ExtentSources *sources, const Object *target,
			    const SourceBeside *beside, const ExtentSource **ret,
			    uint64_t *ret_position, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * The place of the source that shows most of the @length bytes from @position on; NULL if none shows
 * the first of them.  The kernel shares part of a block only at the end of both files: if @length is no
 * multiple of @block_bytes, the last part is counted only where the place ends its file.
 */
const ExtentRef *extent_source_place(const ExtentSource *source, uint64_t position, uint64_t length,
				     uint32_t block_bytes, uint64_t *ret_length);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExtentSources, extent_sources_free)
