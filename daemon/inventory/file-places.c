/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/inventory/file-places.h"

#include "daemon/context/compare-uint64.h"
#include "hashstore/anchors/sorter.h"
#include "kernel-ioctl/xfs/xfs-fsmap.h"
#include "kernel-ioctl/xfs/xfs-geometry.h"

typedef struct {
	uint64_t inode;
	uint64_t physical;
} FilePlace;

struct FilePlaces {
	Sorter *sorted;
	const FilePlace *next;
};

static int compare_inodes(const void *a, const void *b)
{
	return compare_uint64(((const FilePlace *)a)->inode, ((const FilePlace *)b)->inode);
}

void file_places_free(FilePlaces *places)
{
	if (!places)
		return;

	sorter_free(places->sorted);
	g_free(places);
}

/* *ret_is_whole: false if the kernel gave only a part. */
static bool read_map(Pass *pass, FilePlaces *places, bool *ret_is_whole, GError **error)
{
	g_autoptr(XfsFsmap) map = xfs_fsmap_new(pass->filesystem->fd);
	const XfsOwnedExtent *extent;

	*ret_is_whole = false;
	while (pass_checkpoint(pass)) {
		g_autoptr(GError) failed = NULL;
		FilePlace place;

		if (!xfs_fsmap_next(map, &extent, &failed)) {
			g_debug("%s", failed->message);
			return true;
		}
		if (!extent)
			break;
		place = (FilePlace){ extent->inode, extent->physical };
		if (extent->offset == 0 && !sorter_add(places->sorted, &place, error))
			return false;
	}

	*ret_is_whole = true;
	return sorter_sort(places->sorted, error) &&
	       sorter_next(places->sorted, (const void **)&places->next, error);
}

FilePlaces *file_places_read(Pass *pass, GError **error)
{
	g_autoptr(FilePlaces) places = NULL;
	XfsGeometry geometry;
	bool is_whole;

	if (!xfs_geometry_read(pass->filesystem->fd, &geometry, NULL) || !geometry.has_rmapbt)
		return NULL;

	places = g_new0(FilePlaces, 1);
	places->sorted =
		sorter_new(sizeof(FilePlace), compare_inodes, pass->settings->memory_bytes / 16,
			   pass->settings->state_directory, pass->stop);
	if (!read_map(pass, places, &is_whole, error) || !is_whole)
		return NULL;

	return g_steal_pointer(&places);
}

bool file_places_find(FilePlaces *places, uint64_t inode, uint64_t *ret, GError **error)
{
	*ret = 0;
	while (places->next && places->next->inode < inode)
		if (!sorter_next(places->sorted, (const void **)&places->next, error))
			return false;

	if (places->next && places->next->inode == inode)
		*ret = places->next->physical;
	return true;
}
