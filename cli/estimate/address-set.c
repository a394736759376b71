/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/estimate/address-set.h"

#include "common/system/temporary-file.h"
#include "kernel-ioctl/call/fd.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#define PART_BYTES (UINT64_C(1) << 20)

struct AddressSet {
	Fd fd;
	uint32_t block_bytes;
	uint8_t *bits; /* NULL: none is in */
	uint64_t n_parts;
	GByteArray *has_room; /* of each part, whether the file has it */
};

AddressSet *address_set_new(const char *directory, uint32_t block_bytes, GError **error)
{
	g_autoptr(AddressSet) set = g_new0(AddressSet, 1);

	set->block_bytes = block_bytes;
	set->has_room = g_byte_array_new();
	set->fd = temporary_file_open(directory, error);
	return set->fd < 0 ? NULL : g_steal_pointer(&set);
}

void address_set_free(AddressSet *set)
{
	if (!set)
		return;

	if (set->bits)
		munmap(set->bits, set->n_parts * PART_BYTES);
	fd_close(&set->fd);
	g_byte_array_unref(set->has_room);
	g_free(set);
}

/* Extend the map to @part.  The parts in between take no room. */
static bool reach(AddressSet *set, uint64_t part, GError **error)
{
	uint64_t n_parts = MAX(part + 1, set->n_parts * 2);
	void *bits;

	if (ftruncate(set->fd, (off_t)(n_parts * PART_BYTES)) != 0)
		return temporary_file_fail(errno, error);
	bits = set->bits ? mremap(set->bits, set->n_parts * PART_BYTES, n_parts * PART_BYTES,
				  MREMAP_MAYMOVE)
			 : mmap(NULL, n_parts * PART_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
				set->fd, 0);
	if (bits == MAP_FAILED)
		return temporary_file_fail(errno, error);

	set->bits = bits;
	g_byte_array_set_size(set->has_room, (guint)n_parts);
	for (uint64_t i = set->n_parts; i < n_parts; i++)
		set->has_room->data[i] = false;
	set->n_parts = n_parts;
	return true;
}

static bool make_room(AddressSet *set, uint64_t part, GError **error)
{
	if (!temporary_file_allocate(set->fd, part * PART_BYTES, PART_BYTES, error))
		return false;

	set->has_room->data[part] = true;
	return true;
}

bool address_set_has(const AddressSet *set, uint64_t address)
{
	uint64_t block = address / set->block_bytes;
	uint64_t part = block / 8 / PART_BYTES;

	return part < set->n_parts && set->has_room->data[part] &&
	       (set->bits[block / 8] >> block % 8 & 1);
}

bool address_set_add(AddressSet *set, uint64_t address, GError **error)
{
	uint64_t block = address / set->block_bytes;
	uint64_t part = block / 8 / PART_BYTES;

	if ((part >= set->n_parts && !reach(set, part, error)) ||
	    (!set->has_room->data[part] && !make_room(set, part, error)))
		return false;

	set->bits[block / 8] |= (uint8_t)(1U << block % 8);
	return true;
}
