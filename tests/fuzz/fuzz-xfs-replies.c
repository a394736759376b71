/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/file/extent-map.h"
#include "kernel-ioctl/xfs/xfs-abi.h"
#include "kernel-ioctl/xfs/xfs-bulkstat.h"
#include "kernel-ioctl/xfs/xfs-fsmap.h"
#include "kernel-ioctl/xfs/xfs-parents.h"
#include "tests/fuzz/choices.h"
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/fsmap.h>
#include <stdarg.h>
#include <string.h>

#define FD 1001

/* A list that never ends is a fault. */
#define CALLS_MAX 10000

/* Records of a reply. */
#define RECORDS_MAX 6

#define STEPS 6

const char *const fuzz_seeds[] = { NULL };

/* A kernel that answers what the choices say, and nothing any more when there are none left. */
static struct {
	Choices *choices;
	unsigned n_calls;
	uint64_t position; /* where the next record lies */
} kernel;

static uint64_t number(uint64_t valid)
{
	return choices_number(kernel.choices, valid);
}

/* How many records the reply has. */
static uint32_t n_records(uint32_t most)
{
	return choices_are_left(kernel.choices)
		       ? (uint32_t)choices_below(kernel.choices,
						 MIN(most, RECORDS_MAX) + UINT64_C(1))
		       : 0;
}

static int list_inodes(XfsAbiBulkstat *request)
{
	uint32_t n = n_records(request->n_wanted);
	uint64_t inode = request->inode;

	for (uint32_t i = 0; i < n; i++) {
		inode += choices_below(kernel.choices, 3);
		request->inodes[i] = (XfsAbiInode){
			.inode = number(inode++),
			.size_bytes = number(4096),
			.blocks = number(1),
			.mtime = (int64_t)number(1700000000),
			.mtime_nsec = (uint32_t)number(5),
			.btime = (int64_t)number(0),
			.extents64 = number(1),
			.mode = 0100644,
		};
	}
	request->n_given = (uint32_t)number(n);
	if (n > 0)
		request->inode = number(inode);
	return 0;
}

static int map_disk(struct fsmap_head *head)
{
	uint32_t n = n_records(head->fmh_count);

	for (uint32_t i = 0; i < n; i++) {
		head->fmh_recs[i] = (struct fsmap){
			.fmr_device = (uint32_t)number(1),
			.fmr_flags = (uint32_t)number(0),
			.fmr_physical = number(kernel.position),
			.fmr_owner = number(128 + choices_below(kernel.choices, 8)),
			.fmr_offset = number(0),
			.fmr_length = number(4096),
		};
		kernel.position += 4096;
	}
	if (n > 0 && choices_below(kernel.choices, 3) == 0)
		head->fmh_recs[n - 1].fmr_flags |= FMR_OF_LAST;
	head->fmh_oflags = 0;
	head->fmh_entries = (uint32_t)number(n);
	return 0;
}

static int list_parents(XfsAbiGetparents *request)
{
	char *buffer = (char *)(uintptr_t)request->buffer;
	uint32_t n = n_records(RECORDS_MAX);
	uint32_t at = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t name_bytes = 1 + (uint32_t)choices_below(kernel.choices, 255);
		uint32_t bytes = (uint32_t)(sizeof(XfsAbiParent) + name_bytes + 8) & ~7u;
		XfsAbiParent *record = (XfsAbiParent *)(void *)(buffer + at);

		if (at + bytes > request->buffer_bytes)
			break;
		record->parent.inode = number(128);
		record->record_bytes =
			(uint32_t)number(i + 1 == n ? request->buffer_bytes - at : bytes);
		memset(record->name, 'n', name_bytes);
		/* Without it the name goes on in what follows. */
		if (!choices_damage(kernel.choices))
			record->name[name_bytes] = '\0';
		at += bytes;
	}
	request->flags_given = n == 0 || choices_yes(kernel.choices) ? XFS_ABI_GETPARENTS_DONE : 0;
	return 0;
}

static int map_file(struct fiemap *request)
{
	uint32_t n = n_records(request->fm_extent_count);
	uint64_t at = request->fm_start;

	/* A batch that is full has others behind it. */
	if (choices_below(kernel.choices, 4) == 3 && choices_are_left(kernel.choices))
		n = request->fm_extent_count;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t length = 4096 * (1 + choices_below(kernel.choices, 4));

		request->fm_extents[i] = (struct fiemap_extent){
			.fe_logical = number(at),
			.fe_physical = number(UINT64_C(1) << 20),
			.fe_length = number(length),
			.fe_flags = (uint32_t)number(0),
		};
		at += length;
	}
	request->fm_mapped_extents = (uint32_t)number(n);
	return 0;
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list arguments;
	void *argument;

	va_start(arguments, request);
	argument = va_arg(arguments, void *);
	va_end(arguments);

	g_assert_cmpuint(kernel.n_calls++, <, CALLS_MAX);
	if (choices_damage(kernel.choices)) {
		errno = EINVAL;
		return -1;
	}
	switch (request) {
	case XFS_ABI_BULKSTAT:
		return list_inodes(argument);
	case FS_IOC_GETFSMAP:
		return map_disk(argument);
	case XFS_ABI_GETPARENTS_BY_HANDLE:
		return list_parents(argument);
	case FS_IOC_FIEMAP:
		return map_file(argument);
	default:
		errno = ENOTTY;
		return -1;
	}
}

/* Inodes come in order, and each once. */
static void read_inodes(Choices *choices)
{
	uint64_t first = choices_below(choices, 2) * choices_edge(choices);
	g_autoptr(XfsBulkstat) bulkstat =
		xfs_bulkstat_new(FD, choices_yes(choices) ? 0 : XFS_EVERY_GROUP, first);
	const XfsInode *inode;
	uint64_t last = 0;
	bool is_begun = false;
	XfsInode one;

	while (xfs_bulkstat_next(bulkstat, &inode, NULL) && inode) {
		g_assert_true(!is_begun || inode->inode > last);
		g_assert_cmpuint(inode->inode, >=, first);
		last = inode->inode;
		is_begun = true;
	}
	if (xfs_inode_read(FD, 128, &one))
		g_assert_cmpuint(one.inode, ==, 128);
}

/* In the order of the disk, with an end that a number of 64 bits can tell. */
static void read_disk(Choices *choices)
{
	g_autoptr(XfsFsmap) fsmap = xfs_fsmap_new(FD);
	const XfsOwnedExtent *extent;
	uint64_t last = 0;

	kernel.position = 0;
	while (xfs_fsmap_next(fsmap, &extent, NULL) && extent) {
		g_assert_cmpuint(extent->physical, >=, last);
		g_assert_cmpuint(extent->length, <=, UINT64_MAX - extent->physical);
		last = extent->physical;
	}
}

static void read_parents(Choices *choices)
{
	g_autoptr(XfsParents) parents = xfs_parents_new(FD);
	XfsParent parent;

	xfs_parents_begin(parents, 300, 1);
	while (xfs_parents_next(parents, &parent) == XFS_PARENTS_NEXT)
		g_assert_cmpuint(strlen(parent.name), <=, 4096);
}

/* Extents lie in the range, one behind the other. */
static void read_file(Choices *choices)
{
	uint64_t offset = choices_below(choices, 2) * choices_edge(choices);
	uint64_t length = choices_yes(choices) ? choices_edge(choices) : 1 << 30;
	g_autoptr(ExtentMap) map = extent_map_new();
	const MappedExtent *extent;
	uint64_t last = offset;

	extent_map_start(map, FD, offset, length, false);
	while (extent_map_next(map, &extent, NULL) && extent) {
		g_assert_cmpuint(extent->length, >, 0);
		g_assert_cmpuint(extent->logical, >=, last);
		g_assert_cmpuint(extent->length, <=, UINT64_MAX - extent->logical);
		last = extent->logical + extent->length;
		g_assert_cmpuint(last - offset, <=, length);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const reads[])(Choices *) = { read_inodes, read_disk, read_parents,
						    read_file };
	Choices choices = choices_begin(data, size);

	kernel.choices = &choices;
	kernel.n_calls = 0;
	for (unsigned i = 0; i < STEPS && choices_are_left(&choices); i++)
		reads[choices_below(&choices, G_N_ELEMENTS(reads))](&choices);
	return 0;
}
