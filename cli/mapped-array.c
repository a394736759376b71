/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/mapped-array.h"

#include "daemon/temporary-file.h"
#include "kernel-ioctl/fd.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>

#define STEP_BYTES (UINT64_C(1) << 20)

struct MappedArray {
	Fd fd;
	size_t item_bytes;
	uint8_t *mapped; /* NULL: nothing yet */
	uint64_t mapped_bytes;
	uint64_t n_items;
};

MappedArray *mapped_array_new(const char *directory, size_t item_bytes, GError **error)
{
	g_autoptr(MappedArray) array = g_new0(MappedArray, 1);

	array->item_bytes = item_bytes;
	array->fd = temporary_file_open(directory, error);
	return array->fd < 0 ? NULL : g_steal_pointer(&array);
}

void mapped_array_free(MappedArray *array)
{
	if (!array)
		return;

	if (array->mapped)
		munmap(array->mapped, array->mapped_bytes);
	fd_close(&array->fd);
	g_free(array);
}

static bool grow(MappedArray *array, GError **error)
{
	uint64_t more = (array->mapped_bytes / 4 + STEP_BYTES) / STEP_BYTES * STEP_BYTES;
	uint64_t bytes = array->mapped_bytes + more;
	void *mapped;

	if (!temporary_file_allocate(array->fd, array->mapped_bytes, more, error))
		return false;
	mapped = array->mapped
			 ? mremap(array->mapped, array->mapped_bytes, bytes, MREMAP_MAYMOVE)
			 : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, array->fd, 0);
	if (mapped == MAP_FAILED)
		return temporary_file_fail(errno, error);

	array->mapped = mapped;
	array->mapped_bytes = bytes;
	return true;
}

void *mapped_array_add(MappedArray *array, GError **error)
{
	uint64_t end = (array->n_items + 1) * array->item_bytes;

	if (end > array->mapped_bytes && !grow(array, error))
		return NULL;
	return array->mapped + array->n_items++ * array->item_bytes;
}

void *mapped_array_items(const MappedArray *array)
{
	return array->mapped;
}

uint64_t mapped_array_count(const MappedArray *array)
{
	return array->n_items;
}
