/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/pass/file-history.h"

#include "daemon/context/file-opener.h"
#include "hashstore/objects/objects.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/extent-map.h"

#include <string.h>

typedef struct {
	Pass *pass;
	FileOpener *opener;
	ExtentMap *extents;
} FileHistory;

static void file_history_clear(FileHistory *history)
{
	g_clear_pointer(&history->opener, file_opener_free);
	g_clear_pointer(&history->extents, extent_map_free);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(FileHistory, file_history_clear)

static FileHistory begin(Pass *pass)
{
	return (FileHistory){ pass, file_opener_new(pass->filesystem, pass->store),
			      extent_map_new() };
}

typedef enum {
	PLACE_FOUND,
	PLACE_UNKNOWN, /* for now: the file cannot be opened, or was changed since it was read */
	PLACE_GONE,    /* the store has no such file, or the place has no address */
} PlaceState;

/* Find the present address of the place, and the change time of the file as the store knows it: *ret_values. */
static bool measure(const FileHistory *history, const Witness *witness, uint64_t *ret_values,
		    PlaceState *ret, GError **error)
{
	const unsigned without = EXTENT_INLINE | EXTENT_DELALLOC | EXTENT_UNKNOWN;
	g_autoptr(GError) ignored = NULL;
	const MappedExtent *extent;
	const Object *known;
	g_auto(Fd) fd = -1;

	if (!hash_store_find_at(history->pass->store, witness->subvolume, witness->inode, &known,
				error))
		return false;
	*ret = known ? PLACE_UNKNOWN : PLACE_GONE;
	if (!known || known->state != OBJECT_DONE)
		return true;
	ret_values[1] = (uint64_t)known->ctime_nsec;
	fd = file_opener_open_unchanged(history->opener, known);
	if (fd < 0)
		return true;

	*ret = PLACE_GONE;
	extent_map_start(history->extents, fd, witness->offset, 1, false);
	if (!extent_map_next(history->extents, &extent, &ignored) || !extent ||
	    extent->flags & without)
		return true;
	ret_values[0] = extent->physical;
	*ret = PLACE_FOUND;
	return true;
}

/* Whether the witness tells of the file as the store knows it.  Earlier versions of dedupd did not note the time. */
static bool is_of_version(const Witness *witness, uint64_t ctime_nsec)
{
	return witness->values[1] == 0 || witness->values[1] == ctime_nsec;
}

bool file_history_check(Pass *pass, const Witnesses *witnesses, bool *ret_is_continued,
			GError **error)
{
	g_auto(FileHistory) history = begin(pass);
	size_t n_agreeing = 0;

	*ret_is_continued = witnesses_count(witnesses) == 0;
	for (size_t i = 0; i < witnesses_count(witnesses); i++) {
		const Witness *one = witnesses_at(witnesses, i);
		uint64_t now[2] = { 0 };
		PlaceState place;

		if (!measure(&history, one, now, &place, error))
			return false;
		if (place != PLACE_FOUND || !is_of_version(one, now[1]))
			continue;
		if (now[0] != one->values[0])
			return true;
		n_agreeing++;
	}

	*ret_is_continued |= n_agreeing > 0;
	return true;
}

/*
 * Measure the place anew, as it may have been shared again.  A place that cannot be measured now
 * may tell later.
 */
static bool renew(Witness *witness, void *data, bool *ret, GError **error)
{
	uint64_t values[2];
	PlaceState place;

	if (!measure(data, witness, values, &place, error))
		return false;

	*ret = place != PLACE_GONE;
	if (place == PLACE_FOUND)
		memcpy(witness->values, values, sizeof(values));
	return true;
}

/* A sampled place is added if it can be measured. */
static bool measure_sampled(Witness *witness, void *data, bool *ret, GError **error)
{
	PlaceState place;

	if (!measure(data, witness, witness->values, &place, error))
		return false;

	*ret = place == PLACE_FOUND;
	return true;
}

/*
 * Whether places of witnesses may have moved: their files were changed and read again, or shared again, perhaps by an
 * earlier pass that did not end.
 */
static bool may_have_moved(const Pass *pass)
{
	return pass->result->files.read > 0 || pass->result->shared.already_bytes > 0 ||
	       witness_sample_count(&pass->shared) > 0;
}

bool file_history_remember(Pass *pass, Witnesses *witnesses, bool *ret_is_changed, GError **error)
{
	g_auto(FileHistory) history = begin(pass);

	*ret_is_changed = may_have_moved(pass);
	if (!*ret_is_changed)
		return true;
	return witnesses_filter(witnesses, renew, &history, error) &&
	       witnesses_add_sample(witnesses, &pass->shared, measure_sampled, &history, error);
}
