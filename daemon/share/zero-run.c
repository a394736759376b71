/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/share/zero-run.h"

#include "hashstore/objects/objects.h"
#include "kernel-ioctl/file/dedupe-range.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Subvolume and inode of the file, first block and end. */
#define RUN_NOTE "zero-run"

struct ZeroRun {
	Pass *pass;
	FileOpener *opener;
	OpenObject *file; /* NULL: there is no run */
	uint64_t first;   /* block of the file */
	uint64_t end;
	uint64_t most_blocks;
	uint64_t *places;  /* of its blocks, as dedupe_window_places() says */
	uint64_t *offsets; /* the block of the run for each block of a window */
	bool is_recalled;  /* the run in the store was loaded, if there is one */
};

ZeroRun *zero_run_new(Pass *pass, FileOpener *opener)
{
	ZeroRun *zeros = g_new0(ZeroRun, 1);

	zeros->pass = pass;
	zeros->opener = opener;
	zeros->most_blocks = DEDUPE_ROUND_BYTES / pass->block_bytes;
	zeros->places = g_new(uint64_t, zeros->most_blocks);
	zeros->offsets = g_new(uint64_t, zeros->most_blocks);
	return zeros;
}

static void forget(ZeroRun *zeros)
{
	g_clear_pointer(&zeros->file, open_object_free);
	zeros->first = zeros->end = 0;
}

void zero_run_free(ZeroRun *zeros)
{
	if (!zeros)
		return;

	forget(zeros);
	g_free(zeros->places);
	g_free(zeros->offsets);
	g_free(zeros);
}

static uint64_t length(const ZeroRun *zeros)
{
	return zeros->end - zeros->first;
}

static bool open_file(ZeroRun *zeros, uint32_t id, GError **error)
{
	forget(zeros);
	if (!open_object(zeros->pass, zeros->opener, id, &zeros->file, error))
		return false;
	if (!zeros->file->is_usable)
		forget(zeros);
	return true;
}

/* Load the run that the store remembers, if it is still there. */
static bool recall(ZeroRun *zeros, GError **error)
{
	uint64_t subvolume, inode, first, end;
	g_autofree char *note = NULL;
	const Object *found = NULL;

	if (zeros->is_recalled)
		return true;
	zeros->is_recalled = true;
	if (!hash_store_get_note(zeros->pass->store, RUN_NOTE, &note, error))
		return false;
	if (!note || sscanf(note, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &subvolume,
			    &inode, &first, &end) != 4)
		return true;
	if (!hash_store_find_at(zeros->pass->store, subvolume, inode, &found, error))
		return false;
	/* An unsettled object changed since. */
	if (!found || found->state != OBJECT_DONE || end <= first ||
	    end - first > zeros->most_blocks ||
	    found->id >= hash_store_settled_below(zeros->pass->store))
		return true;
	if (!open_file(zeros, found->id, error))
		return false;

	if (zeros->file && end <= zeros->file->blocks) {
		zeros->first = first;
		zeros->end = end;
	}
	return true;
}

static bool note(ZeroRun *zeros, GError **error)
{
	g_autofree char *text = g_strdup_printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64,
						zeros->file->subvolume, zeros->file->inode,
						zeros->first, zeros->end);

	return zeros->pass->settings->dry_run ||
	       hash_store_set_note(zeros->pass->store, RUN_NOTE, text, error);
}

static bool is_in(const ZeroRun *zeros, const DedupeWindow *window, uint64_t block)
{
	return zeros->file && zeros->file->id == window->target->id && block >= zeros->first &&
	       block < zeros->end;
}

/* Let blocks stay that were to be shared with the run, because the run is another one from now on. */
static void leave(DedupeWindow *window, size_t end)
{
	size_t first, stop;

	for (size_t from = 0;
	     dedupe_window_next(window, BLOCK_EQUAL, from, &first, &stop) && first < end;
	     from = stop)
		memset(window->states + first, BLOCK_SAME_PLACE, MIN(stop, end) - first);
}

/* Let @n blocks of the window stay: as the run, or as a continuation of it. */
static bool keep(ZeroRun *zeros, DedupeWindow *window, size_t first, size_t n, bool goes_on,
		 GError **error)
{
	if (!goes_on) {
		leave(window, first);
		if (!open_file(zeros, window->target->id, error))
			return false;
		zeros->first = zeros->end = window->first + first;
	}
	if (!zeros->file)
		return true;

	for (size_t i = first; i < first + n; i++)
		zeros->places[zeros->end++ - zeros->first] = window->target_places[i];
	return note(zeros, error);
}

/* How many of the blocks [@first, @end) stay. */
static size_t kept_blocks(const ZeroRun *zeros, const DedupeWindow *window, size_t first,
			  size_t end, bool *ret_goes_on)
{
	size_t n = MIN(end - first, zeros->most_blocks);

	*ret_goes_on = zeros->file && zeros->file->id == window->target->id &&
		       window->first + first == zeros->end;
	if (*ret_goes_on)
		return MIN(n, zeros->most_blocks - length(zeros));
	return !zeros->file || n >= 2 * length(zeros) ? n : 0;
}

/* Check that the run's file did not change since it was opened, and is still in its place. */
static bool check(ZeroRun *zeros, DedupeWindow *window, GError **error)
{
	bool is_usable;

	if (!recall(zeros, error))
		return false;
	if (!zeros->file)
		return true;
	if (open_object_compare(zeros->file) == STAMP_CHANGED) {
		forget(zeros);
		return true;
	}
	if (!dedupe_window_places(window, zeros->file, zeros->first, length(zeros), zeros->places,
				  &is_usable, error))
		return false;
	if (!is_usable)
		forget(zeros);
	return true;
}

/*
 * Whether the run belongs to another owner, and sharing stays within owners: then only those of its owner use it.
 */
static bool is_of_another(const ZeroRun *zeros, const DedupeWindow *window)
{
	return zeros->pass->settings->across_owners == WITHIN_OWNERS && zeros->file &&
	       zeros->file->owner != window->target->owner;
}

bool zero_run_lay(ZeroRun *zeros, DedupeWindow *window, size_t first, size_t end, GError **error)
{
	uint64_t whole_end = window->target->size_bytes / window->block_bytes;
	size_t whole = first + MIN(end - first, whole_end - MIN(whole_end, window->first + first));
	size_t n = 0;
	bool goes_on;

	if (!check(zeros, window, error))
		return false;
	if (is_of_another(zeros, window)) {
		memset(window->states + first, BLOCK_SAME_PLACE, end - first);
		return true;
	}
	if (whole > first)
		n = kept_blocks(zeros, window, first, whole, &goes_on);
	if (n > 0 && !keep(zeros, window, first, n, goes_on, error))
		return false;

	for (size_t i = first; i < end; i++) {
		uint64_t at = i < first + n ? 0 : i - first - n;

		/* Part of a block is shared only if both files end there. */
		if (i < first + n || i >= whole || !zeros->file ||
		    is_in(zeros, window, window->first + i)) {
			window->states[i] = BLOCK_SAME_PLACE;
			continue;
		}
		zeros->offsets[i] = at % length(zeros);
		window->source_places[i] = zeros->places[zeros->offsets[i]];
		if (window->source_places[i] == window->target_places[i])
			window->states[i] = BLOCK_SAME_PLACE;
	}

	return true;
}

size_t zero_run_find(const ZeroRun *zeros, size_t first, size_t end, uint32_t block_bytes,
		     FileReader **ret_reader, uint64_t *ret_offset)
{
	size_t next = first + 1;

	*ret_reader = zeros->file->reader;
	*ret_offset = (zeros->first + zeros->offsets[first]) * block_bytes;
	while (next < end && zeros->offsets[next] == zeros->offsets[next - 1] + 1)
		next++;
	return next - first;
}
