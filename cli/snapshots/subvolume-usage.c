/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/snapshots/subvolume-usage.h"

#include "cli/snapshots/extent-holders.h"
#include "cli/snapshots/subvolume-trees.h"
#include "cli/terminal/progress-line.h"
#include "kernel-ioctl/btrfs/btrfs-blocks.h"
#include "kernel-ioctl/btrfs/btrfs-info.h"
#include "kernel-ioctl/btrfs/btrfs-subvolumes.h"

#include <errno.h>
#include <unistd.h>

#define WORD_BITS 64

/*
 * A measurement disturbed by a change is repeated, after pauses that double.  The total time is limited, since
 * on a busy filesystem each one is disturbed.  A measurement that found nothing at all is repeated a few times
 * in any case.
 */
#define LOOKS_USEC       (2 * G_USEC_PER_SEC)
#define FIRST_PAUSE_USEC (10 * 1000)
#define LOOKS_MIN        4

/* A commit, which writes the tops of trees last, takes a moment. */
#define COMMIT_USEC (50 * 1000)

struct SubvolumeUsage {
	GArray *subvolumes; /* BtrfsSubvolume */
	RootSets *sets;
	GArray *sums;           /* UsageBytes, by set */
	uint64_t *live;         /* bits of those that are not deleted */
	UsageBytes *referenced; /* by each place */
	UsageBytes *exclusive;  /* the same, of sets where only it is not deleted */
	bool is_approximate;
};

void subvolume_usage_free(SubvolumeUsage *usage)
{
	if (!usage)
		return;

	g_array_unref(usage->subvolumes);
	root_sets_free(usage->sets);
	g_array_unref(usage->sums);
	g_free(usage->live);
	g_free(usage->referenced);
	g_free(usage->exclusive);
	g_free(usage);
}

static void add(UsageBytes *sum, const UsageBytes *more)
{
	sum->data_bytes += more->data_bytes;
	sum->metadata_bytes += more->metadata_bytes;
}

/* Add what a set holds to each of its members. */
static void add_to_members(SubvolumeUsage *usage, RootSet set)
{
	const UsageBytes *sum = &g_array_index(usage->sums, UsageBytes, set);
	const uint64_t *bits = root_sets_bits(usage->sets, set);
	guint n_live = 0, live = 0;

	for (guint i = 0; i < root_sets_words(usage->sets); i++) {
		for (uint64_t left = bits[i]; left != 0; left &= left - 1) {
			const guint bit = (guint)__builtin_ctzll(left);

			add(&usage->referenced[i * WORD_BITS + bit], sum);
			if (usage->live[i] >> bit & 1) {
				live = i * WORD_BITS + bit;
				n_live++;
			}
		}
	}

	if (n_live == 1)
		add(&usage->exclusive[live], sum);
}

SubvolumeUsage *subvolume_usage_new(GArray *subvolumes, RootSets *sets, GArray *sums)
{
	SubvolumeUsage *usage = g_new0(SubvolumeUsage, 1);

	usage->subvolumes = subvolumes;
	usage->sets = sets;
	usage->sums = sums;
	usage->live = g_new0(uint64_t, root_sets_words(sets));
	for (guint i = 0; i < subvolumes->len; i++)
		if (!g_array_index(subvolumes, BtrfsSubvolume, i).is_dead)
			usage->live[i / WORD_BITS] |= UINT64_C(1) << i % WORD_BITS;

	usage->referenced = g_new0(UsageBytes, subvolumes->len);
	usage->exclusive = g_new0(UsageBytes, subvolumes->len);
	for (RootSet set = 1; set < sums->len; set++)
		add_to_members(usage, set);
	return usage;
}

const GArray *subvolume_usage_subvolumes(const SubvolumeUsage *usage)
{
	return usage->subvolumes;
}

bool subvolume_usage_is_approximate(const SubvolumeUsage *usage)
{
	return usage->is_approximate;
}

UsageBytes subvolume_usage_referenced(const SubvolumeUsage *usage, guint place)
{
	return usage->referenced[place];
}

/*
 * The bytes that no live subvolume outside @within holds.  Unless @within is empty, one of @within
 * holds them.
 */
static UsageBytes sum_within(const SubvolumeUsage *usage, const uint64_t *within, bool is_empty)
{
	const guint n_words = root_sets_words(usage->sets);
	UsageBytes sum = { 0 };

	for (RootSet set = 1; set < usage->sums->len; set++) {
		const uint64_t *bits = root_sets_bits(usage->sets, set);
		uint64_t others = 0, held = 0;

		for (guint i = 0; i < n_words; i++) {
			others |= bits[i] & usage->live[i] & ~within[i];
			held |= bits[i] & within[i];
		}
		if (others == 0 && (held != 0 || is_empty))
			add(&sum, &g_array_index(usage->sums, UsageBytes, set));
	}

	return sum;
}

UsageBytes subvolume_usage_exclusive(const SubvolumeUsage *usage, const guint *places, guint n)
{
	g_autofree uint64_t *within = g_new0(uint64_t, root_sets_words(usage->sets));

	if (n == 1)
		return usage->exclusive[places[0]];
	for (guint i = 0; i < n; i++)
		within[places[i] / WORD_BITS] |= UINT64_C(1) << places[i] % WORD_BITS;
	return sum_within(usage, within, false);
}

UsageBytes subvolume_usage_being_freed(const SubvolumeUsage *usage)
{
	g_autofree uint64_t *within = g_new0(uint64_t, root_sets_words(usage->sets));

	return sum_within(usage, within, true);
}

/* The source of trees. */
typedef struct {
	int fd;
	BtrfsBlocks *blocks;
	ProgressLine *progress;
	uint64_t n_read;
	bool was_asked;
} Disk;

static bool read_node(void *data, uint64_t bytenr, uint64_t generation, uint8_t level,
		      BtrfsNode *ret, GError **error)
{
	Disk *disk = data;

	disk->n_read++;
	if (progress_line_is_due(disk->progress))
		progress_line_show(disk->progress,
				   "%" G_GUINT64_FORMAT " blocks of trees were read", disk->n_read);
	return btrfs_blocks_read(disk->blocks, bytenr, generation, level, ret, error);
}

static bool read_subvolumes(void *data, GArray **ret, GError **error)
{
	Disk *disk = data;

	if (disk->was_asked)
		g_usleep(COMMIT_USEC);
	disk->was_asked = true;
	return btrfs_subvolumes_read(disk->fd, ret, error);
}

/* The data and the blocks of trees that each set holds. */
static GArray *add_up(const ExtentHolders *extents, const SubvolumeTrees *trees,
		      uint32_t block_bytes)
{
	g_autoptr(GArray) blocks = block_holders_counts(subvolume_trees_blocks(trees));
	GArray *sums = g_array_new(false, true, sizeof(UsageBytes));

	g_array_set_size(sums, MAX(blocks->len, extents->bytes->len));
	for (guint set = 0; set < extents->bytes->len; set++)
		g_array_index(sums, UsageBytes, set).data_bytes =
			g_array_index(extents->bytes, uint64_t, set);
	for (guint set = 0; set < blocks->len; set++)
		g_array_index(sums, UsageBytes, set).metadata_bytes =
			g_array_index(blocks, uint64_t, set) * block_bytes;
	return sums;
}

static SubvolumeUsage *look(int fd, GError **error)
{
	g_autoptr(SubvolumeTrees) trees = NULL;
	g_autoptr(BtrfsBlocks) blocks = NULL;
	g_autoptr(GArray) subvolumes = NULL;
	g_autoptr(RootSets) sets = NULL;
	g_auto(ProgressLine) progress = { 0 };
	ExtentHolders extents;
	BtrfsInfo before, after;
	SubvolumeUsage *usage;

	if (syncfs(fd) < 0) {
		g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(errno),
			    "cannot write out what is dirty of the btrfs: %s", g_strerror(errno));
		return NULL;
	}
	if (!btrfs_info_read(fd, &before, error) || !btrfs_subvolumes_read(fd, &subvolumes, error))
		return NULL;
	sets = root_sets_new(subvolumes->len);
	blocks = btrfs_blocks_open(fd, error);
	if (!blocks)
		return NULL;
	Disk disk = { .fd = fd, .blocks = blocks, .progress = &progress };
	const TreeSource source = { read_node, read_subvolumes, &disk };
	trees = subvolume_trees_read(subvolumes, sets, &source, error);
	if (!trees || !extent_holders_read(fd, trees, sets, &progress, &extents, error))
		return NULL;

	GArray *sums = add_up(&extents, trees, before.node_bytes);
	bool is_unsure = extents.n_unsure > 0;
	extent_holders_clear(&extents);
	g_clear_pointer(&trees, subvolume_trees_free);
	usage = subvolume_usage_new(g_steal_pointer(&subvolumes), g_steal_pointer(&sets), sums);
	usage->is_approximate = is_unsure || !btrfs_info_read(fd, &after, NULL) ||
				after.generation != before.generation;
	return usage;
}

SubvolumeUsage *subvolume_usage_measure(int fd, GError **error)
{
	const int64_t end_usec = g_get_monotonic_time() + LOOKS_USEC;
	uint64_t pause_usec = FIRST_PAUSE_USEC;
	SubvolumeUsage *usage = NULL;

	for (int n_looks = 1;; n_looks++, pause_usec *= 2) {
		g_autoptr(GError) cause = NULL;
		SubvolumeUsage *better = look(fd, &cause);
		bool is_over = g_get_monotonic_time() > end_usec;

		if (better) {
			subvolume_usage_free(usage);
			usage = better;
		} else if (!g_error_matches(cause, G_FILE_ERROR, G_FILE_ERROR_AGAIN) ||
			   (is_over && !usage && n_looks >= LOOKS_MIN)) {
			subvolume_usage_free(usage);
			g_propagate_error(error, g_steal_pointer(&cause));
			return NULL;
		}

		if (usage && (is_over || !usage->is_approximate))
			return usage;
		if (!is_over)
			g_usleep(pause_usec);
	}
}
