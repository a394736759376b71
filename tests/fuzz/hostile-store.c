/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/fuzz/hostile-store.h"

#include "daemon/fingerprint/file-job.h"
#include "hashstore/anchors/anchor-page.h"
#include "hashstore/objects/differed.h"
#include "hashstore/objects/equal-list.h"
#include "hashstore/objects/history.h"
#include "hashstore/objects/names.h"
#include "hashstore/objects/object-record.h"
#include "hashstore/objects/objects.h"
#include "hashstore/objects/open-extents.h"
#include "hashstore/objects/pinned.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES   24
#define EXTENTS 12
#define ANCHORS 40

/* Of a file that was read by half. */
#define HALF_BLOCKS (UINT64_C(1) << 18)

/* In bytes of an SQLite page. */
#define PAGE_BYTES        4096
#define PAGE_HEADER_BYTES 12

HashStoreOptions hostile_store_options(const char *directory, const char *kind)
{
	return (HashStoreOptions){
		.directory = directory,
		.uuid = HOSTILE_STORE_UUID,
		.kind = kind,
		.block_bytes = HOSTILE_STORE_BLOCK,
		.anchor_blocks = 4,
		.window_anchors = 16,
		.memory_bytes = 1 << 20,
	};
}

static void must(bool done, GError **error)
{
	g_assert_no_error(*error);
	g_assert_true(done);
}

static uint32_t put_object(HashStore *store, uint64_t subvolume, uint64_t inode, unsigned n)
{
	static const ObjectState states[] = { OBJECT_DONE, OBJECT_DONE, OBJECT_DONE, OBJECT_SEEN,
					      OBJECT_SKIPPED };
	GError *error = NULL;
	Object object = {
		.subvolume = subvolume,
		.inode = inode,
		.size_bytes = UINT64_C(40) * HOSTILE_STORE_BLOCK,
		.mtime_nsec = 40,
		.ctime_nsec = 100,
		.state = states[n % G_N_ELEMENTS(states)],
		.skip_reason = n % 30,
		.flags = n % 7 == 6 ? OBJECT_IMMUTABLE | OBJECT_HAS_HEAD : 0,
		.head = 7,
		.changes = n % 3,
		.digest = 1000 + n % 4,
		.parent = 256,
		.name = (const uint8_t *)"name",
		.name_bytes = 4,
	};

	must(hash_store_new_object(store, &object.id, &error), &error);
	must(hash_store_put(store, &object, &error), &error);
	return object.id;
}

static void put_anchors(HashStore *store, uint32_t object, unsigned n)
{
	GError *error = NULL;

	for (uint32_t i = 0; i < ANCHORS; i++) {
		Anchor anchor = { (uint64_t)(1 + n % 4) << 40 | i << 8, object, i };

		must(hash_store_put_anchor(store, &anchor, &error), &error);
	}
	must(hash_store_put_anchor(store, &(Anchor){ 1000 + n % 4, object, ANCHOR_WHOLE_BLOCK },
				   &error),
	     &error);
}

static void put_half(HashStore *store, uint64_t inode)
{
	const ObjectSumsSink sink = { NULL, NULL, NULL };
	Learned learned = { .shared_bytes = 4096 };
	GError *error = NULL;
	Object object = {
		.subvolume = hash_store_has_extents(store) ? 256 : 0,
		.inode = inode,
		.size_bytes = UINT64_C(4) << 30,
		.state = OBJECT_HALF,
		.name = (const uint8_t *)"half",
		.name_bytes = 4,
	};

	object_sums_init(&learned.sums, 4, 16, 16);
	object_sums_add_hole(&learned.sums, HALF_BLOCKS - 1, &sink);
	object_sums_add(&learned.sums, 7, &sink);
	must(hash_store_new_object(store, &object.id, &error), &error);
	must(hash_store_put(store, &object, &error), &error);
	must(hash_store_put_half(store, object.id, HALF_BLOCKS, &learned, sizeof(learned), &error),
	     &error);
}

/* What only a btrfs has. */
static void put_extents(HashStore *store)
{
	GError *error = NULL;
	bool kept;

	for (unsigned i = 0; i < EXTENTS; i++) {
		uint64_t address = (UINT64_C(16) << 20) + i * UINT64_C(64) * HOSTILE_STORE_BLOCK;
		const PinnedExtent pinned = { .extent = { address, 100 },
					      .cause = i % 6,
					      .root = 256,
					      .inode = 300 + i,
					      .length = 4096,
					      .bytes = UINT64_C(1) << 16 };
		const ExtentStamp one = { address, 100 }, other = { address + 4096, 100 };

		put_anchors(store, put_object(store, OBJECT_EXTENTS, address, i), i);
		put_object(store, OBJECT_STRETCHES, 1 + i, i);
		must(hash_store_put_pinned(store, &pinned, &kept, &error), &error);
		must(hash_store_put_differed(store, &one, &other, &kept, &error), &error);
		must(hash_store_put_open_extent(store, address, &error), &error);
	}
}

void hostile_store_fill(HashStore *store)
{
	static const char *const examples[] = { "/srv/a", "/srv/b", NULL };
	bool is_btrfs = hash_store_has_extents(store);
	PassRecord pass = { .started_usec = 1, .ended_usec = 2, .mount_point = (char *)"/srv" };
	SkipRecord skip = { "leased", 2, 4096, examples };
	GError *error = NULL;

	for (unsigned i = 0; i < FILES; i++)
		put_anchors(store, put_object(store, is_btrfs ? 256 : 0, 300 + i, i), i);
	put_half(store, 1000);
	if (is_btrfs)
		put_extents(store);
	for (uint64_t i = 0; i < 3; i++) {
		const DirectoryName directory = { .subvolume = is_btrfs ? 256 : 0,
						  .inode = 256 + i,
						  .parent = i ? 255 + i : 0,
						  .name = (const uint8_t *)"/d",
						  .name_bytes = 2 };

		must(hash_store_put_directory(store, &directory, &error), &error);
	}
	must(hash_store_set_note(store, "zeros", "auto", &error), &error);
	must(hash_store_set_number(store, "btrfs-generation", 90, &error), &error);
	must(hash_store_put_pass(store, &pass, &error), &error);
	must(hash_store_put_skip(store, &skip, &error), &error);
	must(hash_store_make_equal_list(store, &error), &error);
	must(hash_store_commit(store, &error), &error);
}

/* What damages a value: its row is chosen by an offset. */
static const char *const columns[][2] = {
	{ "meta", "value" },
	{ "meta", "value" },
	{ "meta", "value" },
	{ "note", "text" },
	{ "object", "record" },
	{ "object", "record" },
	{ "object", "record" },
	{ "object", "id" },
	{ "object", "inode" },
	{ "object", "subvolume" },
	{ "place", "inode" },
	{ "half", "done_blocks" },
	{ "half", "state" },
	{ "half", "state" },
	{ "half", "id" },
	{ "directory", "parent" },
	{ "directory", "name" },
	{ "directory", "inode" },
	{ "segment", "anchors" },
	{ "segment", "first_page" },
	{ "segment", "pages" },
	{ "segment", "first_fence" },
	{ "segment", "min_object" },
	{ "segment", "max_object" },
	{ "segment", "live_objects" },
	{ "segment", "fences" },
	{ "fence", "digests" },
	{ "page", "entries" },
	{ "page", "entries" },
	{ "page", "id" },
	{ "pass", "started_usec" },
	{ "pass", "outcome" },
	{ "pass", "mount_point" },
	{ "pass_total", "passes" },
	{ "skipped", "examples" },
	{ "skipped", "reason" },
	{ "open_extent", "address" },
	{ "differed", "other" },
	{ "differed", "generation" },
	{ "pinned", "cause" },
	{ "pinned", "root" },
	{ "pinned", "offset" },
	{ "pinned", "length" },
	{ "pinned", "position" },
	{ "pinned", "places" },
	{ "kept_group", "n_objects" },
	{ "loose_object", "id" },
};

/* A record of an object, any of whose numbers may be wrong. */
static void change_record(Choices *choices, GByteArray *bytes)
{
	Object object = { .inode = 300 };

	if (!object_record_read(bytes->data, bytes->len, &object))
		return;
	g_autofree uint8_t *name = g_memdup2(object.name, object.name_bytes);
	object.name = name;
	switch (choices_below(choices, 10)) {
	case 0:
		object.state = choices_below(choices, 4);
		break;
	case 1:
		object.skip_reason = (uint32_t)choices_edge(choices);
		object.state = OBJECT_SKIPPED;
		break;
	case 2:
		object.flags = (unsigned)choices_edge(choices) & 0xfffffff;
		break;
	case 3:
		object.size_bytes = choices_edge(choices);
		break;
	case 4:
		object.mtime_nsec = (int64_t)choices_edge(choices);
		break;
	case 5:
		object.ctime_nsec = (int64_t)choices_edge(choices);
		break;
	case 6:
		object.btime_nsec = (int64_t)choices_edge(choices);
		break;
	case 7:
		object.generation = (uint32_t)choices_edge(choices);
		break;
	case 8:
		object.changes = (uint32_t)choices_edge(choices);
		object.changed_sec = choices_edge(choices);
		break;
	default:
		object.parent = choices_edge(choices);
	}
	g_byte_array_set_size(bytes, 0);
	object_record_write(&object, bytes);
}

/* What a file read by half goes on with. */
static void change_state(Choices *choices, GByteArray *bytes)
{
	uint64_t *numbers = (uint64_t *)(void *)bytes->data;
	size_t n = bytes->len / sizeof(*numbers);

	if (n > 0)
		numbers[choices_below(choices, MIN(n, 20))] = choices_edge(choices);
	if (n > 0 && choices_yes(choices))
		numbers[choices_below(choices, n)] = choices_edge(choices);
}

/* A page whose checksum is right, of anchors that are not. */
static void change_page(Choices *choices, GByteArray *bytes)
{
	g_autofree Anchor *anchors = g_new(Anchor, ANCHOR_PAGE_ENTRIES);
	g_autofree AnchorPage *page = g_new0(AnchorPage, 1);
	guint size = bytes->len;
	unsigned n;

	g_byte_array_set_size(bytes, size + ANCHOR_PAGE_SLACK);
	if (size > 0 && anchor_page_read(bytes->data, size, anchors, &n)) {
		Anchor *anchor = &anchors[choices_below(choices, n)];

		if (choices_yes(choices))
			anchor->object = (uint32_t)choices_edge(choices);
		else
			anchor->block = (uint32_t)choices_edge(choices);
		anchor_page_begin(page);
		for (unsigned i = 0; i < n; i++)
			anchor_page_add(page, &anchors[i]);
		anchor_page_seal(page);
		memcpy(bytes->data, page->bytes, MIN(page->n_bytes, size));
		size = (guint)MIN(page->n_bytes, size);
	}
	g_byte_array_set_size(bytes, size);
}

/* Another value for the cell that @get has a row of. */
static void bind_changed(Choices *choices, sqlite3_stmt *get, const char *column, sqlite3_stmt *set)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new();

	if (sqlite3_column_type(get, 0) == SQLITE_BLOB && choices_below(choices, 4)) {
		g_byte_array_append(bytes, sqlite3_column_blob(get, 0),
				    (guint)sqlite3_column_bytes(get, 0));
		if (strcmp(column, "record") == 0)
			change_record(choices, bytes);
		else if (strcmp(column, "state") == 0)
			change_state(choices, bytes);
		else if (strcmp(column, "entries") == 0)
			change_page(choices, bytes);
		else if (bytes->len > 0)
			bytes->data[choices_below(choices, bytes->len)] ^=
				(uint8_t)choices_from(choices, 1, 255);
		if (choices_below(choices, 8) == 7)
			g_byte_array_set_size(
				bytes, (guint)choices_below(choices, bytes->len + UINT64_C(9)));
		sqlite3_bind_blob(set, 1, bytes->data, (int)bytes->len, SQLITE_TRANSIENT);
		return;
	}

	switch (choices_below(choices, 6)) {
	case 0:
		sqlite3_bind_text(set, 1, "text", -1, SQLITE_STATIC);
		break;
	case 1:
		sqlite3_bind_zeroblob(set, 1, (int)choices_below(choices, 9));
		break;
	case 2:
		sqlite3_bind_double(set, 1, 1e300);
		break;
	default:
		sqlite3_bind_int64(set, 1, (int64_t)choices_edge(choices));
	}
}

static void change_cell(Choices *choices, sqlite3 *database)
{
	const char *const *cell = columns[choices_below(choices, G_N_ELEMENTS(columns))];
	g_autofree char *select = g_strdup_printf("SELECT %s FROM %s LIMIT 1 OFFSET %u", cell[1],
						  cell[0], (unsigned)choices_below(choices, 64));
	g_autofree char *update =
		g_strdup_printf("UPDATE %s SET %s = ?1 WHERE %s IS ?2", cell[0], cell[1], cell[1]);
	sqlite3_stmt *get = NULL, *set = NULL;

	if (sqlite3_prepare_v2(database, select, -1, &get, NULL) == SQLITE_OK &&
	    sqlite3_prepare_v2(database, update, -1, &set, NULL) == SQLITE_OK &&
	    sqlite3_step(get) == SQLITE_ROW) {
		bind_changed(choices, get, cell[1], set);
		sqlite3_bind_value(set, 2, sqlite3_column_value(get, 0));
		sqlite3_step(set);
	}
	sqlite3_finalize(get);
	sqlite3_finalize(set);
}

static void change_rows(Choices *choices, const char *path)
{
	sqlite3 *database = NULL;

	if (sqlite3_open(path, &database) == SQLITE_OK) {
		/* As if a merge had been interrupted. */
		if (choices_below(choices, 8) == 7)
			sqlite3_exec(
				database,
				"INSERT INTO meta SELECT 'merged_pages_' || id, 0 FROM segment;"
				"INSERT INTO meta SELECT 'merged_below_' || id, 1 FROM segment;",
				NULL, NULL, NULL);
		for (uint64_t n = 1 + choices_below(choices, 4); n > 0; n--)
			change_cell(choices, database);
		if (choices_below(choices, 16) == 15)
			sqlite3_exec(database, "DELETE FROM page WHERE id % 2", NULL, NULL, NULL);
	}
	sqlite3_close(database);
}

/* Bytes of the file's header, of pages' headers, of what is behind these, or anywhere. */
static void change_bytes(Choices *choices, const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct stat st;

	g_assert_cmpint(fstat(fd, &st), ==, 0);
	for (uint64_t n = 1 + choices_below(choices, 4); n > 0; n--) {
		uint64_t page = choices_below(choices, (uint64_t)st.st_size / PAGE_BYTES + 1);
		uint64_t head = page == 0 && choices_yes(choices) ? 0 : PAGE_HEADER_BYTES;
		uint64_t at = page * PAGE_BYTES;
		uint8_t byte = (uint8_t)choices_edge(choices);

		at += choices_yes(choices) ? choices_below(choices, 48 + head)
					   : choices_below(choices, PAGE_BYTES);
		if (at < (uint64_t)st.st_size)
			g_assert_cmpint(pwrite(fd, &byte, 1, (off_t)at), ==, 1);
	}
	close(fd);
}

void hostile_store_damage(Choices *choices, const char *path)
{
	if (choices_below(choices, 4))
		change_rows(choices, path);
	else
		change_bytes(choices, path);
}
