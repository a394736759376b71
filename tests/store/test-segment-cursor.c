/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/anchors/segment-cursor.h"
#include "tests/store/store-fixture.h"

/* So many that their pages need two rows of fences. */
#define N_ANCHORS 800000

/* Of two neighbours each third pair is equal; the high bits differ as those of real digests. */
static uint64_t digest_of(uint32_t i)
{
	return (uint64_t)(i / 3 + (i + 1) / 3) * (UINT64_MAX / N_ANCHORS) + (UINT64_C(1) << 40);
}

static HashStore *open_filled(const StoreFixture *fixture)
{
	HashStore *store = store_fixture_open(fixture);
	GError *error = NULL;
	uint32_t object;

	g_assert_true(hash_store_new_object(store, &object, &error));
	for (uint32_t i = 0; i < N_ANCHORS; i++) {
		const Anchor anchor = { digest_of(i), object, i };

		g_assert_true(hash_store_put_anchor(store, &anchor, &error));
	}
	g_assert_no_error(error);
	store_fixture_settle(store);
	return store;
}

/* The first anchor of @digest or a larger one; N_ANCHORS: there is none. */
static uint32_t expected_at(uint64_t digest, uint32_t from)
{
	uint32_t end = N_ANCHORS;

	while (from < end) {
		uint32_t middle = from + (end - from) / 2;

		if (anchor_digest(digest_of(middle)) < digest)
			from = middle + 1;
		else
			end = middle;
	}
	return from;
}

static int count_row(unsigned mask, void *data, void *statement, void *unused)
{
	++*(unsigned *)data;
	return 0;
}

static void assert_at_hand(const SegmentCursor *cursor, uint32_t expected)
{
	g_assert_cmpint(segment_cursor_at_hand(cursor), ==, expected < N_ANCHORS);
	if (expected < N_ANCHORS)
		g_assert_cmpuint(cursor->entries[cursor->next].block, ==, expected);
}

/* Seek forward in steps of up to @most_step anchors, and take a few anchors at each place. */
static void check_seeks(SegmentReader *reader, const Segment *segment, unsigned n_slots,
			uint32_t most_step)
{
	g_autoptr(SegmentCursor) cursor = segment_cursor_new(reader, segment, n_slots);
	sqlite3 *connection = reader->database->handle;
	GError *error = NULL;
	unsigned n_rows = 0, n_seeks = 0;

	sqlite3_trace_v2(connection, SQLITE_TRACE_ROW, count_row, &n_rows);
	for (uint32_t at = 0; at < N_ANCHORS; n_seeks++) {
		uint32_t to = at + (uint32_t)g_test_rand_int_range(0, (int)most_step);
		/* Some digests lie between two that are there, and the last ones behind all. */
		uint64_t digest = anchor_digest(digest_of(to)) +
				  (uint64_t)g_test_rand_int_range(0, 2) * 65536;

		at = expected_at(digest, at);
		g_assert_true(segment_cursor_seek(cursor, digest, &error));
		assert_at_hand(cursor, at);
		for (int taken = g_test_rand_int_range(0, 5); taken > 0 && at < N_ANCHORS;
		     taken--) {
			cursor->next++;
			g_assert_true(segment_cursor_fill(cursor, &error));
			assert_at_hand(cursor, ++at);
		}
	}
	sqlite3_trace_v2(connection, 0, NULL, NULL);
	g_assert_no_error(error);

	/*
	 * The pages in between are not read, but some at a time, and two rows of fences.  Of those that were read, a
	 * seek unpacks the one before the digest, which may begin with it, and mostly one more.
	 */
	g_assert_cmpuint(n_rows, <=, MIN(2 * n_seeks * n_slots, segment->pages) + 2);
	g_assert_cmpuint(cursor->n_passed, <=,
			 MIN(3 * n_seeks * (N_ANCHORS / segment->pages + 1), N_ANCHORS));
}

static void test_a_cursor_seeks_what_a_search_finds(void)
{
	static const unsigned slots[] = { 1, 2, 7, 64 };
	static const uint32_t steps[] = { 100, 2000, 20000, 300000 };
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = open_filled(fixture);
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) segments = segment_list(store->database, &error);
	g_autoptr(SegmentReader) reader = segment_reader_new(store->database, false, &error);
	const Segment *segment;

	g_assert_no_error(error);
	g_assert_cmpuint(segments->len, ==, 1);
	segment = segments->pdata[0];
	g_assert_cmpuint(segment->pages, >, FENCES_PER_ROW);
	for (size_t i = 0; i < G_N_ELEMENTS(slots); i++)
		for (size_t j = 0; j < G_N_ELEMENTS(steps); j++)
			check_seeks(reader, segment, slots[i], steps[j]);
}

/* The pages of a segment, as the hexadecimal digits of one after the other. */
static char *pages_of(const Anchor *anchors, size_t n_anchors)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	HashStore *store = store_fixture_open(fixture);
	GError *error = NULL;
	uint32_t object;

	do {
		check_done(hash_store_new_object(store, &object, &error), &error);
	} while (object < anchors[0].object);
	for (size_t i = 0; i < n_anchors; i++)
		check_done(hash_store_put_anchor(store, &anchors[i], &error), &error);
	check_done(hash_store_commit(store, &error), &error);
	hash_store_close(store);
	return store_fixture_ask(fixture->path, "SELECT group_concat(hex(entries), '') FROM page");
}

static void test_the_first_page_of_a_segment_is_packed_as_any(void)
{
	const Anchor anchors[] = { { anchor_digest(UINT64_C(1) << 60), 1000, 0 },
				   { anchor_digest(UINT64_C(3) << 60), 1001, 7 } };
	g_autofree AnchorPage *page = g_new0(AnchorPage, 1);
	g_autoptr(GString) expected = g_string_new(NULL);
	g_autofree char *written = pages_of(anchors, G_N_ELEMENTS(anchors));

	anchor_page_begin(page);
	for (size_t i = 0; i < G_N_ELEMENTS(anchors); i++)
		g_assert_true(anchor_page_add(page, &anchors[i]));
	anchor_page_seal(page);
	for (size_t i = 0; i < page->n_bytes; i++)
		g_string_append_printf(expected, "%02X", page->bytes[i]);
	g_assert_cmpstr(written, ==, expected->str);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/segment-cursor/seeks-what-a-search-finds",
			test_a_cursor_seeks_what_a_search_finds);
	g_test_add_func("/segment-cursor/the-first-page-of-a-segment-is-packed-as-any",
			test_the_first_page_of_a_segment_is_packed_as_any);
	return g_test_run();
}
