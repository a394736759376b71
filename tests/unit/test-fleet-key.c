/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/content/fleet-key.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A directory, and the path of a key in it. */
typedef struct {
	char *directory;
	char *path;
} Fixture;

static void set_up(Fixture *fixture, gconstpointer unused)
{
	GError *error = NULL;

	fixture->directory = g_dir_make_tmp("dedupd-key-XXXXXX", &error);
	g_assert_no_error(error);
	fixture->path = g_build_filename(fixture->directory, "fleet.key", NULL);
}

static void tear_down(Fixture *fixture, gconstpointer unused)
{
	g_remove(fixture->path);
	g_assert_cmpint(g_rmdir(fixture->directory), ==, 0);
	g_free(fixture->directory);
	g_free(fixture->path);
}

static void make(const Fixture *fixture, bool replace, FleetKey *ret)
{
	GError *error = NULL;

	g_assert_true(fleet_key_make(fixture->path, replace, ret, &error));
	g_assert_no_error(error);
}

static void assert_refused(const Fixture *fixture, const char *why)
{
	g_autoptr(GError) error = NULL;
	FleetKey key;

	g_assert_false(fleet_key_read(fixture->path, &key, &error));
	g_assert_nonnull(strstr(error->message, fixture->path));
	g_assert_nonnull(strstr(error->message, why));
}

static void test_a_key_is_read_as_it_was_made(Fixture *fixture, gconstpointer unused)
{
	GError *error = NULL;
	FleetKey made, read;
	struct stat st;

	make(fixture, false, &made);
	g_assert_cmpint(stat(fixture->path, &st), ==, 0);
	g_assert_cmpint(st.st_mode & 07777, ==, 0600);

	g_assert_true(fleet_key_read(fixture->path, &read, &error));
	g_assert_no_error(error);
	g_assert_cmpmem(made.secret, sizeof(made.secret), read.secret, sizeof(read.secret));
	g_assert_cmpstr(made.id, ==, read.id);
	g_assert_cmpuint(strlen(made.id), ==, HASH_STORE_KEY_TEXT_BYTES - 1);
}

static void test_a_key_is_replaced_only_on_demand(Fixture *fixture, gconstpointer unused)
{
	g_autoptr(GError) error = NULL;
	FleetKey one, other, read;

	make(fixture, false, &one);
	g_assert_false(fleet_key_make(fixture->path, false, &other, &error));
	g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_EXIST);
	g_assert_true(fleet_key_read(fixture->path, &read, NULL));
	g_assert_cmpstr(read.id, ==, one.id);

	make(fixture, true, &other);
	g_assert_cmpstr(other.id, !=, one.id);
	g_assert_true(fleet_key_read(fixture->path, &read, NULL));
	g_assert_cmpstr(read.id, ==, other.id);
}

static void test_a_bad_file_is_refused_by_name(Fixture *fixture, gconstpointer unused)
{
	FleetKey key;

	assert_refused(fixture, "dedupctl fleet-key");
	make(fixture, false, &key);
	g_assert_cmpint(chmod(fixture->path, 0640), ==, 0);
	assert_refused(fixture, "chmod 600");
	g_assert_cmpint(chmod(fixture->path, 0600), ==, 0);
	g_assert_cmpint(truncate(fixture->path, 384), ==, 0);
	assert_refused(fixture, "384 hexadecimal digits");
	/* A NUL in the place of the newline. */
	g_assert_cmpint(truncate(fixture->path, 385), ==, 0);
	assert_refused(fixture, "384 hexadecimal digits");
	g_assert_cmpint(unlink(fixture->path), ==, 0);
	g_assert_cmpint(mkfifo(fixture->path, 0600), ==, 0);
	assert_refused(fixture, "not a regular file");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add("/fleet-key/a-key-is-read-as-it-was-made", Fixture, NULL, set_up,
		   test_a_key_is_read_as_it_was_made, tear_down);
	g_test_add("/fleet-key/a-key-is-replaced-only-on-demand", Fixture, NULL, set_up,
		   test_a_key_is_replaced_only_on_demand, tear_down);
	g_test_add("/fleet-key/a-bad-file-is-refused-by-name", Fixture, NULL, set_up,
		   test_a_bad_file_is_refused_by_name, tear_down);
	return g_test_run();
}
