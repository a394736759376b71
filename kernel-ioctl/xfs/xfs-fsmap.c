/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/xfs/xfs-fsmap.h"

#include "kernel-ioctl/call/system-call.h"

#include <linux/fsmap.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* 64 KiB. */
#define BATCH_RECORDS 1024

/* The data section, if the kernel does not give device numbers (XFS_DEV_DATA). */
#define DATA_SECTION 1

#define NOT_DATA (FMR_OF_SPECIAL_OWNER | FMR_OF_ATTR_FORK | FMR_OF_EXTENT_MAP)

struct XfsFsmap {
	int fd;
	uint32_t device;
	uint32_t next;          /* index in the batch */
	bool is_last;           /* no batch comes after this one */
	struct fsmap batch_end; /* the last record of the previous batch */
	XfsOwnedExtent extent;
	struct fsmap_head *batch;
};

/* The kernel's encoding of device numbers for programs (new_encode_dev of linux/kdev_t.h). */
static uint32_t data_device(int fd)
{
	struct stat stat;

	if (fstat(fd, &stat) < 0)
		return 0;

	return (minor(stat.st_dev) & 0xff) | major(stat.st_dev) << 8 |
	       (minor(stat.st_dev) & ~0xffu) << 12;
}

XfsFsmap *xfs_fsmap_new(int fd)
{
	XfsFsmap *fsmap = g_new0(XfsFsmap, 1);

	fsmap->fd = fd;
	fsmap->device = data_device(fd);
	fsmap->batch = g_malloc0(fsmap_sizeof(BATCH_RECORDS));
	fsmap->batch->fmh_count = BATCH_RECORDS;
	/* The keys cover all possible records. */
	fsmap->batch->fmh_keys[1] = (struct fsmap){
		.fmr_device = UINT32_MAX,
		.fmr_flags = UINT32_MAX,
		.fmr_physical = UINT64_MAX,
		.fmr_owner = UINT64_MAX,
		.fmr_offset = UINT64_MAX,
	};
	return fsmap;
}

void xfs_fsmap_restrict(XfsFsmap *fsmap, uint64_t begin, uint64_t end)
{
	struct fsmap *keys = fsmap->batch->fmh_keys;

	keys[0].fmr_device = fsmap->device;
	keys[0].fmr_physical = begin;
	keys[1].fmr_device = fsmap->device;
	keys[1].fmr_physical = end - 1;
}

void xfs_fsmap_free(XfsFsmap *fsmap)
{
	if (!fsmap)
		return;

	g_free(fsmap->batch);
	g_free(fsmap);
}

static bool failed(GError **error)
{
	return system_call_failed(error, "read where the data of the XFS lies");
}

static bool answer_is_unusable(GError **error)
{
	errno = EUCLEAN;
	return failed(error);
}

/* The kernel continues behind the last record; if that record does not change, the list would never end. */
static bool has_gone_on(XfsFsmap *fsmap)
{
	const struct fsmap_head *batch = fsmap->batch;
	const struct fsmap *end = &batch->fmh_recs[batch->fmh_entries - 1];

	if (end->fmr_length > 0 && memcmp(end, &fsmap->batch_end, sizeof(*end)) == 0)
		return false;
	fsmap->batch_end = *end;
	return true;
}

static bool next_batch(XfsFsmap *fsmap, GError **error)
{
	struct fsmap_head *batch = fsmap->batch;

	if (batch->fmh_entries > 0)
		fsmap_advance(batch);
	if (system_call_ioctl(fsmap->fd, FS_IOC_GETFSMAP, batch) < 0)
		return failed(error);
	if (batch->fmh_entries > BATCH_RECORDS || (batch->fmh_entries > 0 && !has_gone_on(fsmap)))
		return answer_is_unusable(error);

	fsmap->next = 0;
	fsmap->is_last = batch->fmh_entries == 0 ||
			 batch->fmh_recs[batch->fmh_entries - 1].fmr_flags & FMR_OF_LAST;
	return true;
}

static bool is_data_of_a_file(const XfsFsmap *fsmap, const struct fsmap *record)
{
	uint32_t device = fsmap->batch->fmh_oflags & FMH_OF_DEV_T ? fsmap->device : DATA_SECTION;

	return record->fmr_device == device && !(record->fmr_flags & NOT_DATA);
}

bool xfs_fsmap_next(XfsFsmap *fsmap, const XfsOwnedExtent **ret, GError **error)
{
	*ret = NULL;
	for (;;) {
		const struct fsmap *record;

		if (fsmap->next == fsmap->batch->fmh_entries) {
			if (fsmap->is_last)
				return true;
			if (!next_batch(fsmap, error))
				return false;
			continue;
		}

		record = &fsmap->batch->fmh_recs[fsmap->next++];
		if (!is_data_of_a_file(fsmap, record))
			continue;
		if (record->fmr_physical < fsmap->extent.physical ||
		    record->fmr_length > UINT64_MAX - record->fmr_physical)
			return answer_is_unusable(error);
		fsmap->extent = (XfsOwnedExtent){
			.physical = record->fmr_physical,
			.length = record->fmr_length,
			.inode = record->fmr_owner,
			.offset = record->fmr_offset,
			.is_unwritten = record->fmr_flags & FMR_OF_PREALLOC,
		};
		*ret = &fsmap->extent;
		return true;
	}
}
