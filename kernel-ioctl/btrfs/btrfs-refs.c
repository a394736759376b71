/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/btrfs/btrfs-refs.h"

#include "kernel-ioctl/call/system-call.h"

#include <linux/btrfs.h>

/* 682 references. */
#define BUFFER_BYTES     ((size_t)16 << 10)
#define BUFFER_BYTES_MAX ((size_t)16 << 20)

#define VALUES_PER_REF 3

G_STATIC_ASSERT(sizeof(BtrfsRef) == VALUES_PER_REF * sizeof(uint64_t));
G_STATIC_ASSERT(sizeof(struct btrfs_data_container) == 16);

struct BtrfsRefs {
	size_t buffer_bytes;
	struct btrfs_data_container *container;
	size_t n_refs;
	size_t most_bytes; /* of the buffer */
	uint64_t n_counted;
	BtrfsRefBound *bound; /* NULL: none */
};

static void set_buffer(BtrfsRefs *refs, size_t bytes)
{
	if (bytes == refs->buffer_bytes)
		return;
	g_free(refs->container);
	refs->container = g_malloc(bytes);
	refs->buffer_bytes = bytes;
}

BtrfsRefs *btrfs_refs_new(void)
{
	BtrfsRefs *refs = g_new0(BtrfsRefs, 1);

	refs->most_bytes = BUFFER_BYTES_MAX;
	set_buffer(refs, BUFFER_BYTES);
	return refs;
}

void btrfs_refs_free(BtrfsRefs *refs)
{
	if (!refs)
		return;
	g_free(refs->container);
	g_free(refs);
}

/* Returns 0 or errno. */
static int ask(BtrfsRefs *refs, int fd, uint64_t bytenr, uint64_t flags)
{
	struct btrfs_ioctl_logical_ino_args arguments = {
		.logical = bytenr,
		.size = refs->buffer_bytes,
		.flags = flags,
		.inodes = (uintptr_t)refs->container,
	};

	*refs->container = (struct btrfs_data_container){ 0 };
	return system_call_ioctl(fd, BTRFS_IOC_LOGICAL_INO_V2, &arguments) < 0 ? errno : 0;
}

static bool read_failed(int cause, uint64_t bytenr, GError **error)
{
	g_autofree char *what = g_strdup_printf(
		"find the files that refer to the extent %" G_GUINT64_FORMAT " of the btrfs",
		bytenr);

	errno = cause;
	return system_call_failed(error, what);
}

/* Room for the references that did not fit, and an eighth, since references may be added meanwhile. */
static size_t larger_buffer(const BtrfsRefs *refs)
{
	size_t missing = MAX(refs->container->bytes_missing,
			     refs->container->elem_missed * sizeof(uint64_t));
	size_t bytes = refs->buffer_bytes + missing;

	return MIN(bytes + bytes / 8, refs->most_bytes);
}

static bool something_is_missing(const BtrfsRefs *refs)
{
	return refs->container->bytes_missing > 0 || refs->container->elem_missed > 0;
}

static bool read_all(BtrfsRefs *refs, int fd, uint64_t bytenr, uint64_t flags,
		     BtrfsRefsOutcome *ret, GError **error)
{
	for (;;) {
		int cause = ask(refs, fd, bytenr, flags);

		if (cause == ENOENT) {
			*ret = BTRFS_REFS_GONE;
			refs->container->elem_cnt = 0;
			return true;
		}
		if (cause)
			return read_failed(cause, bytenr, error);
		if (!something_is_missing(refs)) {
			*ret = BTRFS_REFS_READ;
			return true;
		}
		if (refs->buffer_bytes >= refs->most_bytes) {
			*ret = BTRFS_REFS_TOO_MANY;
			return true;
		}
		set_buffer(refs, larger_buffer(refs));
	}
}

void btrfs_refs_set_most(BtrfsRefs *refs, size_t most)
{
	size_t bytes = sizeof(*refs->container) + MIN(most, BTRFS_REFS_MAX) * sizeof(BtrfsRef);

	refs->most_bytes = MAX(bytes, BUFFER_BYTES);
}

void btrfs_refs_set_bound(BtrfsRefs *refs, BtrfsRefBound *bound)
{
	refs->bound = bound;
}

static bool is_allowed(BtrfsRefs *refs, uint64_t bytenr, bool *ret, GError **error)
{
	*ret = true;
	return !refs->bound ||
	       btrfs_ref_bound_allows(refs->bound, bytenr, ret, &refs->n_counted, error);
}

/* Read references to the extent that contains the byte at @address. */
static bool read_refs(BtrfsRefs *refs, int fd, uint64_t address, uint64_t flags,
		      BtrfsRefsOutcome *ret, GError **error)
{
	refs->n_refs = 0;
	refs->n_counted = 0;
	/*
	 * Start small again: a large buffer for one extent is no reason to let the kernel fill it for all
	 * others.
	 */
	set_buffer(refs, BUFFER_BYTES);
	if (!read_all(refs, fd, address, flags, ret, error))
		return false;

	refs->n_refs = MIN(refs->container->elem_cnt / VALUES_PER_REF,
			   (refs->buffer_bytes - sizeof(*refs->container)) / sizeof(BtrfsRef));
	refs->n_counted = refs->n_refs + (uint64_t)refs->container->elem_missed / VALUES_PER_REF;
	if (refs->bound)
		btrfs_ref_bound_charge(refs->bound, refs->n_counted);
	return true;
}

/* Do the same if the bound allows it for the extent at @bytenr. */
static bool read_bounded(BtrfsRefs *refs, int fd, uint64_t bytenr, uint64_t address, uint64_t flags,
			 BtrfsRefsOutcome *ret, GError **error)
{
	bool allowed;

	refs->n_refs = 0;
	refs->n_counted = 0;
	*ret = BTRFS_REFS_TOO_MANY;
	if (!is_allowed(refs, bytenr, &allowed, error))
		return false;
	return !allowed || read_refs(refs, fd, address, flags, ret, error);
}

bool btrfs_refs_read(BtrfsRefs *refs, int fd, uint64_t bytenr, BtrfsRefsOutcome *ret,
		     GError **error)
{
	return read_bounded(refs, fd, bytenr, bytenr, BTRFS_LOGICAL_INO_ARGS_IGNORE_OFFSET, ret,
			    error);
}

bool btrfs_refs_read_allowed(BtrfsRefs *refs, int fd, uint64_t bytenr, BtrfsRefsOutcome *ret,
			     GError **error)
{
	return read_refs(refs, fd, bytenr, BTRFS_LOGICAL_INO_ARGS_IGNORE_OFFSET, ret, error);
}

bool btrfs_refs_read_byte(BtrfsRefs *refs, int fd, uint64_t bytenr, uint64_t position,
			  BtrfsRefsOutcome *ret, GError **error)
{
	return read_bounded(refs, fd, bytenr, bytenr + position, 0, ret, error);
}

uint64_t btrfs_refs_count(const BtrfsRefs *refs)
{
	return refs->n_counted;
}

const BtrfsRef *btrfs_refs_list(const BtrfsRefs *refs, size_t *ret_n)
{
	*ret_n = refs->n_refs;
	return (const BtrfsRef *)refs->container->val;
}
