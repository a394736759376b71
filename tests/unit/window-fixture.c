/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/window-fixture.h"

#include "daemon/share/clone-pairs.h"
#include "kernel-ioctl/xfs/xfs-abi.h"

#include <ctype.h>
#include <errno.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define BLOCKS_MOST 1024
#define POISON      0x77

/* The places of each file, by its descriptor: the ioctl() of this program answers from them. */
static const char *places_of[1024];

/* See window_fixture_pose_as_xfs(). */
static uint32_t group_blocks, project;

static struct fiemap_extent extent_of(uint64_t block, char place)
{
	struct fiemap_extent extent = { .fe_logical = block * FIXTURE_BLOCK,
					.fe_length = FIXTURE_BLOCK };

	if (strchr("~!^", place))
		extent.fe_flags = place == '~'   ? FIEMAP_EXTENT_UNWRITTEN
				  : place == '!' ? FIEMAP_EXTENT_DELALLOC
						 : FIEMAP_EXTENT_DATA_INLINE;
	else if (isupper(place))
		extent.fe_flags = FIEMAP_EXTENT_SHARED;
	extent.fe_physical = (uint64_t)tolower(place) * FIXTURE_BLOCK;
	return extent;
}

static void list_extents(const char *places, struct fiemap *map)
{
	for (uint64_t i = 0; places[i] && map->fm_mapped_extents < map->fm_extent_count; i++)
		if (places[i] != '.' && (i + 1) * FIXTURE_BLOCK > map->fm_start &&
		    i * FIXTURE_BLOCK < map->fm_start + map->fm_length)
			map->fm_extents[map->fm_mapped_extents++] = extent_of(i, places[i]);
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list arguments;
	void *ret;

	va_start(arguments, request);
	ret = va_arg(arguments, void *);
	va_end(arguments);

	if (request == FS_IOC_FIEMAP && places_of[fd]) {
		list_extents(places_of[fd], ret);
		return 0;
	}
	if (request == XFS_ABI_FSGEOMETRY && group_blocks > 0) {
		*(XfsAbiGeometry *)ret = (XfsAbiGeometry){ .block_bytes = FIXTURE_BLOCK,
							   .group_blocks = group_blocks };
		return 0;
	}
	if (request == FS_IOC_FSGETXATTR && group_blocks > 0) {
		*(struct fsxattr *)ret = (struct fsxattr){ .fsx_projid = project };
		return 0;
	}

	errno = ENOTTY;
	return -1;
}

void window_fixture_pose_as_xfs(uint32_t blocks, uint32_t number)
{
	group_blocks = blocks;
	project = number;
}

static int64_t now_usec(void *data)
{
	return 0;
}

static void sleep_usec(int64_t usec, void *data)
{
}

void window_fixture_set_up(WindowFixture *fixture, const void *data)
{
	const ThrottleClock clock = { now_usec, sleep_usec, NULL };

	group_blocks = project = 0;
	fixture->scratch = scratch_new();
	fixture->throttle = throttle_new(0, &clock);
	fixture->window = dedupe_window_new(FIXTURE_BLOCK);
	fixture->pass = (Pass){ .settings = &fixture->settings,
				.result = &fixture->result,
				.progress = &fixture->progress,
				.block_bytes = FIXTURE_BLOCK,
				.account = { .factor = 16 } };
}

void window_fixture_tear_down(WindowFixture *fixture, const void *data)
{
	g_clear_pointer(&fixture->pass.xfs.clones, clone_pairs_free);
	open_object_free(fixture->target);
	open_object_free(fixture->source);
	dedupe_window_free(fixture->window);
	throttle_free(fixture->throttle);
	scratch_free(fixture->scratch);
}

static OpenObject *draw(WindowFixture *fixture, uint32_t id, const Picture *picture)
{
	g_autofree char *name = g_strdup_printf("file-%u", id);
	OpenObject *object = g_new0(OpenObject, 1);
	int fd = scratch_create(fixture->scratch, name, 0, 0);
	size_t n = strlen(picture->content);

	object->id = id;
	object->blocks = n;
	object->size_bytes = n * FIXTURE_BLOCK - picture->cut_bytes;
	for (size_t i = 0; i < n; i++) {
		char content = picture->content[i];
		char block[FIXTURE_BLOCK];
		size_t length = FIXTURE_BLOCK - (i + 1 < n ? 0 : picture->cut_bytes);

		memset(block, content == '0' ? 0 : content, FIXTURE_BLOCK);
		g_assert_cmpint(pwrite(fd, block, length, (off_t)(i * FIXTURE_BLOCK)), ==,
				(int)length);
	}
	places_of[fd] = picture->places;
	object->reader =
		file_reader_new_take(fd, object->size_bytes, fixture->throttle, &fixture->stop);
	return object;
}

void window_fixture_draw(WindowFixture *fixture, const Picture *target, const Picture *source)
{
	g_clear_pointer(&fixture->target, open_object_free);
	g_clear_pointer(&fixture->source, open_object_free);
	fixture->target = draw(fixture, 1, target);
	if (source)
		fixture->source = draw(fixture, 2, source);
}

void window_fixture_map(WindowFixture *fixture, uint64_t diagonal, uint64_t first, size_t n)
{
	g_autoptr(GError) error = NULL;

	/* What is behind the window's blocks stays as it is. */
	memset(fixture->window->states + n, POISON, fixture->window->n_max - n);
	for (size_t i = n; i < fixture->window->n_max; i++) {
		fixture->window->target_places[i] = fixture->window->source_places[i] = POISON;
		fixture->window->target_shared[i] = fixture->window->source_shared[i] = true;
	}
	g_assert_true(dedupe_window_map(fixture->window, fixture->target, fixture->source, diagonal,
					first, n, &error));
	g_assert_no_error(error);
	g_assert_cmpuint(fixture->window->states[n], ==, POISON);
	g_assert_cmpuint(fixture->window->target_places[n], ==, POISON);
	g_assert_cmpuint(fixture->window->source_places[n], ==, POISON);
	g_assert_true(fixture->window->target_shared[n]);
	g_assert_true(fixture->window->source_shared[n]);
}

void window_fixture_assert_states(const WindowFixture *fixture, const char *expected)
{
	static const char letters[] = {
		[BLOCK_UNUSABLE] = '-', [BLOCK_SAME_PLACE] = 's', [BLOCK_CANDIDATE] = 'c',
		[BLOCK_EQUAL] = '=',    [BLOCK_ZERO] = '0',       [BLOCK_DIFFERENT] = 'x',
		[BLOCK_DEFERRED] = 'r',
	};
	char found[BLOCKS_MOST + 1] = "";

	for (size_t i = 0; i < fixture->window->n; i++)
		found[i] = letters[fixture->window->states[i]];
	g_assert_cmpstr(found, ==, expected);
}

void window_fixture_move(const OpenObject *object, const char *places)
{
	places_of[file_reader_fd(object->reader)] = places;
}
