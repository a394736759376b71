/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/pinned/deferred-extents.h"

#include "common/files/pin-cause.h"
#include "common/text/short-path.h"
#include "daemon/btrfs/pinned/pinned-extents.h"
#include "daemon/btrfs/refs/extent-step.h"
#include "daemon/btrfs/refs/ref-choice.h"
#include "hashstore/objects/holders.h"
#include "hashstore/objects/objects.h"
#include "hashstore/objects/open-extents.h"
#include "kernel-ioctl/btrfs/btrfs-subvolumes.h"

#include <inttypes.h>
#include <stdio.h>

/* Bytes that dry runs found to be released; the next pass reports them. */
#define RELEASED_NOTE "btrfs-released-bytes"

/* Extents that may be shared away and are not deferred yet: address, transaction and bytes of each; empty: none. */
#define INTENDED_NOTE "intended-deferrals"

/* More than a pass plans ahead; a damaged note is not taken for more. */
#define INTENDED_MOST 1024

typedef struct {
	ExtentStamp extent;
	uint64_t bytes;
} Intended;

struct DeferredExtents {
	Pass *pass;
	GArray *intended; /* Intended */
	bool is_noted;    /* the store has all of these, and perhaps more */
	ExtentRefs *refs;
	RefChoice *choice;
	uint64_t before_bytes; /* when the pass began */
	uint64_t noted_bytes;  /* of these: released, as dry runs found */
	uint64_t added_bytes;
	uint64_t taken_bytes;
	bool has_changed;
	GArray *subvolumes; /* BtrfsSubvolume; NULL until one is asked for */
};

DeferredExtents *deferred_extents_new(Pass *pass)
{
	DeferredExtents *deferred = g_new0(DeferredExtents, 1);

	deferred->pass = pass;
	deferred->intended = g_array_new(false, false, sizeof(Intended));
	deferred->is_noted = true;
	deferred->refs = extent_refs_new(pass->filesystem->fd, pass->btrfs.ref_bound);
	deferred->choice = ref_choice_new(pass, deferred->refs);
	return deferred;
}

void deferred_extents_free(DeferredExtents *deferred)
{
	if (!deferred)
		return;

	ref_choice_free(deferred->choice);
	extent_refs_free(deferred->refs);
	g_array_unref(deferred->intended);
	g_clear_pointer(&deferred->subvolumes, g_array_unref);
	g_free(deferred);
}

bool deferred_extents_begin(DeferredExtents *deferred, GError **error)
{
	HeldExtents held;

	if (!hash_store_sum_held(deferred->pass->store, &held, error) ||
	    !hash_store_get_number(deferred->pass->store, RELEASED_NOTE, &deferred->noted_bytes,
				   error))
		return false;
	deferred->before_bytes = held.bytes + deferred->noted_bytes;
	return true;
}

/* Record in the store whether snapshots hold the extent at @address. */
static bool mark(DeferredExtents *deferred, uint64_t address, bool is_held, GError **error)
{
	const Object *found;
	Object row;

	if (!hash_store_find_at(deferred->pass->store, OBJECT_EXTENTS, address, &found, error))
		return false;
	if (!found || !(found->flags & OBJECT_HELD) == !is_held)
		return true;

	row = *found;
	row.flags ^= OBJECT_HELD;
	return hash_store_put(deferred->pass->store, &row, error);
}

/* Remember that @holders, of which there is one at least, hold the extent. */
static bool put(DeferredExtents *deferred, const ExtentStamp *stamp, uint64_t bytes,
		const GArray *holders, bool *ret_kept, GError **error)
{
	const uint64_t *roots = (const uint64_t *)(void *)holders->data;
	PinnedExtent row = {
		.extent = *stamp,
		.cause = PIN_SNAPSHOTS,
		.root = roots[holders->len - 1],
		.uncovered_bytes = bytes,
		.places = holders->len,
		.bytes = bytes,
	};

	deferred->has_changed = true;
	return hash_store_put_holders(deferred->pass->store, roots, holders->len, &row.holders,
				      error) &&
	       hash_store_put_pinned(deferred->pass->store, &row, ret_kept, error) &&
	       mark(deferred, stamp->address, *ret_kept, error);
}

bool deferred_extents_put(DeferredExtents *deferred, const Object *extent, const GArray *holders,
			  GError **error)
{
	PassResult *result = deferred->pass->result;
	ExtentStamp stamp = { extent->inode, object_extent_generation(extent) };
	bool kept;

	if (!deferred_extents_take(deferred, stamp.address, error) ||
	    !put(deferred, &stamp, extent->size_bytes, holders, &kept, error))
		return false;
	if (kept) {
		deferred->added_bytes += extent->size_bytes;
		result->deferred.bytes += extent->size_bytes;
		result->deferred.extents++;
	}
	return true;
}

void deferred_extents_intend(DeferredExtents *deferred, const Object *extent)
{
	Intended intended = { { extent->inode, object_extent_generation(extent) },
			      extent->size_bytes };

	g_array_append_val(deferred->intended, intended);
	deferred->is_noted = false;
}

void deferred_extents_end_intent(DeferredExtents *deferred, const Object *extent)
{
	for (guint i = 0; i < deferred->intended->len; i++)
		if (g_array_index(deferred->intended, Intended, i).extent.address ==
		    extent->inode) {
			g_array_remove_index_fast(deferred->intended, i);
			return;
		}
}

static bool write_intended(DeferredExtents *deferred, GError **error)
{
	g_autoptr(GString) text = g_string_new(NULL);

	for (guint i = 0; i < deferred->intended->len; i++) {
		const Intended *one = &g_array_index(deferred->intended, Intended, i);

		g_string_append_printf(text, "%" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
				       one->extent.address, one->extent.generation, one->bytes);
	}
	return hash_store_set_note(deferred->pass->store, INTENDED_NOTE, text->str, error);
}

bool deferred_extents_note(DeferredExtents *deferred, GError **error)
{
	if (deferred->is_noted)
		return true;

	deferred->is_noted = true;
	return write_intended(deferred, error) && pass_commit(deferred->pass, error);
}

/* Forget intents that are decided; the one at which the pass was stopped stays. */
static bool end_intents(DeferredExtents *deferred, GError **error)
{
	g_autofree char *text = NULL;

	if (deferred->pass->settings->dry_run)
		return true;
	if (!hash_store_get_note(deferred->pass->store, INTENDED_NOTE, &text, error))
		return false;
	return !text || !*text || write_intended(deferred, error);
}

/* Find out whether only snapshots reference an extent that was going to be shared away. */
static bool recover(DeferredExtents *deferred, const Intended *intended, GError **error)
{
	HashStore *store = deferred->pass->store;
	uint64_t address = intended->extent.address;
	const Object *found;
	ExtentShown shown;
	PinnedExtent row;
	Object extent;
	bool has_row;

	if (!hash_store_find_at(store, OBJECT_EXTENTS, address, &found, error))
		return false;
	if (!found || object_extent_generation(found) != intended->extent.generation ||
	    found->size_bytes != intended->bytes)
		return true;

	extent = *found;
	if (!hash_store_find_pinned(store, address, &row, &has_row, error))
		return false;
	if (has_row && row.holders > 0)
		return true;
	if (!ref_choice_look(deferred->choice, &extent, &shown, error))
		return false;
	if (shown != EXTENT_IS_HELD || ref_choice_holders(deferred->choice)->len == 0)
		return true;
	return deferred_extents_put(deferred, &extent, ref_choice_holders(deferred->choice), error);
}

bool deferred_extents_recover(DeferredExtents *deferred, GError **error)
{
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;

	if (deferred->pass->settings->dry_run)
		return true;
	if (!hash_store_get_note(deferred->pass->store, INTENDED_NOTE, &text, error))
		return false;
	if (!text || !*text)
		return true;

	lines = g_strsplit(text, "\n", INTENDED_MOST + 1);
	for (size_t i = 0; lines[i] && i < INTENDED_MOST; i++) {
		Intended one;

		if (sscanf(lines[i], "%" SCNu64 " %" SCNu64 " %" SCNu64, &one.extent.address,
			   &one.extent.generation, &one.bytes) == 3 &&
		    !recover(deferred, &one, error))
			return false;
	}
	return hash_store_set_note(deferred->pass->store, INTENDED_NOTE, "", error);
}

/* The subvolume, as it was when the first one was asked for; NULL: it is gone. */
static bool find_subvolume(DeferredExtents *deferred, uint64_t id, const BtrfsSubvolume **ret,
			   GError **error)
{
	const BtrfsSubvolume *found;

	if (!deferred->subvolumes &&
	    !btrfs_subvolumes_read(deferred->pass->filesystem->fd, &deferred->subvolumes, error))
		return false;

	found = btrfs_subvolumes_find(deferred->subvolumes, id);
	*ret = found && !found->is_dead ? found : NULL;
	return true;
}

/* No file references the extent any more. */
static bool forget(DeferredExtents *deferred, const PinnedExtent *row, GError **error)
{
	deferred->has_changed = true;
	deferred->pass->result->files.gone++;
	if (deferred->pass->settings->dry_run)
		return true;
	return hash_store_drop_extent(deferred->pass->store, row->extent.address, error);
}

bool deferred_extents_check(DeferredExtents *deferred, const PinnedExtent *row, bool *ret_is_over,
			    GError **error)
{
	const GArray *holders = ref_choice_holders(deferred->choice);
	Object extent = { .inode = row->extent.address, .size_bytes = row->uncovered_bytes };
	ExtentShown shown;
	bool kept = true;

	*ret_is_over = false;
	if (!ref_choice_look(deferred->choice, &extent, &shown, error))
		return false;

	switch (shown) {
	case EXTENT_IS_GONE:
		return forget(deferred, row, error);
	case EXTENT_IS_SHOWN:
		*ret_is_over = true;
		return true;
	case EXTENT_IS_HELD:
		break;
	}

	if (deferred->pass->settings->dry_run || holders->len == 0)
		return true;
	if (holders->len == row->places &&
	    g_array_index(holders, uint64_t, holders->len - 1) == row->root)
		return mark(deferred, row->extent.address, true, error);
	if (!put(deferred, &row->extent, row->uncovered_bytes, holders, &kept, error))
		return false;
	if (!kept)
		deferred->taken_bytes += row->uncovered_bytes;
	return true;
}

/* Find the deferred extent at @address; *ret is false if there is none. */
static bool find_row(DeferredExtents *deferred, uint64_t address, PinnedExtent *ret_row, bool *ret,
		     GError **error)
{
	*ret = false;
	if (deferred->before_bytes + deferred->added_bytes == deferred->taken_bytes)
		return true;
	if (!hash_store_find_pinned(deferred->pass->store, address, ret_row, ret, error))
		return false;

	*ret = *ret && ret_row->holders > 0;
	return true;
}

static void count_taken(DeferredExtents *deferred, const PinnedExtent *row)
{
	deferred->taken_bytes += row->uncovered_bytes;
	deferred->has_changed = true;
}

bool deferred_extents_take(DeferredExtents *deferred, uint64_t address, GError **error)
{
	PinnedExtent row;
	bool found;

	if (!find_row(deferred, address, &row, &found, error))
		return false;
	if (!found)
		return true;

	count_taken(deferred, &row);
	return mark(deferred, address, false, error);
}

bool deferred_extents_lose(DeferredExtents *deferred, uint64_t address, GError **error)
{
	const BtrfsSubvolume *holder;
	PinnedExtent row;
	bool found;

	if (!find_row(deferred, address, &row, &found, error))
		return false;
	if (!found)
		return true;
	if (!find_subvolume(deferred, row.root, &holder, error))
		return false;
	if (holder && holder->is_read_only)
		count_taken(deferred, &row);
	return true;
}

/* The extent is planned for again, as its new references may be shared away, too. */
static bool revive(DeferredExtents *deferred, uint64_t address, GError **error)
{
	PinnedExtent row;
	bool found, kept;

	if (!find_row(deferred, address, &row, &found, error))
		return false;
	if (!found)
		return true;

	count_taken(deferred, &row);
	pinned_extents_reopen(deferred->pass->btrfs.pinned, address);
	deferred->pass->btrfs.n_revived++;
	row.holders = 0;
	return mark(deferred, address, false, error) &&
	       hash_store_put_pinned(deferred->pass->store, &row, &kept, error);
}

bool deferred_extents_revive(DeferredExtents *deferred, const GArray *steps, GError **error)
{
	uint64_t last = 0;

	for (guint i = 0; i < steps->len; i++) {
		const ExtentStep *step = &g_array_index(steps, ExtentStep, i);
		uint64_t address = step->source_extent.address;

		if (step->from != STEP_FROM_PLACE || !step->is_used || address == last)
			continue;
		if (!revive(deferred, address, error))
			return false;
		last = address;
	}

	return true;
}

bool deferred_extents_have_writable(DeferredExtents *deferred, const GArray *subvolumes, bool *ret,
				    GError **error)
{
	g_autoptr(GArray) holders = NULL;

	*ret = false;
	if (!hash_store_list_holders(deferred->pass->store, &holders, error))
		return false;

	for (guint i = 0; i < subvolumes->len && !*ret; i++) {
		const BtrfsSubvolume *one = &g_array_index(subvolumes, BtrfsSubvolume, i);

		*ret = !one->is_read_only && !one->is_dead && holders_has(holders, one->id);
	}

	return true;
}

/* Leave out holders that are gone: a set is checked only when its newest holder is gone. */
static bool keep_living(DeferredExtents *deferred, GArray *holders, GError **error)
{
	guint n = 0;

	for (guint i = 0; i < holders->len; i++) {
		uint64_t root = g_array_index(holders, uint64_t, i);
		const BtrfsSubvolume *holder;

		if (!find_subvolume(deferred, root, &holder, error))
			return false;
		if (holder)
			g_array_index(holders, uint64_t, n++) = root;
	}
	g_array_set_size(holders, n);
	return true;
}

/* A dry run only notes the bytes that it found to be released. */
static bool note_released(DeferredExtents *deferred, uint64_t bytes, GError **error)
{
	uint64_t note = deferred->pass->settings->dry_run ? bytes : 0;

	return note == deferred->noted_bytes ||
	       hash_store_set_number(deferred->pass->store, RELEASED_NOTE, note, error);
}

/* Put the holders into the result, and note them in the store.  Without holders, the note stays as it is. */
static bool tell_holders(DeferredExtents *deferred, const GArray *holders, GError **error)
{
	PassResult *result = deferred->pass->result;
	g_autofree char *path = NULL;
	HoldersSummary summary = { .n = holders->len };

	if (holders->len == 0)
		return true;

	summary.last = g_array_index(holders, uint64_t, holders->len - 1);
	path = extent_scope_subvolume_path(deferred->pass->btrfs.scope, summary.last);
	result->deferred.last_snapshot = path ? short_path_escaped(path) : NULL;
	result->deferred.snapshots = summary.n;
	result->deferred.last_id = summary.last;
	summary.last_path = result->deferred.last_snapshot;
	return hash_store_note_holders(deferred->pass->store, &summary, error);
}

bool deferred_extents_end(DeferredExtents *deferred, GError **error)
{
	PassResult *result = deferred->pass->result;
	HashStore *store = deferred->pass->store;
	uint64_t known = deferred->before_bytes + deferred->added_bytes;
	g_autoptr(GArray) holders = NULL;
	HeldExtents held;

	if (!end_intents(deferred, error))
		return false;
	if (deferred->has_changed && !hash_store_drop_unused_holders(store, error))
		return false;
	if (!hash_store_sum_held(store, &held, error) ||
	    !hash_store_list_holders(store, &holders, error) ||
	    !keep_living(deferred, holders, error))
		return false;

	result->deferred.waiting_bytes = held.bytes;
	result->deferred.waiting_extents = held.extents;
	result->deferred.released_bytes = known - MIN(known, held.bytes + deferred->taken_bytes);
	return tell_holders(deferred, holders, error) &&
	       note_released(deferred, result->deferred.released_bytes, error);
}
