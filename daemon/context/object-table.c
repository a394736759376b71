/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/context/object-table.h"

#include "common/system/temporary-file.h"
#include "hashstore/objects/objects.h"
#include "kernel-ioctl/call/fd.h"

#include <errno.h>
#include <sys/mman.h>

#define GAIN_BITS 28

/* The entry is filled: with the facts of the store, and with those that were added. */
#define KNOWN (1u << 31)

/* Look objects up one by one until one in LOOK_UP_SHARE was asked for: that costs as much as reading all. */
#define LOOK_UP_SHARE 50
#define LOOK_UPS_MIN  1000

/* A size counts in units of 512 bytes: more than an object can have entries in groups. */
#define SIZE_SHIFT 9

#define LONG_BYTES (UINT64_C(128) << 10)

/* Size classes of extents begin here; shorter extents are classed by powers of two. */
static const uint64_t classes_bytes[] = {
	UINT64_C(8) << 20,
	UINT64_C(1) << 20,
	LONG_BYTES,
};

typedef struct {
	uint32_t count;
	uint32_t facts;
} Entry;

struct ObjectTable {
	/* Set at creation, never changed. */
	HashStore *store;               /* not owned */
	ReadOnlySubvolumes *subvolumes; /* not owned; NULL: none is read-only */
	RankBy by;
	const Settings *settings; /* not owned */
	uint32_t settled_below;
	uint64_t most_look_ups;
	Entry *entries;
	size_t n_entries;

	/* Thread: the owner's. */
	uint64_t n_look_ups;
	bool is_filled; /* an unknown object is not in the store */
	GError *error;  /* the first one */
};

void object_table_free(ObjectTable *table)
{
	if (!table)
		return;

	if (table->entries)
		munmap(table->entries, table->n_entries * sizeof(Entry));
	g_clear_error(&table->error);
	g_free(table);
}

static bool map_entries(ObjectTable *table, const char *directory, GError **error)
{
	size_t bytes = table->n_entries * sizeof(Entry);
	g_auto(Fd) fd = temporary_file_open(directory, error);
	void *mapped;

	if (fd < 0)
		return false;
	/* If a page of the mapping found no room, the process would be killed (SIGBUS). */
	if (!temporary_file_allocate(fd, 0, bytes, error)) {
		g_prefix_error(error, "%s: ", directory);
		return false;
	}

	mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED) {
		g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(errno),
			    "cannot map a temporary file in %s: %s", directory, g_strerror(errno));
		return false;
	}

	table->entries = mapped;
	return true;
}

/* Whether extents that snapshots hold may be left to the deletion of these. */
static bool read_only_snapshots_are_left(const Settings *settings)
{
	return settings->read_only_snapshots == SNAPSHOTS_AUTO ||
	       settings->read_only_snapshots == SNAPSHOTS_WRITABLE;
}

/* The facts that the user's policies add to the object. */
static unsigned policy_facts(const ObjectTable *table, const Object *object)
{
	ReadOnlySubvolumes *subvolumes = table->subvolumes;
	uint64_t subvolume = object->subvolume;
	unsigned facts = 0;

	if (object->flags & OBJECT_NO_COW && table->settings->no_data_cow == NO_COW_SKIP)
		facts |= FACT_BARRED;
	if (object->flags & OBJECT_HELD && read_only_snapshots_are_left(table->settings))
		facts |= FACT_HELD;
	if (subvolume <= OBJECT_STRETCHES || !subvolumes)
		return facts;

	facts |= read_only_subvolumes_may_be_target(subvolumes, subvolume) ? 0 : FACT_READ_ONLY;
	facts |= read_only_subvolumes_may_be_source(subvolumes, subvolume) ? 0 : FACT_BARRED;
	return facts;
}

/* Files of XFS have the same subvolume, 0, as extents of btrfs. */
static bool is_extent(const ObjectTable *table, const Object *object)
{
	return table->by == RANK_BY_SIZE && object->subvolume <= OBJECT_STRETCHES;
}

static unsigned facts_of(const ObjectTable *table, const Object *object)
{
	unsigned facts = is_extent(table, object) ? FACT_EXTENT : 0;

	if (object->subvolume == OBJECT_STRETCHES)
		facts |= FACT_STRETCH;
	facts |= object->state == OBJECT_DONE ? FACT_LIVE : 0;
	facts |= object->id < table->settled_below ? FACT_SETTLED : 0;
	facts |= object->flags & OBJECT_IMMUTABLE ? FACT_IMMUTABLE : 0;
	facts |= object->flags & OBJECT_FOREIGN ? FACT_FOREIGN : 0;
	facts |= object->flags & OBJECT_NO_COW ? FACT_NO_COW : 0;
	facts |= object->flags & OBJECT_SHARED ? FACT_SHARED : 0;
	facts |= object->flags & OBJECT_KEEP_ZEROS ? FACT_KEEP_ZEROS : 0;
	facts |= object->flags & OBJECT_PLAIN ? FACT_PLAIN : 0;
	return facts | policy_facts(table, object);
}

/*
 * The size by which an extent ranks.  Zeros count twice against it: a target gives them back, and a source would
 * keep them.
 */
static uint64_t data_less_zeros(const ObjectTable *table, const Object *extent)
{
	uint64_t zeros = object_extent_zero_bytes(extent);

	if (table->settings->zeros == ZEROS_KEEP)
		return extent->size_bytes;
	return extent->size_bytes - MIN(extent->size_bytes, 2 * zeros);
}

static uint32_t first_count(const ObjectTable *table, const Object *object)
{
	uint64_t bytes;

	if (!is_extent(table, object))
		return 0;
	if (object->generation > 0)
		return object->generation >> SIZE_SHIFT;

	bytes = data_less_zeros(table, object);
	for (size_t i = 0; i < G_N_ELEMENTS(classes_bytes); i++)
		if (bytes >= classes_bytes[i])
			return (uint32_t)(classes_bytes[i] >> SIZE_SHIFT);
	return ((UINT32_C(1) << g_bit_storage(bytes)) >> 1) >> SIZE_SHIFT;
}

static void set_entry(ObjectTable *table, const Object *object)
{
	table->entries[object->id] = (Entry){
		first_count(table, object),
		facts_of(table, object) | KNOWN,
	};
}

static bool fill(ObjectTable *table, GError **error)
{
	g_autoptr(ObjectCursor) cursor = object_cursor_open(table->store, error);
	const Object *object;

	if (!cursor)
		return false;

	while (hash_store_may_continue(table->store)) {
		if (!object_cursor_next(cursor, &object, error))
			return false;
		if (!object)
			break;
		if (object->id < table->n_entries && !(table->entries[object->id].facts & KNOWN))
			set_entry(table, object);
	}

	table->is_filled = true;
	return true;
}

static bool look_up(ObjectTable *table, uint32_t id, GError **error)
{
	Object object;
	bool found;

	if (table->n_look_ups++ >= table->most_look_ups)
		return fill(table, error);
	if (!hash_store_peek(table->store, id, &object, &found, error))
		return false;

	table->entries[id].facts = KNOWN;
	if (found)
		set_entry(table, &object);
	return true;
}

/* The object's entry, filled if it was not; NULL for an id that did not exist when the table was made. */
static Entry *entry_of(ObjectTable *table, uint32_t object)
{
	Entry *entry = table->entries + object;

	if (object >= table->n_entries)
		return NULL;
	if (entry->facts & KNOWN || table->is_filled)
		return entry;

	if (!look_up(table, object, table->error ? NULL : &table->error))
		entry->facts = KNOWN | FACT_LIVE | FACT_SETTLED;
	return entry;
}

ObjectTable *object_table_new(HashStore *store, RankBy by, const Settings *settings,
			      ReadOnlySubvolumes *subvolumes, GError **error)
{
	g_autoptr(ObjectTable) table = g_new0(ObjectTable, 1);
	uint64_t n_objects, n_unsettled;

	if (!hash_store_count_objects(store, &n_objects, error))
		return NULL;
	table->store = store;
	table->settings = settings;
	table->subvolumes = subvolumes;
	table->by = by;
	table->settled_below = hash_store_settled_below(store);
	table->most_look_ups = LOOK_UPS_MIN + n_objects / LOOK_UP_SHARE;
	table->n_entries = (size_t)hash_store_next_object(store) + 1;
	if (!map_entries(table, settings->state_directory, error))
		return NULL;

	n_unsettled = hash_store_next_object(store) - table->settled_below;
	if (n_unsettled >= n_objects / LOOK_UP_SHARE && !fill(table, error))
		return NULL;
	return g_steal_pointer(&table);
}

bool object_table_take_error(ObjectTable *table, GError **error)
{
	if (!table->error)
		return true;

	g_propagate_error(error, g_steal_pointer(&table->error));
	return false;
}

unsigned object_table_facts(ObjectTable *table, uint32_t object)
{
	const Entry *entry = entry_of(table, object);

	return entry ? entry->facts & ~KNOWN : 0;
}

void object_table_add_fact(ObjectTable *table, uint32_t object, ObjectFacts fact)
{
	Entry *entry = entry_of(table, object);

	if (entry)
		entry->facts |= fact;
}

void object_table_remove_fact(ObjectTable *table, uint32_t object, ObjectFacts fact)
{
	Entry *entry = entry_of(table, object);

	if (entry)
		entry->facts &= ~(unsigned)fact;
}

void object_table_count(ObjectTable *table, uint32_t object)
{
	Entry *entry = entry_of(table, object);

	if (entry && entry->count < UINT32_MAX && !(entry->facts & FACT_EXTENT))
		entry->count++;
}

uint64_t object_table_rank(ObjectTable *table, uint32_t object)
{
	static const Entry none;
	const Entry *known = entry_of(table, object);
	const Entry *entry = known ? known : &none;
	uint32_t gain = MIN(entry->count, (UINT32_C(1) << GAIN_BITS) - 1);
	uint64_t rank = (UINT32_C(1) << GAIN_BITS) - 1 - gain;

	rank |= entry->facts & FACT_HOT ? 0 : UINT64_C(1) << GAIN_BITS;
	rank |= entry->facts & FACT_SHARED ? 0 : UINT64_C(1) << (GAIN_BITS + 1);
	/* It is to be freed, so it is a source only if there is no other. */
	rank |= entry->facts & FACT_HELD ? UINT64_C(1) << (GAIN_BITS + 2) : 0;
	rank |= entry->facts & FACTS_SOURCE_ONLY ? 0 : UINT64_C(1) << (GAIN_BITS + 3);
	return rank << 32 | object;
}

uint32_t object_table_rank_class(ObjectTable *table, uint32_t object)
{
	return (uint32_t)(object_table_rank(table, object) >> 32);
}

bool object_table_is_live(uint32_t object, void *data)
{
	return (object_table_facts(data, object) &
		(FACT_LIVE | FACT_MOVED | FACT_BARRED | FACT_AWAY)) == FACT_LIVE;
}

bool object_table_is_kept(uint32_t object, void *data)
{
	return object_table_facts(data, object) & FACT_LIVE;
}

bool object_table_is_long(ObjectTable *table, uint32_t object)
{
	const Entry *entry = entry_of(table, object);

	return entry && entry->facts & FACT_EXTENT && entry->count >= LONG_BYTES >> SIZE_SHIFT;
}

bool object_table_is_extent(uint32_t object, void *data)
{
	return object_table_facts(data, object) & FACT_EXTENT;
}

bool object_table_is_file(uint32_t object, void *data)
{
	return !object_table_is_extent(object, data);
}
