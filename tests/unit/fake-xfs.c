/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/fake-xfs.h"

#include <errno.h>
#include <glib.h>
#include <stdarg.h>
#include <string.h>

static FakeXfs kernel;

FakeXfs *fake_xfs(void)
{
	return &kernel;
}

static int fail(int error)
{
	errno = error;
	return -1;
}

static bool is_wanted(const XfsAbiBulkstat *request, uint64_t first, const XfsAbiInode *inode)
{
	return inode->inode >= first && (!(request->flags & XFS_ABI_BULK_AGNO) ||
					 inode->inode / FAKE_XFS_GROUP_INODES == request->group);
}

static int fake_bulkstat(XfsAbiBulkstat *request)
{
	uint32_t known = XFS_ABI_BULK_AGNO | (kernel.is_old ? 0 : XFS_ABI_BULK_NREXT64);
	uint32_t most = kernel.n_most ? MIN(kernel.n_most, request->n_wanted) : request->n_wanted;
	uint64_t first = request->inode;
	uint64_t next = first;

	kernel.last_flags = request->flags;
	if (request->flags & ~known || request->n_wanted == 0)
		return fail(EINVAL);

	request->n_given = 0;
	for (size_t i = 0; i < kernel.n_inodes && request->n_given < most; i++) {
		XfsAbiInode *given = &request->inodes[request->n_given];

		if (!is_wanted(request, first, &kernel.inodes[i]))
			continue;
		if (kernel.error && i >= kernel.n_before_error)
			return request->n_given > 0 ? 0 : fail(kernel.error);
		*given = kernel.inodes[i];
		if (request->flags & XFS_ABI_BULK_NREXT64)
			given->extents = 0;
		else
			given->extents64 = 0;
		next = given->inode + 1;
		request->n_given++;
		if (!kernel.repeats_itself)
			request->inode = next;
	}
	if (kernel.gives_too_many)
		request->n_given = request->n_wanted + 1;

	return 0;
}

static bool is_same(const struct fsmap *one, const struct fsmap *other)
{
	return one->fmr_physical == other->fmr_physical && one->fmr_owner == other->fmr_owner &&
	       one->fmr_offset == other->fmr_offset;
}

/* Return the records behind the low key, or from the first one on if there is no low key. */
static int fake_fsmap(struct fsmap_head *head)
{
	uint32_t most = kernel.n_most ? MIN(kernel.n_most, head->fmh_count) : head->fmh_count;
	size_t first = 0;

	g_assert_cmpuint(head->fmh_keys[1].fmr_physical, ==, UINT64_MAX);
	for (size_t i = 0; i < kernel.n_extents; i++)
		if (head->fmh_keys[0].fmr_length > 0 &&
		    is_same(&kernel.extents[i], &head->fmh_keys[0]))
			first = i + 1;

	head->fmh_oflags = 0;
	head->fmh_entries = 0;
	for (size_t i = first; i < kernel.n_extents && head->fmh_entries < most; i++) {
		struct fsmap *given = &head->fmh_recs[head->fmh_entries++];

		*given = kernel.extents[i];
		if (i + 1 == kernel.n_extents && !kernel.marks_no_end)
			given->fmr_flags |= FMR_OF_LAST;
	}
	if (kernel.gives_too_many)
		head->fmh_entries = head->fmh_count + 1;

	return 0;
}

/* The size of the record of a name. */
static uint32_t record_bytes(const FakeXfsName *name)
{
	return (uint32_t)(sizeof(XfsAbiParent) + strlen(name->name) + 1 + 7) & ~7u;
}

/* Return as many names as fit, from the number in the cursor on; the last record fills the buffer. */
static int fake_getparents(XfsAbiGetparents *request)
{
	char *buffer = (char *)(uintptr_t)request->buffer;
	uint32_t most =
		kernel.n_most ? MIN(kernel.n_most, request->buffer_bytes) : request->buffer_bytes;
	uint32_t at = 0, last = 0, i = request->cursor[0];
	bool is_full = false;

	g_assert_cmpuint(request->handle.id_bytes, ==, XFS_ABI_HANDLE_ID_BYTES);
	for (; i < kernel.n_names && !is_full; i++) {
		const FakeXfsName *name = &kernel.names[i];
		XfsAbiParent *record = (XfsAbiParent *)(buffer + at);

		if (name->inode != request->handle.inode)
			continue;
		is_full = at + record_bytes(name) > most;
		if (is_full)
			break;
		last = at;
		at += record_bytes(name);
		record->parent.inode = name->parent;
		record->record_bytes = record_bytes(name) + (uint32_t)kernel.record_bytes_more;
		strcpy(record->name, name->name);
	}
	if (is_full && at == 0)
		return fail(EMSGSIZE);
	if (at > 0 && kernel.record_bytes_more == 0)
		((XfsAbiParent *)(buffer + last))->record_bytes = request->buffer_bytes - last;

	request->cursor[0] = i;
	request->flags_given = is_full || kernel.marks_no_end ? 0 : XFS_ABI_GETPARENTS_DONE;
	if (request->handle.inode == kernel.top)
		request->flags_given |= XFS_ABI_GETPARENTS_ROOT;
	return 0;
}

static int fake_geometry(XfsAbiGeometry *ret)
{
	*ret = kernel.geometry;
	return 0;
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list arguments;
	void *argument;

	va_start(arguments, request);
	argument = va_arg(arguments, void *);
	va_end(arguments);

	kernel.n_calls++;
	g_assert_cmpint(fd, ==, FAKE_XFS_FD);
	g_assert_cmpuint(kernel.n_calls, <, 100000);
	if (kernel.error && kernel.n_before_error == 0)
		return fail(kernel.error);

	switch (request) {
	case XFS_ABI_BULKSTAT:
		return fake_bulkstat(argument);
	case FS_IOC_GETFSMAP:
		return fake_fsmap(argument);
	case XFS_ABI_GETPARENTS_BY_HANDLE:
		return fake_getparents(argument);
	case XFS_ABI_FSGEOMETRY:
		return fake_geometry(argument);
	default:
		return fail(ENOTTY);
	}
}
