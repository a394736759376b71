/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/fs/programs/racing-writer.h"

#include "kernel-ioctl/call/fd.h"
#include "tests/fs/programs/raced-tree.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define KIB            UINT64_C(1024)
#define BLOCK          SHADOW_BLOCK_BYTES
#define N_FILES        16
#define N_TREES_MAX    5
#define FILE_BYTES_MAX (1536 * KIB)
#define PIECE_BYTES    (768 * KIB)
#define N_HOT_FILES    3
#define HOT_STEPS      300
#define N_LAST         64

struct RacingWriter {
	/* Set at creation, never changed. */
	char *directory;
	unsigned number;
	const uint8_t *material;
	uint8_t *buffer; /* PIECE_BYTES, aligned to blocks */

	GRand *chance;
	GPtrArray *trees; /* of RacedTree; the first is no snapshot */
	unsigned n_steps;
	unsigned n_names;
	char *last[N_LAST];
};

/* Where an operation is made. */
typedef struct {
	RacedTree *tree;
	int fd;
	guint index;
	RacedFile *file;
	uint64_t size;
} Spot;

typedef bool (*Operation)(RacingWriter *writer, const Spot *spot, GError **error);

static uint64_t below(RacingWriter *writer, uint64_t end)
{
	return (uint64_t)g_rand_int_range(writer->chance, 0, (gint32)MAX(end, 1));
}

/* What MIN() would take of two draws is drawn twice. */
static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static bool one_in(RacingWriter *writer, unsigned n)
{
	return below(writer, n) == 0;
}

static void note(RacingWriter *writer, const char *format, ...) G_GNUC_PRINTF(2, 3);

static void note(RacingWriter *writer, const char *format, ...)
{
	char **last = &writer->last[writer->n_steps % N_LAST];
	g_autofree char *text = NULL;
	va_list arguments;

	va_start(arguments, format);
	text = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	g_free(*last);
	*last = g_strdup_printf("%u: %s", writer->n_steps, text);
}

static void note_range(RacingWriter *writer, const char *what, const Spot *spot, uint64_t offset,
		       uint64_t length)
{
	note(writer,
	     "%s %s/%s of %" G_GUINT64_FORMAT " at %" G_GUINT64_FORMAT "+%" G_GUINT64_FORMAT, what,
	     spot->tree->path, spot->file->name, spot->size, offset, length);
}

static char *new_name(RacingWriter *writer)
{
	return g_strdup_printf("%u", writer->n_names++);
}

static void fill_with_noise(RacingWriter *writer, uint8_t *at, uint64_t length)
{
	for (uint64_t i = 0; i < length; i++)
		at[i] = (uint8_t)g_rand_int(writer->chance);
}

/* Fill the buffer with common material from any block on, of which few blocks are changed. */
static void take_material(RacingWriter *writer, uint64_t length)
{
	uint64_t n_edits = below(writer, 4);

	memcpy(writer->buffer,
	       writer->material + below(writer, (MATERIAL_BYTES - length) / BLOCK) * BLOCK, length);
	for (uint64_t i = 0; i < n_edits; i++) {
		uint64_t at = below(writer, length);

		fill_with_noise(writer, writer->buffer + at,
				least(length - at, 1 + below(writer, BLOCK)));
	}
}

/* A range for something new to be put, which may be beyond the end. */
static uint64_t place_for(RacingWriter *writer, const Spot *spot, uint64_t length)
{
	return least(below(writer, spot->size + 1), FILE_BYTES_MAX - length);
}

static bool write_piece(RacingWriter *writer, const Spot *spot, GError **error)
{
	uint64_t length = (16 + below(writer, PIECE_BYTES / BLOCK - 16)) * BLOCK;
	uint64_t offset = place_for(writer, spot, length) / BLOCK * BLOCK;
	bool is_direct = one_in(writer, 4);

	note_range(writer, is_direct ? "direct" : "piece", spot, offset, length);
	take_material(writer, length);
	return raced_file_write(spot->file, spot->fd, offset, writer->buffer, length, is_direct,
				error);
}

static bool write_zeros(RacingWriter *writer, const Spot *spot, GError **error)
{
	uint64_t length = (1 + below(writer, 64)) * BLOCK;
	uint64_t offset = place_for(writer, spot, length) / BLOCK * BLOCK;

	note_range(writer, "zeros", spot, offset, length);
	memset(writer->buffer, 0, length);
	return raced_file_write(spot->file, spot->fd, offset, writer->buffer, length, false, error);
}

static bool write_small(RacingWriter *writer, const Spot *spot, GError **error)
{
	uint64_t length = 1 + below(writer, 10000);
	uint64_t offset = place_for(writer, spot, length);

	note_range(writer, "small", spot, offset, length);
	fill_with_noise(writer, writer->buffer, length);
	return raced_file_write(spot->file, spot->fd, offset, writer->buffer, length, false, error);
}

static bool store(RacingWriter *writer, const Spot *spot, GError **error)
{
	unsigned n_stores = 1 + (unsigned)below(writer, 24);

	note_range(writer, "store", spot, 0, n_stores);
	return raced_file_store(spot->file, spot->fd, writer->chance, n_stores, error);
}

static bool truncate_anywhere(RacingWriter *writer, const Spot *spot, GError **error)
{
	uint64_t size = below(writer, FILE_BYTES_MAX);

	/* Most files are to stay large. */
	if (!one_in(writer, 3))
		size = spot->size - below(writer, spot->size / 8 + 1);
	if (one_in(writer, 3))
		size = size / BLOCK * BLOCK;
	note_range(writer, "truncate", spot, size, 0);
	return raced_file_truncate(spot->file, spot->fd, size, error);
}

static bool punch(RacingWriter *writer, const Spot *spot, GError **error)
{
	uint64_t unit = one_in(writer, 2) ? BLOCK : 1;
	uint64_t offset = below(writer, spot->size) / unit * unit;
	uint64_t length = (1 + below(writer, 64 * KIB / unit)) * unit;

	note_range(writer, "punch", spot, offset, length);
	return raced_file_punch(spot->file, spot->fd, offset, length, error);
}

static bool reserve(RacingWriter *writer, const Spot *spot, GError **error)
{
	uint64_t length = 1 + below(writer, 128 * KIB);
	uint64_t offset = place_for(writer, spot, length);

	note_range(writer, "reserve", spot, offset, length);
	return raced_file_reserve(spot->file, spot->fd, offset, length, error);
}

static RacedTree *any_tree(RacingWriter *writer)
{
	return writer->trees->pdata[below(writer, writer->trees->len)];
}

/* From any file, which may lie in a snapshot. */
static bool clone_anywhere(RacingWriter *writer, const Spot *spot, GError **error)
{
	const RacedTree *tree = any_tree(writer);
	const RacedFile *from = raced_tree_file(tree, (guint)below(writer, tree->files->len));
	uint64_t size = shadow_size(from->shadow);
	uint64_t from_offset = below(writer, size) / BLOCK * BLOCK;
	uint64_t length = least(1 + below(writer, 512 * KIB), size - from_offset);
	uint64_t offset = place_for(writer, spot, length) / BLOCK * BLOCK;
	g_auto(Fd) fd = -1;

	/* Part of a block is cloned from the end of one file to that of the other only. */
	if (from_offset + length < size || offset + length < spot->size)
		length = length / BLOCK * BLOCK;
	note_range(writer, "clone", spot, offset, length);
	if (from == spot->file || from->is_no_cow != spot->file->is_no_cow || length == 0)
		return true;

	fd = raced_tree_open(tree, error);
	return fd >= 0 &&
	       raced_file_clone(spot->file, spot->fd, offset, from, fd, from_offset, length, error);
}

static bool rename_file(RacingWriter *writer, const Spot *spot, GError **error)
{
	guint other = (guint)below(writer, spot->tree->files->len);
	g_autofree char *name = new_name(writer);
	int replaced = other == spot->index || spot->tree->files->len < N_FILES ? -1 : (int)other;

	note(writer, "rename %s/%s %d %s", spot->tree->path, spot->file->name, replaced, name);
	return raced_tree_rename(spot->tree, spot->fd, spot->file, replaced, name, error);
}

static bool fill(RacingWriter *writer, RacedFile *file, int fd, GError **error)
{
	uint64_t length = (32 + below(writer, PIECE_BYTES / BLOCK - 32)) * BLOCK;

	for (uint64_t offset = 0; offset + length <= FILE_BYTES_MAX; offset += length) {
		take_material(writer, length);
		if (!raced_file_write(file, fd, offset, writer->buffer, length, false, error))
			return false;
		if (one_in(writer, 2))
			break;
	}

	return true;
}

static bool add_file(RacingWriter *writer, RacedTree *tree, int fd, GError **error)
{
	g_autofree char *name = new_name(writer);
	RacedFile *file = raced_file_create(fd, name, one_in(writer, 10), error);

	if (!file)
		return false;
	g_ptr_array_add(tree->files, file);
	return fill(writer, file, fd, error);
}

/* Unlink a file, and write a new one. */
static bool renew(RacingWriter *writer, const Spot *spot, GError **error)
{
	g_autofree char *name = new_name(writer);

	note(writer, "renew %s/%s as %s", spot->tree->path, spot->file->name, name);
	if (!raced_tree_renew(spot->tree, spot->fd, spot->index, name, one_in(writer, 10), error) ||
	    !fill(writer, raced_tree_file(spot->tree, spot->index), spot->fd, error))
		return false;
	return spot->tree->files->len >= N_FILES || add_file(writer, spot->tree, spot->fd, error);
}

static bool flush(RacingWriter *writer, const Spot *spot, GError **error)
{
	note_range(writer, "flush", spot, 0, 0);
	return raced_file_flush(spot->file, spot->fd, error);
}

static bool check(RacingWriter *writer, const Spot *spot, GError **error)
{
	uint64_t offset = below(writer, spot->size);
	uint64_t length = least(spot->size - offset, below(writer, 256 * KIB));

	note_range(writer, "check", spot, offset, length);
	return raced_file_check(spot->file, spot->fd, offset, length, false, error);
}

static bool check_from_disk(RacingWriter *writer, const Spot *spot, GError **error)
{
	note_range(writer, "check on disk", spot, 0, spot->size);
	return raced_file_check(spot->file, spot->fd, 0, spot->size, true, error);
}

/* Give up a snapshot, after a last look at it. */
static bool delete_snapshot(RacingWriter *writer, guint index, GError **error)
{
	const RacedTree *tree = writer->trees->pdata[index];

	note(writer, "delete %s", tree->path);
	if (!raced_tree_check(tree, error) || !raced_tree_delete(tree, error))
		return false;
	g_ptr_array_remove_index(writer->trees, index);
	return true;
}

/* Of any tree, or one less; now and then while a file is open that has no name any more. */
static bool snapshot(RacingWriter *writer, const Spot *spot, GError **error)
{
	bool is_read_only = one_in(writer, 2);
	g_autofree char *path = g_strdup_printf("%s/snapshot-%u-%u", writer->directory,
						writer->number, writer->n_names++);
	g_auto(Fd) nameless = -1;
	RacedTree *made;

	if (writer->trees->len == N_TREES_MAX)
		return delete_snapshot(writer, 1 + (guint)below(writer, N_TREES_MAX - 1), error);

	if (one_in(writer, 2) && !spot->tree->is_read_only) {
		nameless = openat(spot->fd, spot->file->name, O_RDONLY | O_CLOEXEC);
		if (!renew(writer, spot, error))
			return false;
	}

	note(writer, "snapshot %s of %s", path, spot->tree->path);
	made = raced_tree_snapshot(spot->tree, path, is_read_only, error);
	if (made)
		g_ptr_array_add(writer->trees, made);
	return made != NULL;
}

/* How often each is done, in all of a thousand times. */
static const struct {
	Operation operation;
	unsigned share;
	bool changes_file;
} operations[] = {
	{ write_piece, 90, true },
	{ write_zeros, 30, true },
	{ write_small, 270, true },
	{ store, 130, true },
	{ truncate_anywhere, 70, true },
	{ punch, 70, true },
	{ reserve, 20, true },
	{ clone_anywhere, 90, true },
	{ rename_file, 60, true },
	{ renew, 20, true },
	{ flush, 10, true },
	{ check, 126, false },
	{ check_from_disk, 8, false },
	{ snapshot, 6, false },
};

static guint choose_operation(RacingWriter *writer)
{
	uint64_t number = below(writer, 1000);
	guint i = 0;

	for (; i + 1 < G_N_ELEMENTS(operations) && number >= operations[i].share; i++)
		number -= operations[i].share;
	return i;
}

static void choose_spot(RacingWriter *writer, bool to_change, Spot *ret)
{
	guint n;

	ret->tree = one_in(writer, 3) ? any_tree(writer) : writer->trees->pdata[0];
	if (to_change && ret->tree->is_read_only)
		ret->tree = writer->trees->pdata[0];

	n = ret->tree->files->len;
	ret->index = (guint)below(writer, n);
	if (to_change && !one_in(writer, 40))
		ret->index = (guint)(writer->n_steps / HOT_STEPS + below(writer, N_HOT_FILES)) % n;
	ret->file = raced_tree_file(ret->tree, ret->index);
	ret->size = shadow_size(ret->file->shadow);
}

bool racing_writer_step(RacingWriter *writer, GError **error)
{
	guint chosen = choose_operation(writer);
	bool is_done;
	Spot spot;

	choose_spot(writer, operations[chosen].changes_file, &spot);
	spot.fd = raced_tree_open(spot.tree, error);
	if (spot.fd < 0)
		return false;

	is_done = operations[chosen].operation(writer, &spot, error);
	fd_close(&spot.fd);
	writer->n_steps++;
	return is_done;
}

bool racing_writer_check(const RacingWriter *writer, GError **error)
{
	for (guint i = 0; i < writer->trees->len; i++)
		if (!raced_tree_check(writer->trees->pdata[i], error))
			return false;
	return true;
}

void racing_writer_print_last(const RacingWriter *writer)
{
	for (unsigned i = 0; i < N_LAST; i++) {
		const char *last = writer->last[(writer->n_steps + i) % N_LAST];

		if (last)
			g_printerr("writer %u: %s\n", writer->number, last);
	}
}

uint8_t *racing_writer_make_material(void)
{
	g_autoptr(GRand) chance = g_rand_new_with_seed(0);
	uint32_t *material = g_malloc(MATERIAL_BYTES);

	for (uint64_t i = 0; i < MATERIAL_BYTES / sizeof(*material); i++)
		material[i] = g_rand_int(chance);
	return (uint8_t *)material;
}

static void free_tree(void *tree)
{
	raced_tree_free(tree);
}

static bool make_first_tree(RacingWriter *writer, GError **error)
{
	g_autofree char *path = g_strdup_printf("%s/live-%u", writer->directory, writer->number);
	RacedTree *tree = raced_tree_create(path, error);
	g_auto(Fd) fd = -1;

	if (!tree)
		return false;
	g_ptr_array_add(writer->trees, tree);
	fd = raced_tree_open(tree, error);
	if (fd < 0)
		return false;

	while (tree->files->len < N_FILES)
		if (!add_file(writer, tree, fd, error))
			return false;
	return true;
}

RacingWriter *racing_writer_new(const char *directory, unsigned number, uint32_t seed,
				const uint8_t *material, GError **error)
{
	g_autoptr(RacingWriter) writer = g_new0(RacingWriter, 1);
	const guint32 seeds[] = { seed, number };

	writer->directory = g_strdup(directory);
	writer->number = number;
	writer->material = material;
	writer->buffer = aligned_alloc(BLOCK, PIECE_BYTES);
	writer->chance = g_rand_new_with_seed_array(seeds, G_N_ELEMENTS(seeds));
	writer->trees = g_ptr_array_new_with_free_func(free_tree);
	return make_first_tree(writer, error) ? g_steal_pointer(&writer) : NULL;
}

void racing_writer_free(RacingWriter *writer)
{
	if (!writer)
		return;

	for (unsigned i = 0; i < N_LAST; i++)
		g_free(writer->last[i]);
	g_ptr_array_unref(writer->trees);
	g_rand_free(writer->chance);
	free(writer->buffer);
	g_free(writer->directory);
	g_free(writer);
}
