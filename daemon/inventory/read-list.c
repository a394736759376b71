/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/inventory/read-list.h"

#include "common/system/name-buffer.h"
#include "daemon/context/compare-uint64.h"
#include "hashstore/anchors/sorter.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/extent-map.h"
#include "kernel-ioctl/file/file-attributes.h"
#include "kernel-ioctl/file/file-stat.h"

typedef struct {
	uint64_t physical;
	uint64_t name_position; /* in the NameBuffer */
	ReadItem item;          /* without its name */
} ReadRecord;

struct ReadList {
	Pass *pass;
	FileOpener *opener;
	NameBuffer *names;
	ExtentMap *extents;
	Sorter *records;
	ReadItem item;
	uint64_t files;
	uint64_t bytes;
};

static int compare_places(const void *a, const void *b)
{
	const ReadRecord *one = a;
	const ReadRecord *other = b;
	int order = compare_uint64(one->physical, other->physical);

	if (!order)
		order = compare_uint64(one->item.id.subvolume, other->item.id.subvolume);
	return order ? order : compare_uint64(one->item.id.inode, other->item.id.inode);
}

ReadList *read_list_new(Pass *pass, FileOpener *opener)
{
	ReadList *list = g_new0(ReadList, 1);
	const char *directory = pass->settings->state_directory;

	list->pass = pass;
	list->opener = opener;
	list->names = name_buffer_new(directory);
	list->extents = extent_map_new();
	list->records = sorter_new(sizeof(ReadRecord), compare_places,
				   pass->settings->memory_bytes / 4, directory, pass->stop);
	return list;
}

void read_list_free(ReadList *list)
{
	if (!list)
		return;

	name_buffer_free(list->names);
	extent_map_free(list->extents);
	sorter_free(list->records);
	g_free(list);
}

/* Find the generation of the file and where it lies.  Unknown values stay 0. */
static void locate(ReadList *list, ReadRecord *record, const char *name)
{
	ReadItem *item = &record->item;
	NamedFile file = { item->id, item->parent, name };
	g_autoptr(GError) ignored = NULL;
	const MappedExtent *extent = NULL;
	FileAttributes attributes;
	g_auto(Fd) fd = -1;
	FileStat stat;
	int failed;

	if (file_opener_open(list->opener, &file, &fd, &failed) != OPEN_OPENED ||
	    file_stat_at(fd, "", &stat) != 0 || stat.inode != item->id.inode)
		return;
	if (!file_attributes_read(fd, list->pass->filesystem->identity.kind, &attributes, &ignored))
		return;

	item->id.generation = attributes.generation;
	extent_map_start(list->extents, fd, 0, item->stamp.size_bytes, false);
	if (extent_map_next(list->extents, &extent, &ignored) && extent)
		record->physical = extent->physical;
}

bool read_list_add(ReadList *list, const ReadItem *item, GError **error)
{
	ReadRecord record = { .item = *item };

	record.item.name = NULL;
	record.physical = item->physical;
	if (!item->physical || !item->id.generation)
		locate(list, &record, item->name);
	list->files++;
	list->bytes += item->stamp.size_bytes;
	return name_buffer_add(list->names, item->name, &record.name_position, error) &&
	       sorter_add(list->records, &record, error);
}

bool read_list_sort(ReadList *list, GError **error)
{
	return sorter_sort(list->records, error);
}

bool read_list_next(ReadList *list, const ReadItem **ret, GError **error)
{
	const ReadRecord *record;

	*ret = NULL;
	if (!sorter_next(list->records, (const void **)&record, error))
		return false;
	if (!record)
		return true;

	list->item = record->item;
	if (!name_buffer_get(list->names, record->name_position, &list->item.name, error))
		return false;

	*ret = &list->item;
	return true;
}

uint64_t read_list_files(const ReadList *list)
{
	return list->files;
}

uint64_t read_list_bytes(const ReadList *list)
{
	return list->bytes;
}
