/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/inventory/file-places.h"

#include "tests/unit/fake-xfs.h"
#include "tests/unit/pass-fixture.h"

#define KIB UINT64_C(1024)

#define EXTENT(address, file, position)                                                            \
	{                                                                                          \
		.fmr_device = 1, .fmr_physical = (address), .fmr_length = 4 * KIB,                 \
		.fmr_owner = (file), .fmr_offset = (position)                                      \
	}

/* In the order of the disk.  One file begins behind its end, and one has no first block. */
static const struct fsmap extents[] = {
	EXTENT(4 * KIB, 140, 4 * KIB), EXTENT(16 * KIB, 150, 8 * KIB), EXTENT(20 * KIB, 130, 0),
	EXTENT(24 * KIB, 160, 0),      EXTENT(28 * KIB, 140, 0),
};

static void set_up(PassFixture *fixture)
{
	*fake_xfs() = (FakeXfs){
		.geometry.flags = XFS_ABI_GEOMETRY_RMAPBT,
		.extents = extents,
		.n_extents = G_N_ELEMENTS(extents),
		.n_most = 2,
	};
	fixture->filesystem.fd = FAKE_XFS_FD;
}

static FilePlaces *read_places(PassFixture *fixture)
{
	g_autoptr(GError) error = NULL;
	FilePlaces *places = file_places_read(&fixture->pass, &error);

	g_assert_no_error(error);
	return places;
}

static uint64_t find(FilePlaces *places, uint64_t inode)
{
	g_autoptr(GError) error = NULL;
	uint64_t physical = UINT64_MAX;

	g_assert_true(file_places_find(places, inode, &physical, &error));
	g_assert_no_error(error);
	return physical;
}

static void test_a_file_is_where_its_first_block_is(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	g_autoptr(FilePlaces) places = NULL;

	set_up(fixture);
	places = read_places(fixture);
	g_assert_nonnull(places);
	g_assert_cmpuint(find(places, 1), ==, 0);
	g_assert_cmpuint(find(places, 130), ==, 20 * KIB);
	g_assert_cmpuint(find(places, 140), ==, 28 * KIB);
	g_assert_cmpuint(find(places, 140), ==, 28 * KIB);
	g_assert_cmpuint(find(places, 150), ==, 0);
	g_assert_cmpuint(find(places, 160), ==, 24 * KIB);
	g_assert_cmpuint(find(places, 170), ==, 0);
}

static void test_without_a_whole_map_there_are_no_places(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();

	/* No reverse map. */
	set_up(fixture);
	fake_xfs()->geometry.flags = 0;
	g_assert_null(read_places(fixture));

	/* It cannot be read to its end. */
	set_up(fixture);
	fake_xfs()->gives_too_many = true;
	g_assert_null(read_places(fixture));
	file_places_free(NULL);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/file-places/a-file-is-where-its-first-block-is",
			test_a_file_is_where_its_first_block_is);
	g_test_add_func("/file-places/without-a-whole-map-there-are-no-places",
			test_without_a_whole_map_there_are_no_places);

	return g_test_run();
}
