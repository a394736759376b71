/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/mounts/mount-table.h"

#include <errno.h>

#include <glib/gstdio.h>
#include <string.h>

/* Two mounts of one btrfs, three XFS of which two are clones, one hidden mount, and what is neither. */
static const char *mountinfo = "22 1 0:21 / /proc rw - proc proc rw\n"
			       "30 1 0:39 /@home /home rw,relatime shared:1 - btrfs /dev/sda2 "
			       "rw,subvolid=256,subvol=/@home\n"
			       "31 1 0:39 / /mnt/top rw - btrfs /dev/sda2 rw,subvolid=5,subvol=/\n"
			       "32 1 8:17 / /srv rw - xfs /dev/sdb1 rw,attr2\n"
			       "33 1 8:33 / /srv\\040clone rw - xfs /dev/sdc1 rw,nouuid\n"
			       "34 1 8:49 / /ro ro - xfs /dev/sdd1 ro\n"
			       "35 1 8:65 / /old rw - xfs /dev/sde1 rw\n"
			       "36 1 8:81 / /under rw - xfs /dev/sdf1 rw\n"
			       "37 36 0:50 / /under rw - tmpfs tmpfs rw\n"
			       "38 1 8:17 /data /exported ro - xfs /dev/sdb1 rw,attr2\n";

static unsigned n_identified;

static int failure_of_36;

static bool is_reachable(const MountPoint *mount_point, int *ret_failure)
{
	if (mount_point->id == 36)
		*ret_failure = failure_of_36;
	return mount_point->id != 36;
}

static bool identify(const MountedFilesystem *filesystem, const MountPoint *mount_point,
		     FsIdentity *ret, GError **error)
{
	bool is_btrfs = mount_point->id <= 31;
	uint8_t byte = is_btrfs ? 1 : mount_point->id;

	if (mount_point->id == 33 || mount_point->id == 38)
		byte = 32;

	n_identified++;
	*ret = (FsIdentity){ is_btrfs ? FS_KIND_BTRFS : FS_KIND_XFS,
			     { byte },
			     4096,
			     byte != 35,
			     { byte },
			     { byte } };
	return true;
}

static const MountLook look = { is_reachable, identify };

static MountTable *read_after(const MountTable *earlier)
{
	g_autofree char *path = g_build_filename(g_get_tmp_dir(), "mountinfo-XXXXXX", NULL);
	g_autoptr(GError) error = NULL;
	int fd = g_mkstemp(path);
	MountTable *table;

	g_assert_cmpint(fd, >=, 0);
	g_assert_true(g_close(fd, NULL));
	g_assert_true(g_file_set_contents(path, mountinfo, -1, NULL));
	table = mount_table_read(path, &look, earlier, &error);
	g_assert_no_error(error);
	g_unlink(path);
	return table;
}

static MountTable *read_table(void)
{
	return read_after(NULL);
}

static void test_each_superblock_is_one_filesystem(void)
{
	g_autoptr(MountTable) table = read_table();
	const GPtrArray *all = mount_table_filesystems(table);
	const MountedFilesystem *home = mount_table_find_target(table, "/home");

	g_assert_cmpuint(all->len, ==, 6);
	g_assert_true(home == all->pdata[0]);
	g_assert_true(home == mount_table_find_target(table, "/mnt/top"));
	g_assert_cmpuint(home->mount_points->len, ==, 2);
	g_assert_cmpstr(home->type, ==, "btrfs");
	g_assert_cmpstr(home->source, ==, "/dev/sda2");
	g_assert_null(home->refusal);
	g_assert_null(mount_table_find_target(table, "/proc"));
}

static void assert_ways(const MountedFilesystem *filesystem, const char *expected)
{
	g_auto(GStrv) ways = mounted_filesystem_ways(filesystem);
	g_autofree char *joined = g_strjoinv(" ", ways);

	g_assert_cmpstr(joined, ==, expected);
}

static void test_the_ways_show_all_and_are_writable_if_any_is(void)
{
	g_autoptr(MountTable) table = read_table();

	assert_ways(mount_table_find_target(table, "/home"), "/mnt/top");
	assert_ways(mount_table_find_target(table, "/srv"), "/srv");
	assert_ways(mount_table_find_target(table, "/ro"), "/ro");
	assert_ways(mount_table_filesystems(table)->pdata[5], "");
}

static void test_the_configuration_may_know_it_by_each_name(void)
{
	g_autoptr(MountTable) table = read_table();
	const MountedFilesystem *srv = mount_table_find_target(table, "/srv");
	g_auto(GStrv) names = mounted_filesystem_names(srv, NULL);

	/* Behind them come names of devices that this machine may have. */
	g_assert_cmpuint(g_strv_length(names), >=, 3);
	g_assert_cmpstr(names[0], ==, srv->uuid);
	g_assert_cmpstr(names[2], ==, "/exported");
}

static void test_a_second_superblock_with_a_uuid_is_refused(void)
{
	g_autoptr(MountTable) table = read_table();
	const MountedFilesystem *srv = mount_table_find_target(table, "/srv");
	const MountedFilesystem *clone = mount_table_find_target(table, "/srv clone");

	g_assert_null(srv->refusal);
	g_assert_cmpstr(srv->uuid, ==, clone->uuid);
	g_assert_true(mount_table_find_uuid(table, srv->uuid) == srv);
	g_assert_nonnull(strstr(clone->refusal, "/srv clone has the UUID of /srv"));
	g_assert_nonnull(strstr(clone->refusal, "xfs_admin"));
	g_assert_true(mount_table_has(table, clone));
}

static void test_what_can_not_share_says_why(void)
{
	static const struct {
		const char *target;
		const char *why;
	} rows[] = {
		{ "/ro", "mounted read-only" },
		{ "/old", "without reflink" },
	};
	g_autoptr(MountTable) table = read_table();

	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		const MountedFilesystem *found = mount_table_find_target(table, rows[i].target);

		g_assert_nonnull(strstr(found->refusal, rows[i].why));
	}
}

static void test_what_is_hidden_is_known_and_can_not_be_reached(void)
{
	g_autoptr(MountTable) table = read_table();
	const GPtrArray *all = mount_table_filesystems(table);
	const MountedFilesystem *under = all->pdata[5];

	g_assert_null(mount_table_find_target(table, "/under"));
	g_assert_cmpstr(under->refusal, ==, "another mount hides /under");
	g_assert_cmpstr(under->uuid, ==, "");
}

static void test_what_cannot_be_looked_at_is_not_called_hidden(void)
{
	static const struct {
		int failure;
		const char *why;
	} rows[] = {
		{ EIO, "/under was shut down" },
		{ EACCES, "cannot look at /under: Permission denied" },
		{ 0, "another mount hides /under" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_autoptr(MountTable) table = NULL;
		const MountedFilesystem *under;

		failure_of_36 = rows[i].failure;
		table = read_table();
		under = mount_table_filesystems(table)->pdata[5];
		g_assert_true(g_str_has_prefix(under->refusal, rows[i].why));
	}
}

static void test_what_stays_mounted_is_not_opened_again(void)
{
	g_autoptr(MountTable) earlier = read_table();
	g_autoptr(MountTable) table = NULL;

	n_identified = 0;
	table = read_after(earlier);
	g_assert_cmpuint(n_identified, ==, 0);
	g_assert_cmpstr(mount_table_find_target(table, "/home")->uuid, ==,
			mount_table_find_target(earlier, "/home")->uuid);
	g_assert_nonnull(mount_table_find_target(table, "/old")->refusal);
}

static void test_a_table_that_can_not_be_read_is_an_error(void)
{
	g_autoptr(GError) error = NULL;

	g_assert_null(mount_table_read("/nonexistent/mountinfo", &look, NULL, &error));
	g_assert_nonnull(strstr(error->message, "/nonexistent/mountinfo"));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/mount-table/superblocks", test_each_superblock_is_one_filesystem);
	g_test_add_func("/mount-table/ways", test_the_ways_show_all_and_are_writable_if_any_is);
	g_test_add_func("/mount-table/names", test_the_configuration_may_know_it_by_each_name);
	g_test_add_func("/mount-table/clone", test_a_second_superblock_with_a_uuid_is_refused);
	g_test_add_func("/mount-table/refusals", test_what_can_not_share_says_why);
	g_test_add_func("/mount-table/failing", test_what_cannot_be_looked_at_is_not_called_hidden);
	g_test_add_func("/mount-table/hidden", test_what_is_hidden_is_known_and_can_not_be_reached);
	g_test_add_func("/mount-table/again", test_what_stays_mounted_is_not_opened_again);
	g_test_add_func("/mount-table/unreadable", test_a_table_that_can_not_be_read_is_an_error);
	return g_test_run();
}
