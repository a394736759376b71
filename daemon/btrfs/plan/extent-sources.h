/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/content/extent-cover.h"
#include "common/files/extent-refs.h"
#include "daemon/btrfs/refs/extent-files.h"
#include "daemon/context/object-table.h"
#include "daemon/context/pass.h"

/*
 * ExtentSources - the extents that may cover the target, and the references to them.
 *
 * An extent that was shared away in this pass is no source any more.  These references are not
 * used: those of dedupd's own files, those in skipped read-only snapshots, and those outside the
 * pass.  If data is shared only within owners, those of other owners are not used either.
 *
 * Thread: the filesystem's worker, never while it shares.
 */
typedef struct ExtentSources ExtentSources;

typedef struct {
	Object object;
	GArray *places; /* ExtentRef, some of those that there are; at least one */
	GArray *shown;  /* CoverRange: blocks that they contain together */
	bool has_more;  /* there are other places */
	bool has_unfit; /* there are places that cannot be used */
	bool is_named;  /* places has only the files that the extent's item names */
	bool is_gone;   /* the extent does not exist any more */
	bool is_held; /* snapshots hold it: a source only for an equal extent that is freed at once */
	bool is_encoded;
	uint64_t ram_bytes;
} ExtentSource;

/* All arguments are borrowed. */
ExtentSources *extent_sources_new(Pass *pass, ObjectTable *table, const ExtentFiles *files);
void extent_sources_free(ExtentSources *sources);

/*
 * Go on to another target: free the sources found so far, except some whose references are costly to find.  These
 * references may be out of date after the caller shared.
 */
void extent_sources_clear(ExtentSources *sources);

/* The caller shared something: forget what was read of files, but not the sources found so far. */
void extent_sources_note_sharing(ExtentSources *sources);

/* From now on, use only files of the user @owner if --across-owners requires it. */
void extent_sources_set_owner(ExtentSources *sources, uint32_t owner);

/* The ids of extents asked for since the last clear that are no sources because they are going to be shared away. */
GHashTable *extent_sources_moved(const ExtentSources *sources);

/*
 * Whether any file still references part of an extent asked for since the last clear, usable or not, and not held.
 * Files may have overwritten just that part.  Extents that do not exist are dropped from the store.
 */
bool extent_sources_any_exists(const ExtentSources *sources);

/*
 * The source @id; NULL if it cannot be one.  If it has very many references, those with its bytes [@position,
 * @position + @length) are searched for.
 */
bool extent_sources_find(ExtentSources *sources, uint32_t id, uint64_t position, uint64_t length,
			 const ExtentSource **ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The place of a source's byte in a file, or the place that it would have if the file continued with the source. */
typedef struct {
	uint64_t root;
	uint64_t inode;
	uint64_t offset;
	bool is_source; /* a known place shows that byte of the source there */
} SourceBeside;

/*
 * List the places of the byte @position of the source in the files of its known references, also where they would
 * continue: up to @most.
 */
size_t extent_source_besides(const ExtentSource *source, uint64_t position, SourceBeside *ret,
			     size_t most);

/*
 * The extent that lies @beside, as a source of @target; NULL if there is none.  It may be one whose own turn as a
 * target comes later, if it is the shorter of the two.  *ret_position is the byte of it that lies there.
 */
bool extent_sources_find_at(ExtentSources *sources, const Object *target,
			    const SourceBeside *beside, const ExtentSource **ret,
			    uint64_t *ret_position, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * The reference with most of the @length bytes of the source from @position on; NULL if none has the first of them.
 * The kernel shares part of a block only at the end of both files.  So if @length is no multiple of @block_bytes,
 * the last part counts only if the reference ends its file.
 */
const ExtentRef *extent_source_place(const ExtentSource *source, uint64_t position, uint64_t length,
				     uint32_t block_bytes, uint64_t *ret_length);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExtentSources, extent_sources_free)
