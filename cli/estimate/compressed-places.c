/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/estimate/compressed-places.h"

#include "hashstore/anchors/sorter.h"

typedef struct {
	uint64_t address;
	uint64_t bytes;
	uint64_t file;
} Place;

struct CompressedPlaces {
	Sorter *places;
};

static int compare(const void *a, const void *b)
{
	const Place *one = a, *other = b;

	if (one->address != other->address)
		return one->address < other->address ? -1 : 1;
	return (one->file > other->file) - (one->file < other->file);
}

CompressedPlaces *compressed_places_new(const EstimateTask *task)
{
	CompressedPlaces *places = g_new0(CompressedPlaces, 1);

	places->places = sorter_new(sizeof(Place), compare, task->settings->memory_bytes / 16,
				    task->directory, task->stop);
	return places;
}

void compressed_places_free(CompressedPlaces *places)
{
	if (!places)
		return;

	g_clear_pointer(&places->places, sorter_free);
	g_free(places);
}

bool compressed_places_add(CompressedPlaces *places, uint64_t address, uint64_t bytes,
			   uint64_t file, GError **error)
{
	const Place place = { address, bytes, file };

	return sorter_add(places->places, &place, error);
}

bool compressed_places_count(CompressedPlaces *places, uint64_t *ret_shared_bytes, GError **error)
{
	const Place *place;
	Place last = { 0 };
	bool is_first = true;

	*ret_shared_bytes = 0;
	if (!sorter_sort(places->places, error))
		return false;
	while (true) {
		if (!sorter_next(places->places, (const void **)&place, error))
			return false;
		if (!place)
			return true;

		if (!is_first && place->address == last.address && place->file != last.file)
			*ret_shared_bytes += place->bytes;
		last = *place;
		is_first = false;
	}
}
