/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/inventory/same-sizes.h"

#include "daemon/context/compare-uint64.h"
#include "hashstore/anchors/sorter.h"

struct SameSizes {
	bool by_head;
	Sorter *files;
	SizedFile given;   /* out to the caller */
	SizedFile pending; /* the one after it */
	bool has_pending;
	bool is_like_last;   /* the pending one has the key of the given one */
	uint64_t open_bytes; /* a size with a file whose head is not known */
	bool has_open;
};

/* A file with an unknown head comes first: it may be identical to any other of its size. */
static int compare_heads(const void *a, const void *b)
{
	const SizedFile *one = a;
	const SizedFile *other = b;
	int order = compare_uint64(one->stamp.size_bytes, other->stamp.size_bytes);

	return order ? order : compare_uint64(one->head, other->head);
}

static int compare_sizes(const void *a, const void *b)
{
	const SizedFile *one = a;
	const SizedFile *other = b;

	return compare_uint64(one->stamp.size_bytes, other->stamp.size_bytes);
}

SameSizes *same_sizes_new(bool by_head, size_t memory_bytes, const char *directory,
			  const atomic_bool *stop)
{
	SameSizes *sizes = g_new0(SameSizes, 1);

	sizes->by_head = by_head;
	sizes->files = sorter_new(sizeof(SizedFile), by_head ? compare_heads : compare_sizes,
				  memory_bytes, directory, stop);
	return sizes;
}

void same_sizes_free(SameSizes *sizes)
{
	if (!sizes)
		return;

	sorter_free(sizes->files);
	g_free(sizes);
}

bool same_sizes_add(SameSizes *sizes, const SizedFile *file, GError **error)
{
	return sorter_add(sizes->files, file, error);
}

static bool fetch(SameSizes *sizes, GError **error)
{
	const SizedFile *file;

	if (!sorter_next(sizes->files, (const void **)&file, error))
		return false;

	sizes->has_pending = file;
	if (file)
		sizes->pending = *file;
	return true;
}

bool same_sizes_sort(SameSizes *sizes, GError **error)
{
	return sorter_sort(sizes->files, error) && fetch(sizes, error);
}

static bool is_alike(const SameSizes *sizes, const SizedFile *one, const SizedFile *other)
{
	return sizes->by_head ? compare_heads(one, other) == 0 : compare_sizes(one, other) == 0;
}

bool same_sizes_next(SameSizes *sizes, const SizedFile **ret, GError **error)
{
	SizedFile *given = &sizes->given;
	bool was_like_last = sizes->is_like_last;

	*ret = NULL;
	if (!sizes->has_pending)
		return true;

	*given = sizes->pending;
	if (!fetch(sizes, error))
		return false;

	if (sizes->by_head && given->head == 0) {
		sizes->has_open = true;
		sizes->open_bytes = given->stamp.size_bytes;
	}
	sizes->is_like_last = sizes->has_pending && is_alike(sizes, given, &sizes->pending);
	given->is_alone = !was_like_last && !sizes->is_like_last &&
			  !(sizes->has_open && sizes->open_bytes == given->stamp.size_bytes);
	*ret = given;
	return true;
}
