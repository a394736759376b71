/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/hash-store.h"
#include "hashstore/objects/objects.h"
#include "tests/store/store-fixture.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_new_store_is_private_and_says_what_it_is_about(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autofree char *directory = g_build_filename(fixture->directory, "a", "b", NULL);
	g_autoptr(HashStore) store = NULL;
	uint8_t zeros[HASH_STORE_SECRET_BYTES] = { 0 };
	const HashStoreAbout *about;
	struct stat st;

	fixture->options.directory = directory;
	store = store_fixture_open(fixture);
	about = hash_store_about(store);

	g_assert_cmpstr(about->uuid, ==, FIXTURE_UUID);
	g_assert_cmpstr(about->kind, ==, "btrfs");
	g_assert_cmpuint(about->block_bytes, ==, 4096);
	g_assert_cmpuint(about->anchor_blocks, ==, 4);
	g_assert_cmpuint(about->window_anchors, ==, 16);
	g_assert_cmpint(memcmp(about->secret, zeros, sizeof(zeros)), !=, 0);
	g_assert_cmpint(stat(hash_store_path(store), &st), ==, 0);
	g_assert_cmpuint(st.st_mode & 07777, ==, 0600);
	g_assert_cmpint(stat(directory, &st), ==, 0);
	g_assert_cmpuint(st.st_mode & 07777, ==, 0700);
}

static void test_secret_stays_and_differs_between_stores(void)
{
	g_autoptr(StoreFixture) one = store_fixture_new();
	g_autoptr(StoreFixture) other = store_fixture_new();
	g_autoptr(HashStore) of_one = store_fixture_open(one);
	g_autoptr(HashStore) of_other = store_fixture_open(other);
	HashStoreAbout about = *hash_store_about(of_one);

	g_assert_cmpint(
		memcmp(about.secret, hash_store_about(of_other)->secret, HASH_STORE_SECRET_BYTES),
		!=, 0);
	g_clear_pointer(&of_one, hash_store_close);
	of_one = store_fixture_open(one);
	g_assert_cmpmem(about.secret, HASH_STORE_SECRET_BYTES, hash_store_about(of_one)->secret,
			HASH_STORE_SECRET_BYTES);
}

static void test_second_writer_is_refused_and_named_file_is_the_lock(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	HashStore *store = store_fixture_open(fixture);

	store_fixture_refused(fixture, HASH_STORE_ERROR_IN_USE, FIXTURE_UUID ".lock");
	hash_store_close(store);
	store = store_fixture_open(fixture);
	hash_store_close(store);
}

/* The file must be refused with @code, and stay unchanged. */
static void check_refused_untouched(const StoreFixture *fixture, HashStoreError code)
{
	g_autofree char *before = store_fixture_state(fixture->path);
	g_autofree char *after = NULL;

	store_fixture_refused(fixture, code, fixture->path);
	after = store_fixture_state(fixture->path);
	g_assert_cmpstr(before, ==, after);
}

static void test_garbage_is_refused_as_corrupt(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autofree char *garbage = g_strnfill(20000, 'x');

	g_assert_true(g_file_set_contents(fixture->path, garbage, 20000, NULL));
	check_refused_untouched(fixture, HASH_STORE_ERROR_CORRUPT);
}

static void test_truncated_store_is_refused_as_corrupt(void)
{
	static const int sizes[] = { 100, 512, 4096, 5000, 8192, 40960 };

	for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
		g_autoptr(StoreFixture) fixture = store_fixture_new();

		store_fixture_fill(fixture);
		g_assert_cmpint(truncate(fixture->path, sizes[i]), ==, 0);
		check_refused_untouched(fixture, HASH_STORE_ERROR_CORRUPT);
	}
}

static void test_store_without_its_header_is_refused_as_corrupt(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	char zeros[100] = { 0 };
	int fd;

	store_fixture_fill(fixture);
	fd = open(fixture->path, O_WRONLY | O_CLOEXEC);
	g_assert_cmpint(pwrite(fd, zeros, sizeof(zeros), 0), ==, sizeof(zeros));
	close(fd);
	check_refused_untouched(fixture, HASH_STORE_ERROR_CORRUPT);
}

static void test_store_that_lost_what_it_is_about_is_refused_as_corrupt(void)
{
	static const char *const damages[] = {
		"DELETE FROM meta WHERE name = 'secret'",
		"UPDATE meta SET value = x'00' WHERE name = 'secret'",
		"UPDATE meta SET value = 0 WHERE name = 'anchor_blocks'",
		"UPDATE meta SET value = NULL WHERE name = 'uuid'",
		"PRAGMA user_version = 0",
		"DROP TABLE meta",
	};

	for (size_t i = 0; i < G_N_ELEMENTS(damages); i++) {
		g_autoptr(StoreFixture) fixture = store_fixture_new();

		store_fixture_fill(fixture);
		store_fixture_sql(fixture->path, damages[i]);
		store_fixture_refused(fixture, HASH_STORE_ERROR_CORRUPT, fixture->path);
	}
}

/* A pass computes with these numbers, so they must be possible. */
static void test_store_that_says_what_cannot_be_is_refused_as_corrupt(void)
{
	static const char *const changes[] = {
		"UPDATE meta SET value = 17 WHERE name = 'anchor_blocks'",
		"UPDATE meta SET value = 0 WHERE name = 'anchor_blocks'",
		"UPDATE meta SET value = 65 WHERE name = 'window_anchors'",
		"UPDATE meta SET value = 1 WHERE name = 'window_anchors'",
		"UPDATE meta SET value = 'many' WHERE name = 'window_anchors'",
		"UPDATE meta SET value = 3000 WHERE name = 'block_bytes'",
		"UPDATE meta SET value = 131072 WHERE name = 'block_bytes'",
		"UPDATE meta SET value = -1 WHERE name = 'next_object'",
	};

	for (size_t i = 0; i < G_N_ELEMENTS(changes); i++) {
		g_autoptr(StoreFixture) fixture = store_fixture_new();

		store_fixture_fill(fixture);
		store_fixture_sql(fixture->path, changes[i]);
		fixture->options.anchor_blocks = fixture->options.window_anchors = 0;
		store_fixture_refused(fixture, HASH_STORE_ERROR_CORRUPT, fixture->path);
	}
}

/* The least and the largest numbers that a store may be made with. */
static void test_a_store_at_its_limits_is_opened_again(void)
{
	static const struct {
		uint32_t block_bytes, anchor_blocks, window_anchors;
	} limits[] = {
		{ HASH_STORE_BLOCK_BYTES_MIN, 1, HASH_STORE_WINDOW_ANCHORS_MIN },
		{ HASH_STORE_BLOCK_BYTES_MAX, HASH_STORE_ANCHOR_BLOCKS_MAX,
		  HASH_STORE_WINDOW_ANCHORS_MAX },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(limits); i++) {
		g_autoptr(StoreFixture) fixture = store_fixture_new();
		g_autoptr(HashStore) store = NULL;

		fixture->options.block_bytes = limits[i].block_bytes;
		fixture->options.anchor_blocks = limits[i].anchor_blocks;
		fixture->options.window_anchors = limits[i].window_anchors;
		store_fixture_fill(fixture);
		store = store_fixture_open(fixture);
		g_assert_cmpuint(hash_store_about(store)->block_bytes, ==, limits[i].block_bytes);
		g_assert_cmpuint(hash_store_about(store)->anchor_blocks, ==,
				 limits[i].anchor_blocks);
		g_assert_cmpuint(hash_store_about(store)->window_anchors, ==,
				 limits[i].window_anchors);
	}
}

static void test_store_without_ids_for_anchors_is_refused_as_corrupt(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	const Anchor anchor = { .digest = 1, .object = 1 };
	g_autoptr(HashStore) store = NULL;
	g_autoptr(GError) error = NULL;

	store_fixture_fill(fixture);
	store_fixture_sql(fixture->path, "INSERT INTO page VALUES (9223372036854775807, x'00')");
	store = store_fixture_open(fixture);
	g_assert_true(hash_store_put_anchor(store, &anchor, &error));
	g_assert_false(hash_store_commit(store, &error));
	g_assert_error(error, HASH_STORE_ERROR, HASH_STORE_ERROR_CORRUPT);
}

static void test_foreign_database_is_refused_and_left_alone(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();

	store_fixture_sql(fixture->path, "CREATE TABLE mine (a); INSERT INTO mine VALUES (1)");
	check_refused_untouched(fixture, HASH_STORE_ERROR_FOREIGN);
	store_fixture_sql(fixture->path, "PRAGMA application_id = 252006674");
	check_refused_untouched(fixture, HASH_STORE_ERROR_FOREIGN);
}

static void test_newer_store_is_refused_and_left_alone(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();

	store_fixture_fill(fixture);
	store_fixture_sql(fixture->path, "PRAGMA user_version = 1000");
	check_refused_untouched(fixture, HASH_STORE_ERROR_NEWER);
}

static void test_store_of_another_filesystem_is_refused(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autofree char *other = NULL;

	store_fixture_fill(fixture);
	other = g_build_filename(fixture->directory, "other.sqlite", NULL);
	g_assert_cmpint(g_rename(fixture->path, other), ==, 0);
	fixture->options.uuid = "other";
	store_fixture_refused(fixture, HASH_STORE_ERROR_FOREIGN, FIXTURE_UUID);
	fixture->options.uuid = FIXTURE_UUID;
	g_assert_cmpint(g_rename(other, fixture->path), ==, 0);
	fixture->options.kind = "XFS";
	store_fixture_refused(fixture, HASH_STORE_ERROR_FOREIGN, "btrfs");
}

static void test_other_parameters_are_refused_with_both_values(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	HashStoreOptions made = fixture->options;

	store_fixture_fill(fixture);
	fixture->options.anchor_blocks = 5;
	store_fixture_refused(fixture, HASH_STORE_ERROR_FAILED,
			      "anchor-blocks (k) 4, not 5: use 4, or --rebuild");
	fixture->options = made;
	fixture->options.window_anchors = 32;
	store_fixture_refused(fixture, HASH_STORE_ERROR_FAILED, "window-anchors (w) 16, not 32");
	fixture->options = made;
	fixture->options.block_bytes = 16384;
	store_fixture_refused(fixture, HASH_STORE_ERROR_FAILED, "block size 4096, not 16384");
}

static void assert_made_with(StoreFixture *fixture, uint32_t k, uint32_t w)
{
	g_autoptr(HashStore) store = store_fixture_open(fixture);

	g_assert_cmpuint(hash_store_about(store)->anchor_blocks, ==, k);
	g_assert_cmpuint(hash_store_about(store)->window_anchors, ==, w);
}

static void test_a_store_keeps_what_it_was_made_with_unless_other_is_asked_for(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();

	fixture->options.anchor_blocks = 0;
	fixture->options.new_anchor_blocks = 3;
	fixture->options.window_anchors = 7;
	fixture->options.new_window_anchors = 10;
	assert_made_with(fixture, 3, 7);

	fixture->options.new_anchor_blocks = 2;
	fixture->options.window_anchors = 0;
	assert_made_with(fixture, 3, 7);
	fixture->options.anchor_blocks = 3;
	assert_made_with(fixture, 3, 7);
	fixture->options.anchor_blocks = 2;
	store_fixture_refused(fixture, HASH_STORE_ERROR_FAILED, "(k) 3, not 2");

	fixture->options.anchor_blocks = 0;
	fixture->options.rebuild = true;
	assert_made_with(fixture, 2, 10);
}

static void test_rebuild_keeps_every_old_file(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autofree char *garbage = g_strnfill(5000, 'x');
	g_autofree char *first = g_strconcat(fixture->path, ".old-1", NULL);
	g_autofree char *second = g_strconcat(fixture->path, ".old-2", NULL);
	g_autofree char *kept = NULL;
	g_autoptr(HashStore) store = NULL;
	GError *error = NULL;
	uint64_t n;

	g_assert_true(g_file_set_contents(fixture->path, garbage, 5000, NULL));
	fixture->options.rebuild = true;
	store = store_fixture_open(fixture);
	g_clear_pointer(&store, hash_store_close);
	g_assert_true(g_file_get_contents(first, &kept, NULL, NULL));
	g_assert_cmpstr(kept, ==, garbage);

	fixture->options.rebuild = false;
	store_fixture_fill(fixture);
	fixture->options.rebuild = true;
	store = store_fixture_open(fixture);
	g_assert_true(hash_store_count_objects(store, &n, &error));
	g_assert_cmpuint(n, ==, 0);
	g_clear_pointer(&store, hash_store_close);

	store = hash_store_open_to_read(second, &error);
	g_assert_no_error(error);
	g_assert_true(hash_store_count_objects(store, &n, &error));
	g_assert_cmpuint(n, ==, 1000);
}

static void test_directory_that_cannot_be_written_is_named_with_the_cause(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	uid_t user = geteuid();

	g_assert_cmpint(chmod(fixture->directory, 0500), ==, 0);
	if (user == 0) {
		g_assert_cmpint(chown(fixture->directory, 65534, 65534), ==, 0);
		g_assert_cmpint(seteuid(65534), ==, 0);
	}
	store_fixture_refused(fixture, HASH_STORE_ERROR_FULL, "Permission denied");
	g_assert_cmpint(seteuid(user), ==, 0);
	chmod(fixture->directory, 0700);
}

static void test_store_that_cannot_be_written_is_named_with_the_cause(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autofree char *lock = g_build_filename(fixture->directory, FIXTURE_UUID ".lock", NULL);
	uid_t user = geteuid();

	if (user != 0) {
		g_test_skip("needs root, to make files of another user");
		return;
	}
	store_fixture_fill(fixture);
	g_assert_cmpint(chown(fixture->directory, 65534, 65534), ==, 0);
	g_assert_cmpint(chown(lock, 65534, 65534), ==, 0);
	g_assert_cmpint(chmod(fixture->path, 0444), ==, 0);
	g_assert_cmpint(seteuid(65534), ==, 0);
	store_fixture_refused(fixture, HASH_STORE_ERROR_FULL, fixture->path);
	g_assert_cmpint(seteuid(user), ==, 0);
}

static void test_what_is_not_committed_is_lost(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = NULL;
	g_autofree char *note = NULL;
	GError *error = NULL;

	store = store_fixture_open(fixture);
	g_assert_true(hash_store_set_note(store, "policy", "one", &error));
	g_assert_true(hash_store_commit(store, &error));
	g_assert_true(hash_store_set_note(store, "policy", "two", &error));
	g_clear_pointer(&store, hash_store_close);

	store = store_fixture_open(fixture);
	g_assert_true(hash_store_get_note(store, "policy", &note, &error));
	g_assert_cmpstr(note, ==, "one");
}

static void test_a_number_is_kept_whole_and_one_that_was_not_set_is_zero(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	GError *error = NULL;
	uint64_t number = 7;

	g_assert_true(hash_store_get_number(store, "generation", &number, &error));
	g_assert_cmpuint(number, ==, 0);
	g_assert_true(hash_store_set_number(store, "generation", UINT64_MAX, &error));
	g_assert_true(hash_store_get_number(store, "generation", &number, &error));
	g_assert_cmpuint(number, ==, UINT64_MAX);
}

static void test_reader_is_welcome_beside_a_writer(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) writer = NULL;
	g_autoptr(HashStore) reader = NULL;
	g_autofree char *note = NULL;
	GError *error = NULL;

	writer = store_fixture_open(fixture);
	g_assert_true(hash_store_set_note(writer, "policy", "one", &error));
	g_assert_true(hash_store_commit(writer, &error));
	g_assert_true(hash_store_set_note(writer, "policy", "two", &error));

	reader = hash_store_open_to_read(fixture->path, &error);
	g_assert_no_error(error);
	g_assert_true(hash_store_get_note(reader, "policy", &note, &error));
	g_assert_cmpstr(note, ==, "one");
	g_assert_false(hash_store_set_note(reader, "policy", "three", &error));
	g_clear_error(&error);
	g_assert_true(hash_store_commit(writer, &error));
}

static unsigned count_files(const char *directory)
{
	g_autoptr(GDir) dir = g_dir_open(directory, 0, NULL);
	unsigned n = 0;

	while (g_dir_read_name(dir))
		n++;

	return n;
}

static void test_reader_makes_no_file(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autofree char *wal = g_strconcat(fixture->path, "-wal", NULL);
	g_autofree char *shm = g_strconcat(fixture->path, "-shm", NULL);
	GError *error = NULL;

	store_fixture_fill(fixture);
	for (int round = 0; round < 2; round++) {
		g_autoptr(HashStore) reader = NULL;
		g_autofree char *before = store_fixture_state(fixture->path);
		g_autofree char *after = NULL;
		unsigned n_files = count_files(fixture->directory);
		uint64_t n;

		reader = hash_store_open_to_read(fixture->path, &error);
		g_assert_no_error(error);
		g_assert_true(hash_store_count_objects(reader, &n, &error));
		g_assert_cmpuint(n, ==, 1000);
		g_clear_pointer(&reader, hash_store_close);
		g_assert_cmpuint(count_files(fixture->directory), ==, n_files);
		after = store_fixture_state(fixture->path);
		g_assert_cmpstr(before, ==, after);

		/* The second time there is nothing but the one file. */
		g_unlink(wal);
		g_unlink(shm);
	}

	g_assert_null(hash_store_open_to_read("/nowhere/at.sqlite", &error));
	g_assert_error(error, HASH_STORE_ERROR, HASH_STORE_ERROR_ABSENT);
	g_clear_error(&error);
}

static void test_store_cut_short_while_made_is_made_anew(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = NULL;

	g_assert_true(g_file_set_contents(fixture->path, "", 0, NULL));
	store = store_fixture_open(fixture);
	g_clear_pointer(&store, hash_store_close);
	g_unlink(fixture->path);
	store_fixture_sql(fixture->path, "PRAGMA journal_mode = WAL");
	store = store_fixture_open(fixture);
}

static bool is_stored(uint32_t object, void *data)
{
	Object stored;
	bool found;

	g_assert_true(hash_store_peek(data, object, &stored, &found, NULL));
	return found;
}

/* Drop objects of store_fixture_fill() and settle.  Returns the number of anchors. */
static uint64_t drop_and_settle(const StoreFixture *fixture, uint64_t first, uint64_t end)
{
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	GError *error = NULL;
	uint32_t n_segments;
	uint64_t n_anchors;

	for (uint64_t inode = first; inode < end; inode++)
		g_assert_true(hash_store_drop(store, 0, inode, &error));
	g_assert_true(hash_store_settle(store, is_stored, store, &error));
	g_assert_true(hash_store_commit(store, &error));
	g_assert_true(hash_store_count_anchors(store, &n_anchors, &n_segments, &error));
	g_assert_no_error(error);

	return n_anchors;
}

static void test_entries_of_what_was_dropped_fall_out_once_it_is_half(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();

	store_fixture_fill(fixture);
	/* A few dead objects of 1,000 are not searched for, and 400 are not enough for a rewrite. */
	g_assert_cmpuint(drop_and_settle(fixture, 256, 276), ==, 10000);
	g_assert_cmpuint(drop_and_settle(fixture, 276, 656), ==, 10000);
	/* Few at a time add up, also over several openings. */
	for (uint64_t inode = 656; inode < 776; inode += 20)
		drop_and_settle(fixture, inode, inode + 20);
	g_assert_cmpuint(drop_and_settle(fixture, 776, 796), <, 5000);
}

static void test_failed_change_is_never_committed(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	g_autoptr(GError) error = NULL;
	const Object one = { .id = 1, .inode = 256 };
	const Object twice = { .id = 1, .inode = 257 };

	g_assert_true(hash_store_put(store, &one, &error));
	g_assert_false(hash_store_put(store, &twice, &error));
	g_assert_error(error, HASH_STORE_ERROR, HASH_STORE_ERROR_FAILED);
	g_clear_error(&error);
	g_assert_false(hash_store_commit(store, &error));
	g_assert_error(error, HASH_STORE_ERROR, HASH_STORE_ERROR_FAILED);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/hash-store/new-store-is-private-and-says-what-it-is-about",
			test_new_store_is_private_and_says_what_it_is_about);
	g_test_add_func("/hash-store/secret-stays-and-differs-between-stores",
			test_secret_stays_and_differs_between_stores);
	g_test_add_func("/hash-store/second-writer-is-refused-and-named-file-is-the-lock",
			test_second_writer_is_refused_and_named_file_is_the_lock);
	g_test_add_func("/hash-store/garbage-is-refused-as-corrupt",
			test_garbage_is_refused_as_corrupt);
	g_test_add_func("/hash-store/truncated-store-is-refused-as-corrupt",
			test_truncated_store_is_refused_as_corrupt);
	g_test_add_func("/hash-store/store-without-its-header-is-refused-as-corrupt",
			test_store_without_its_header_is_refused_as_corrupt);
	g_test_add_func("/hash-store/store-that-lost-what-it-is-about-is-refused-as-corrupt",
			test_store_that_lost_what_it_is_about_is_refused_as_corrupt);
	g_test_add_func("/hash-store/store-that-says-what-cannot-be-is-refused-as-corrupt",
			test_store_that_says_what_cannot_be_is_refused_as_corrupt);
	g_test_add_func("/hash-store/a-store-at-its-limits-is-opened-again",
			test_a_store_at_its_limits_is_opened_again);
	g_test_add_func("/hash-store/store-without-ids-for-anchors-is-refused-as-corrupt",
			test_store_without_ids_for_anchors_is_refused_as_corrupt);
	g_test_add_func("/hash-store/foreign-database-is-refused-and-left-alone",
			test_foreign_database_is_refused_and_left_alone);
	g_test_add_func("/hash-store/newer-store-is-refused-and-left-alone",
			test_newer_store_is_refused_and_left_alone);
	g_test_add_func("/hash-store/store-of-another-filesystem-is-refused",
			test_store_of_another_filesystem_is_refused);
	g_test_add_func("/hash-store/other-parameters-are-refused-with-both-values",
			test_other_parameters_are_refused_with_both_values);
	g_test_add_func("/hash-store/a-store-keeps-what-it-was-made-with-unless-other-is-asked-for",
			test_a_store_keeps_what_it_was_made_with_unless_other_is_asked_for);
	g_test_add_func("/hash-store/rebuild-keeps-every-old-file",
			test_rebuild_keeps_every_old_file);
	g_test_add_func("/hash-store/directory-that-cannot-be-written-is-named-with-the-cause",
			test_directory_that_cannot_be_written_is_named_with_the_cause);
	g_test_add_func("/hash-store/store-that-cannot-be-written-is-named-with-the-cause",
			test_store_that_cannot_be_written_is_named_with_the_cause);
	g_test_add_func("/hash-store/what-is-not-committed-is-lost",
			test_what_is_not_committed_is_lost);
	g_test_add_func("/hash-store/a-number-is-kept-whole-and-one-that-was-not-set-is-zero",
			test_a_number_is_kept_whole_and_one_that_was_not_set_is_zero);
	g_test_add_func("/hash-store/reader-is-welcome-beside-a-writer",
			test_reader_is_welcome_beside_a_writer);
	g_test_add_func("/hash-store/reader-makes-no-file", test_reader_makes_no_file);
	g_test_add_func("/hash-store/store-cut-short-while-made-is-made-anew",
			test_store_cut_short_while_made_is_made_anew);
	g_test_add_func("/hash-store/entries-of-what-was-dropped-fall-out-once-it-is-half",
			test_entries_of_what_was_dropped_fall_out_once_it_is_half);
	g_test_add_func("/hash-store/failed-change-is-never-committed",
			test_failed_change_is_never_committed);

	return g_test_run();
}
