/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/object-table.h"

#include "daemon/temporary-file.h"
#include "hashstore/objects.h"
#include "kernel-ioctl/fd.h"

#include <errno.h>
#include <sys/mman.h>

#define GAIN_BITS 29

/* A size counts in units of 512 bytes: more than an object can have entries in groups. */
#define SIZE_SHIFT 9

typedef struct {
	uint32_t count;
	uint32_t facts;
} Entry;

struct ObjectTable {
	Entry *entries;
	size_t n_entries;
};

void object_table_free(ObjectTable *table)
{
	if (!table)
		return;

	if (table->entries)
		munmap(table->entries, table->n_entries * sizeof(Entry));
	g_free(table);
}

static bool map_entries(ObjectTable *table, const char *directory, GError **error)
{
	size_t bytes = table->n_entries * sizeof(Entry);
	g_auto(Fd) fd = temporary_file_open(directory, error);
	void *mapped = MAP_FAILED;

	if (fd < 0)
		return false;
	if (ftruncate(fd, (off_t)bytes) == 0)
		mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED) {
		g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(errno),
			    "cannot map a temporary file in %s: %s", directory, g_strerror(errno));
		return false;
	}

	table->entries = mapped;
	return true;
}

static unsigned facts_of(const Object *object, uint32_t settled_below)
{
	unsigned facts = 0;

	if (object->subvolume == OBJECT_STRETCHES)
		facts |= FACT_STRETCH;
	else if (object->subvolume == OBJECT_EXTENTS && object->generation > 0)
		facts |= FACT_JOINED;
	facts |= object->state == OBJECT_DONE ? FACT_LIVE : 0;
	facts |= object->id < settled_below ? FACT_SETTLED : 0;
	facts |= object->flags & OBJECT_IMMUTABLE ? FACT_IMMUTABLE : 0;
	facts |= object->flags & OBJECT_FOREIGN ? FACT_FOREIGN : 0;
	facts |= object->flags & OBJECT_NO_COW ? FACT_NO_COW : 0;
	facts |= object->flags & OBJECT_SHARED ? FACT_SHARED : 0;
	facts |= object->flags & OBJECT_KEEP_ZEROS ? FACT_KEEP_ZEROS : 0;
	return facts;
}

static uint32_t first_count(const Object *object, RankBy by)
{
	uint64_t bytes = object->size_bytes;

	if (by != RANK_BY_SIZE)
		return 0;
	if (object->subvolume <= OBJECT_STRETCHES && object->generation > 0)
		bytes = object->generation;
	return (uint32_t)MIN(bytes >> SIZE_SHIFT, UINT32_MAX / 2);
}

static bool fill(ObjectTable *table, HashStore *store, RankBy by, GError **error)
{
	g_autoptr(ObjectCursor) cursor = object_cursor_open(store, error);
	const Object *object;

	if (!cursor)
		return false;

	while (hash_store_may_continue(store)) {
		if (!object_cursor_next(cursor, &object, error))
			return false;
		if (!object)
			break;
		if (object->id < table->n_entries)
			table->entries[object->id] = (Entry){
				first_count(object, by),
				facts_of(object, hash_store_settled_below(store)),
			};
	}

	return true;
}

ObjectTable *object_table_new(HashStore *store, RankBy by, const char *directory, GError **error)
{
	g_autoptr(ObjectTable) table = g_new0(ObjectTable, 1);

	table->n_entries = (size_t)hash_store_next_object(store) + 1;
	if (!map_entries(table, directory, error) || !fill(table, store, by, error))
		return NULL;

	return g_steal_pointer(&table);
}

unsigned object_table_facts(const ObjectTable *table, uint32_t object)
{
	return object < table->n_entries ? table->entries[object].facts : 0;
}

void object_table_add_fact(ObjectTable *table, uint32_t object, ObjectFacts fact)
{
	if (object < table->n_entries)
		table->entries[object].facts |= fact;
}

void object_table_remove_fact(ObjectTable *table, uint32_t object, ObjectFacts fact)
{
	if (object < table->n_entries)
		table->entries[object].facts &= ~(unsigned)fact;
}

void object_table_count(ObjectTable *table, uint32_t object)
{
	if (object < table->n_entries && table->entries[object].count < UINT32_MAX &&
	    !(table->entries[object].facts & (FACT_STRETCH | FACT_JOINED)))
		table->entries[object].count++;
}

uint64_t object_table_rank(const ObjectTable *table, uint32_t object)
{
	const Entry *entry = &table->entries[object];
	uint32_t gain = MIN(entry->count, (UINT32_C(1) << GAIN_BITS) - 1);
	uint64_t rank = (UINT32_C(1) << GAIN_BITS) - 1 - gain;

	rank |= entry->facts & FACT_SHARED ? 0 : UINT64_C(1) << GAIN_BITS;
	rank |= entry->facts & FACTS_SOURCE_ONLY ? 0 : UINT64_C(1) << (GAIN_BITS + 1);
	return rank << 32 | object;
}

bool object_table_is_live(uint32_t object, void *data)
{
	return (object_table_facts(data, object) & (FACT_LIVE | FACT_MOVED)) == FACT_LIVE;
}
