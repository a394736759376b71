/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/xfs/xfs-parents.h"

#include "kernel-ioctl/call/system-call.h"
#include "kernel-ioctl/xfs/xfs-abi.h"

#include <string.h>

/* Room for 14 of the longest names.  The kernel allocates as much for each call. */
#define BUFFER_BYTES 4096

struct XfsParents {
	int fd;
	XfsAbiGetparents request;
	bool is_done;
	size_t next; /* in the buffer */
	/* One more byte, which ends the last name in any case. */
	_Alignas(XfsAbiParent) char buffer[BUFFER_BYTES + 1];
};

XfsParents *xfs_parents_new(int fd)
{
	XfsParents *parents = g_new0(XfsParents, 1);

	parents->fd = fd;
	parents->is_done = true;
	parents->next = BUFFER_BYTES;
	return parents;
}

void xfs_parents_free(XfsParents *parents)
{
	g_free(parents);
}

void xfs_parents_begin(XfsParents *parents, uint64_t inode, uint32_t generation)
{
	/* The kernel uses the filesystem of @fd, not the one in the handle. */
	parents->request = (XfsAbiGetparents){
		.handle = { .id_bytes = XFS_ABI_HANDLE_ID_BYTES,
			    .generation = generation,
			    .inode = inode },
		.buffer_bytes = BUFFER_BYTES,
		.buffer = (uintptr_t)parents->buffer,
	};
	parents->is_done = false;
	parents->next = BUFFER_BYTES;
}

static bool ask(XfsParents *parents)
{
	memset(parents->buffer, 0, sizeof(parents->buffer));
	if (system_call_ioctl(parents->fd, XFS_ABI_GETPARENTS_BY_HANDLE, &parents->request) < 0)
		return false;

	parents->next = 0;
	parents->is_done =
		parents->request.flags_given & (XFS_ABI_GETPARENTS_DONE | XFS_ABI_GETPARENTS_ROOT);
	return true;
}

int xfs_parents_try(int fd, uint64_t inode, uint32_t generation)
{
	g_autoptr(XfsParents) parents = xfs_parents_new(fd);

	xfs_parents_begin(parents, inode, generation);
	return ask(parents) ? 0 : errno;
}

/* The record at the position, which may be invalid: see is_record(). */
static const XfsAbiParent *record_at(const XfsParents *parents)
{
	return (const XfsAbiParent *)(parents->buffer + parents->next);
}

static bool is_record(const XfsParents *parents)
{
	size_t room = BUFFER_BYTES - parents->next;
	const XfsAbiParent *record = record_at(parents);

	return room > sizeof(*record) && record->record_bytes > sizeof(*record) &&
	       record->record_bytes <= room && record->record_bytes % _Alignof(XfsAbiParent) == 0;
}

/* The file has no names: the kernel wrote nothing into the buffer, which ask() had cleared. */
static bool is_empty(const XfsParents *parents)
{
	return parents->is_done && parents->next == 0 && record_at(parents)->record_bytes == 0;
}

XfsParentsOutcome xfs_parents_next(XfsParents *parents, XfsParent *ret)
{
	const XfsAbiParent *record;

	if (parents->next == BUFFER_BYTES && parents->is_done)
		return XFS_PARENTS_END;
	if (parents->next == BUFFER_BYTES && !ask(parents)) {
		parents->is_done = true;
		return XFS_PARENTS_GONE;
	}

	if (!is_record(parents)) {
		XfsParentsOutcome end = is_empty(parents) ? XFS_PARENTS_END : XFS_PARENTS_GONE;

		parents->next = BUFFER_BYTES;
		parents->is_done = true;
		return end;
	}

	record = record_at(parents);
	*ret = (XfsParent){ record->parent.inode, record->parent.generation, record->name };
	parents->next += record->record_bytes;
	return XFS_PARENTS_NEXT;
}
