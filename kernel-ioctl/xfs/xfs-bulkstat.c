/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/xfs/xfs-bulkstat.h"

#include "kernel-ioctl/call/system-call.h"
#include "kernel-ioctl/call/timestamp.h"
#include "kernel-ioctl/xfs/xfs-abi.h"

#include <linux/fs.h>

/* 192 KiB.  Larger batches were not faster. */
#define BATCH_INODES 1024

struct XfsBulkstat {
	int fd;
	uint32_t next;  /* in the batch */
	uint64_t least; /* the least valid number of the next inode */
	bool is_done;
	XfsInode inode;
	XfsAbiBulkstat *batch;
};

#define NO_PLAIN_FLAGS                                                                             \
	((uint32_t)(FS_XFLAG_IMMUTABLE | FS_XFLAG_APPEND | FS_XFLAG_REALTIME | FS_XFLAG_DAX))

static XfsAbiBulkstat *batch_new(uint32_t n_inodes)
{
	XfsAbiBulkstat *batch = g_malloc0(sizeof(*batch) + n_inodes * sizeof(XfsAbiInode));

	batch->n_wanted = n_inodes;
	batch->flags = XFS_ABI_BULK_NREXT64;
	return batch;
}

/* An older kernel refuses the flag for wide extent counts; ask again without it. */
static int read_batch(int fd, XfsAbiBulkstat *batch)
{
	int result = system_call_ioctl(fd, XFS_ABI_BULKSTAT, batch);

	if (result < 0 && errno == EINVAL && batch->flags & XFS_ABI_BULK_NREXT64) {
		batch->flags &= ~XFS_ABI_BULK_NREXT64;
		result = system_call_ioctl(fd, XFS_ABI_BULKSTAT, batch);
	}

	return result;
}

int xfs_bulkstat_try(int fd)
{
	g_autofree XfsAbiBulkstat *batch = batch_new(1);

	return read_batch(fd, batch) < 0 ? errno : 0;
}

static void fill(const XfsAbiInode *from, XfsInode *ret)
{
	*ret = (XfsInode){
		.inode = from->inode,
		.size_bytes = from->size_bytes,
		.blocks = from->blocks,
		.extents = MAX(from->extents64, from->extents),
		.btime_nsec = timestamp_nsec(from->btime, from->btime_nsec),
		.mtime_nsec = timestamp_nsec(from->mtime, from->mtime_nsec),
		.ctime_nsec = timestamp_nsec(from->ctime, from->ctime_nsec),
		.generation = from->generation,
		.uid = from->uid,
		.project = from->project,
		.nlink = from->nlink,
		.mode = from->mode,
		.is_immutable = from->xflags & FS_XFLAG_IMMUTABLE,
		.is_realtime = from->xflags & FS_XFLAG_REALTIME,
		.is_plain = !(from->xflags & NO_PLAIN_FLAGS),
	};
}

bool xfs_inode_read(int fd, uint64_t inode, XfsInode *ret)
{
	g_autofree XfsAbiBulkstat *batch = batch_new(1);

	batch->inode = inode;
	if (read_batch(fd, batch) < 0 || batch->n_given != 1 || batch->inodes[0].inode != inode)
		return false;

	fill(&batch->inodes[0], ret);
	return true;
}

XfsBulkstat *xfs_bulkstat_new(int fd, uint32_t group, uint64_t first_inode)
{
	XfsBulkstat *bulkstat = g_new0(XfsBulkstat, 1);

	bulkstat->fd = fd;
	bulkstat->batch = batch_new(BATCH_INODES);
	bulkstat->batch->inode = first_inode;
	bulkstat->least = first_inode;
	if (group != XFS_EVERY_GROUP) {
		bulkstat->batch->flags |= XFS_ABI_BULK_AGNO;
		bulkstat->batch->group = group;
	}
	return bulkstat;
}

void xfs_bulkstat_ask_for(XfsBulkstat *bulkstat, uint32_t n_inodes)
{
	bulkstat->batch->n_wanted = CLAMP(n_inodes, 1, BATCH_INODES);
}

void xfs_bulkstat_free(XfsBulkstat *bulkstat)
{
	if (!bulkstat)
		return;

	g_free(bulkstat->batch);
	g_free(bulkstat);
}

static bool answer_is_unusable(GError **error)
{
	errno = EUCLEAN;
	return system_call_failed(error, "list the inodes of the XFS");
}

/* The kernel must give inodes in order and a later inode to continue with; otherwise this would never end. */
static bool next_batch(XfsBulkstat *bulkstat, GError **error)
{
	XfsAbiBulkstat *batch = bulkstat->batch;
	uint64_t first = batch->inode;

	if (read_batch(bulkstat->fd, batch) < 0)
		return system_call_failed(error, "list the inodes of the XFS");

	bulkstat->next = 0;
	bulkstat->is_done = batch->n_given == 0;
	return bulkstat->is_done || (batch->n_given <= batch->n_wanted && batch->inode > first) ||
	       answer_is_unusable(error);
}

bool xfs_bulkstat_next(XfsBulkstat *bulkstat, const XfsInode **ret, GError **error)
{
	*ret = NULL;
	if (bulkstat->next == bulkstat->batch->n_given && !bulkstat->is_done &&
	    !next_batch(bulkstat, error))
		return false;
	if (bulkstat->is_done)
		return true;

	fill(&bulkstat->batch->inodes[bulkstat->next++], &bulkstat->inode);
	/* A damaged inode index may list an inode twice. */
	if (bulkstat->inode.inode < bulkstat->least || bulkstat->inode.inode == UINT64_MAX)
		return answer_is_unusable(error);
	bulkstat->least = bulkstat->inode.inode + 1;
	*ret = &bulkstat->inode;
	return true;
}
