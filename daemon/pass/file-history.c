/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/pass/file-history.h"

#include "daemon/context/file-opener.h"
#include "hashstore/objects/objects.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/extent-map.h"

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

/* Open the file of a witness, if it still has its stamp; else *ret_fd is -1. */
static bool open_known(const FileHistory *history, const Witness *witness, Fd *ret_fd,
		       GError **error)
{
	const Object *known;

	*ret_fd = -1;
	if (!hash_store_find_at(history->pass->store, witness->subvolume, witness->inode, &known,
				error))
		return false;
	if (known && known->state == OBJECT_DONE)
		*ret_fd = file_opener_open_unchanged(history->opener, known);
	return true;
}

/* The present address of the place; *ret_found is false if there is none. */
static bool measure(const FileHistory *history, const Witness *witness, uint64_t *ret_physical,
		    bool *ret_found, GError **error)
{
	const unsigned without = EXTENT_INLINE | EXTENT_DELALLOC | EXTENT_UNKNOWN;
	g_autoptr(GError) ignored = NULL;
	const MappedExtent *extent;
	g_auto(Fd) fd = -1;

	*ret_found = false;
	if (!open_known(history, witness, &fd, error))
		return false;
	if (fd < 0)
		return true;

	extent_map_start(history->extents, fd, witness->offset, 1, false);
	if (!extent_map_next(history->extents, &extent, &ignored) || !extent ||
	    extent->flags & without)
		return true;
	*ret_physical = extent->physical;
	*ret_found = true;
	return true;
}

bool file_history_check(Pass *pass, const Witnesses *witnesses, bool *ret_is_continued,
			GError **error)
{
	g_auto(FileHistory) history = begin(pass);
	size_t n_agreeing = 0;

	*ret_is_continued = witnesses_count(witnesses) == 0;
	for (size_t i = 0; i < witnesses_count(witnesses); i++) {
		const Witness *one = witnesses_at(witnesses, i);
		uint64_t physical;
		bool found;

		if (!measure(&history, one, &physical, &found, error))
			return false;
		if (found && physical != one->values[0])
			return true;
		n_agreeing += found;
	}

	*ret_is_continued |= n_agreeing > 0;
	return true;
}

/* Measure the place anew, as it may have been shared again. */
static bool renew(Witness *witness, void *data, bool *ret, GError **error)
{
	return measure(data, witness, &witness->values[0], ret, error);
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
	       witnesses_add_sample(witnesses, &pass->shared, renew, &history, error);
}
