/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/pinned/pin-watch.h"

#include "daemon/btrfs/refs/extent-files.h"
#include "kernel-ioctl/btrfs/btrfs-file-extent.h"
#include "kernel-ioctl/btrfs/btrfs-inode.h"
#include "kernel-ioctl/btrfs/btrfs-refs.h"
#include "kernel-ioctl/btrfs/btrfs-subvolumes.h"

struct PinWatch {
	Pass *pass;
	BtrfsRefs *refs;
	BtrfsFileExtents *extents;
	ExtentFiles *files; /* NULL until one is asked for */
	GArray *subvolumes; /* the same */
};

PinWatch *pin_watch_new(Pass *pass)
{
	PinWatch *watch = g_new0(PinWatch, 1);

	watch->pass = pass;
	watch->refs = btrfs_refs_new();
	btrfs_refs_set_bound(watch->refs, pass->btrfs.ref_bound);
	watch->extents = btrfs_file_extents_new();
	return watch;
}

void pin_watch_free(PinWatch *watch)
{
	if (!watch)
		return;

	btrfs_refs_free(watch->refs);
	btrfs_file_extents_free(watch->extents);
	g_clear_pointer(&watch->files, extent_files_free);
	g_clear_pointer(&watch->subvolumes, g_array_unref);
	g_free(watch);
}

bool pin_watch_counts_places(uint32_t cause)
{
	return cause == PIN_TOO_COSTLY || cause == PIN_METADATA || cause == PIN_COPY_SPACE;
}

PinnedExtent pin_watch_row(const Object *extent, const ExtentPin *pin)
{
	PinnedExtent row = {
		.extent = { extent->inode, object_extent_generation(extent) },
		.cause = pin->cause,
		.root = pin_watch_counts_places(pin->cause) ? 0 : pin->place.root,
		.inode = pin->place.inode,
		.offset = pin->place.offset,
		.position = pin->place.position,
		.length = pin->place.length,
		.uncovered_bytes = pin->uncovered_bytes,
		.places = pin->places,
		.bytes = extent->size_bytes,
	};

	if (pin->cause == PIN_TOO_COSTLY)
		row.affordable_places = pin->affordable_places;
	return row;
}

bool pin_watch_subvolumes(PinWatch *watch, const GArray **ret, GError **error)
{
	if (!watch->subvolumes &&
	    !btrfs_subvolumes_read(watch->pass->filesystem->fd, &watch->subvolumes, error))
		return false;

	*ret = watch->subvolumes;
	return true;
}

/* Find the subvolume, alive or deleted; NULL: it is gone. */
static bool find_subvolume(PinWatch *watch, uint64_t id, const BtrfsSubvolume **ret, GError **error)
{
	const GArray *all;

	if (!pin_watch_subvolumes(watch, &all, error))
		return false;

	*ret = btrfs_subvolumes_find(all, id);
	return true;
}

/* Whether the file still references the same range there, written or not. */
static bool shows(PinWatch *watch, const PinnedExtent *pinned, BtrfsFileExtentKind kind, bool *ret,
		  GError **error)
{
	const BtrfsFileExtent *item;

	btrfs_file_extents_start(watch->extents, watch->pass->filesystem->fd, pinned->root,
				 pinned->inode, pinned->offset, 1);
	/* The subvolume may be deleted by now. */
	if (!btrfs_file_extents_next_if_any(watch->extents, &item, error))
		return false;

	*ret = item && item->kind == kind && item->bytenr == pinned->extent.address &&
	       item->logical == pinned->offset && item->offset == pinned->position &&
	       item->length == pinned->length;
	return true;
}

/* Whether the file of the reference, which still exists, may be shared onto by now. */
static bool is_target(PinWatch *watch, const PinnedExtent *pinned, bool *ret, GError **error)
{
	ExtentRef place = { .root = pinned->root, .inode = pinned->inode };
	BtrfsInodeItem inode;
	SkipReason ignored;
	bool found;

	*ret = true;
	if (!btrfs_inode_read(watch->pass->filesystem->fd, place.root, place.inode, &inode, &found,
			      error))
		return false;
	if (!found)
		return true;

	place.is_immutable = inode.is_immutable;
	place.mtime_nsec = inode.mtime_nsec;
	if (!watch->files)
		watch->files = extent_files_new(watch->pass);
	*ret = extent_files_is_target(watch->files, &place, &ignored);
	return true;
}

/* Whether there are few enough references to share them all, or fewer than when that was too costly. */
static bool has_few_places(PinWatch *watch, const PinnedExtent *pinned, bool *ret, GError **error)
{
	uint64_t most = pinned->cause == PIN_TOO_COSTLY ? pinned->affordable_places
							: MAX(pinned->places, 1) - 1;
	BtrfsRefsOutcome outcome;

	btrfs_refs_set_most(watch->refs, most);
	if (!btrfs_refs_read(watch->refs, watch->pass->filesystem->fd, pinned->extent.address,
			     &outcome, error))
		return false;

	*ret = outcome == BTRFS_REFS_GONE ||
	       (outcome == BTRFS_REFS_READ && btrfs_refs_count(watch->refs) <= most);
	return true;
}

/* A reference to the extent may be kept by properties of its subvolume or file. */
static bool is_shown_place_over(PinWatch *watch, const PinnedExtent *pinned, bool *ret,
				GError **error)
{
	*ret = false;
	switch (pinned->cause) {
	case PIN_READ_ONLY_SNAPSHOT:
		*ret = read_only_subvolumes_may_be_target(watch->pass->subvolumes, pinned->root);
		return true;
	case PIN_IMMUTABLE:
		return is_target(watch, pinned, ret, error);
	default:
		return true;
	}
}

bool pin_watch_is_over(PinWatch *watch, const PinnedExtent *pinned, bool *ret, GError **error)
{
	BtrfsFileExtentKind kind = pinned->cause == PIN_RESERVED ? BTRFS_FILE_EXTENT_IS_PREALLOC
								 : BTRFS_FILE_EXTENT_IS_REGULAR;
	const BtrfsSubvolume *subvolume;
	bool shown;

	if (pin_watch_counts_places(pinned->cause))
		return has_few_places(watch, pinned, ret, error);
	if (!find_subvolume(watch, pinned->root, &subvolume, error))
		return false;
	/* The files of a deleted subvolume cannot be looked at: they stay until it is gone. */
	if (pinned->cause == PIN_DELETED_SUBVOLUME || !subvolume || subvolume->is_dead) {
		*ret = !subvolume || pinned->cause != PIN_DELETED_SUBVOLUME;
		return true;
	}

	*ret = true;
	if (!shows(watch, pinned, kind, &shown, error))
		return false;
	return !shown || is_shown_place_over(watch, pinned, ret, error);
}
