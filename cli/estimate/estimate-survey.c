/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/estimate/estimate-survey.h"

#include "cli/files/file-pieces.h"
#include "common/content/block-sums.h"
#include "common/disks/file-reader.h"
#include "hashstore/anchors/sorter.h"
#include "hashstore/hash-store.h"
#include "kernel-ioctl/btrfs/btrfs-info.h"

#include <fcntl.h>
#include <string.h>
#include <xxhash.h>

/* The size of one read.  It is also the size of a sample's clusters, which begin at multiples of it. */
#define PIECE_BYTES FILE_READER_PIECE_BYTES

/* For a block in which a file ends, the length counts, too. */
#define TAIL_SEED UINT64_C(0x7461696c)

/* A file that references a compressed extent.  Each piece of it reports its extent again. */
typedef struct {
	uint64_t address;
	uint64_t bytes; /* on the disk */
	uint64_t file;  /* its number */
} CompressedPlace;

struct EstimateSurvey {
	/* Set at creation, never changed. */
	const EstimateTask *task;
	EstimateBlocks *blocks;
	Estimate *result;
	uint64_t block_bytes;
	ExtentSums *extents;  /* NULL: files are read */
	uint64_t sum_bytes;   /* of one checksum */
	HashStoreAbout about; /* of sums for this estimate alone */
	BlockSums *sums;
	AddressSet *met;
	Sorter *compressed; /* CompressedPlace */

	uint64_t n_files;
	uint64_t zeros_bytes;
	double squares;   /* see SampleFrame */
	uint64_t cluster; /* of the current file */
	uint64_t cluster_bytes;
	/* The current file. */
	const NamedFile *file;
	FileReader *reader;
	uint64_t next;  /* byte in the file up to which blocks were reported */
	bool is_unread; /* it can no longer be read */
	uint64_t piece_sums[PIECE_BYTES / 512];
	uint8_t buffer[PIECE_BYTES];
};

static bool open_sums(EstimateSurvey *survey, GError **error)
{
	const EstimateTask *task = survey->task;
	BtrfsInfo info;

	survey->about.block_bytes = task->identity.block_bytes;
	for (size_t i = 0; i < sizeof(survey->about.secret); i += sizeof(uint32_t)) {
		uint32_t part = g_random_int();

		memcpy(survey->about.secret + i, &part, sizeof(part));
	}
	if (estimate_is_by_checksums(task)) {
		if (!btrfs_info_read(task->fd, &info, error))
			return false;
		survey->extents = extent_sums_new(task->fd, &info, survey->about.secret);
		survey->sum_bytes = info.sum_bytes;
	}
	survey->sums = block_sums_new(&survey->about, NULL);
	return true;
}

static int compare_places(const void *a, const void *b)
{
	const CompressedPlace *one = a, *other = b;

	if (one->address != other->address)
		return one->address < other->address ? -1 : 1;
	return (one->file > other->file) - (one->file < other->file);
}

EstimateSurvey *estimate_survey_new(const EstimateTask *task, EstimateBlocks *blocks,
				    AddressSet *met, Estimate *result, GError **error)
{
	g_autoptr(EstimateSurvey) survey = g_new0(EstimateSurvey, 1);

	survey->task = task;
	survey->blocks = blocks;
	survey->result = result;
	survey->block_bytes = task->identity.block_bytes;
	survey->compressed =
		sorter_new(sizeof(CompressedPlace), compare_places,
			   task->settings->memory_bytes / 16, task->directory, task->stop);
	survey->met = met;
	return open_sums(survey, error) ? g_steal_pointer(&survey) : NULL;
}

void estimate_survey_free(EstimateSurvey *survey)
{
	if (!survey)
		return;

	g_clear_pointer(&survey->reader, file_reader_free);
	g_clear_pointer(&survey->sums, block_sums_free);
	g_clear_pointer(&survey->extents, extent_sums_free);
	g_clear_pointer(&survey->compressed, sorter_free);
	g_free(survey);
}

/* Whether the cluster that begins at @offset of the file is in the sample. */
static bool is_in_sample(const EstimateSurvey *survey, uint64_t offset)
{
	const uint64_t key[] = { survey->file->subvolume, survey->file->stat.inode,
				 offset / PIECE_BYTES };
	double hash = (double)(XXH3_64bits_withSeed(key, sizeof(key), survey->task->seed) >> 11);

	return survey->task->fraction >= 1 ||
	       hash / (double)(UINT64_C(1) << 53) < survey->task->fraction;
}

/* Report blocks of which nothing is known. */
static bool skip(EstimateSurvey *survey, EstimateBlockKind kind, uint64_t length, GError **error)
{
	survey->next += length;
	return estimate_blocks_skip(survey->blocks, kind, length / survey->block_bytes, error);
}

static bool add_zeros(EstimateSurvey *survey, GError **error)
{
	survey->zeros_bytes += survey->block_bytes;
	return estimate_blocks_add(survey->blocks, ESTIMATE_BLOCK_ZEROS, 0, error);
}

/* Report blocks whose sums are known. */
static bool tell(EstimateSurvey *survey, size_t n_blocks, uint64_t zeros, GError **error)
{
	for (size_t i = 0; i < n_blocks; i++) {
		uint64_t sum = survey->piece_sums[i];
		bool told;

		if (sum == EXTENT_SUM_NONE) {
			if (!skip(survey, ESTIMATE_BLOCK_UNKNOWN, survey->block_bytes, error))
				return false;
			continue;
		}
		told = sum == zeros ? add_zeros(survey, error)
				    : estimate_blocks_add(survey->blocks, ESTIMATE_BLOCK_DATA, sum,
							  error);
		if (!told)
			return false;
		survey->next += survey->block_bytes;
	}

	return true;
}

/* Compute the sums of the @length bytes read. */
static void sum_data(EstimateSurvey *survey, uint64_t length)
{
	uint64_t block = survey->block_bytes;
	uint64_t n = (length + block - 1) / block;
	uint64_t tail = length % block;

	memset(survey->buffer + length, 0, n * block - length);
	for (uint64_t i = 0; i < n; i++)
		survey->piece_sums[i] =
			block_sums_of_data(survey->sums, survey->buffer + i * block, false);
	/* Part of a block can be shared only with the end of a file with the same length there. */
	if (tail > 0 && survey->piece_sums[n - 1] != block_sums_of_zeros(survey->sums, false))
		survey->piece_sums[n - 1] = XXH3_64bits_withSeed(
			&survey->piece_sums[n - 1], sizeof(uint64_t), TAIL_SEED + tail);
}

static void open_reader(EstimateSurvey *survey)
{
	if (survey->reader)
		return;

	survey->reader = file_reader_new_take(fcntl(survey->file->fd, F_DUPFD_CLOEXEC, 0),
					      survey->file->stat.size_bytes, survey->task->throttle,
					      survey->task->stop);
	file_reader_expect_all(survey->reader, survey->task->fraction >= 1);
}

static bool read_data(EstimateSurvey *survey, uint64_t offset, uint64_t length, GError **error)
{
	uint64_t here = MIN(length, survey->file->stat.size_bytes - offset);
	size_t n_blocks = (size_t)(length / survey->block_bytes);
	ReadOutcome outcome;

	open_reader(survey);
	outcome = file_reader_read(survey->reader, offset, here, survey->buffer);
	if (outcome != READ_DONE) {
		survey->is_unread = true;
		return skip(survey, ESTIMATE_BLOCK_UNKNOWN, length, error);
	}

	survey->result->read_bytes += here;
	sum_data(survey, here);
	return tell(survey, n_blocks, block_sums_of_zeros(survey->sums, false), error);
}

static bool read_checksums(EstimateSurvey *survey, uint64_t address, uint64_t length,
			   GError **error)
{
	size_t n_blocks = (size_t)(length / survey->block_bytes);

	survey->result->read_bytes += n_blocks * survey->sum_bytes;
	throttle_settle(survey->task->throttle, survey->task->stop);
	return extent_sums_read(survey->extents, address, n_blocks, survey->piece_sums, error);
}

/* Survey a range within one cluster that was not reported yet. */
static bool look_at_new(EstimateSurvey *survey, uint64_t offset, uint64_t length, uint64_t address,
			GError **error)
{
	if (survey->is_unread || !is_in_sample(survey, offset))
		return skip(survey, ESTIMATE_BLOCK_UNKNOWN, length, error);
	if (!survey->extents)
		return read_data(survey, offset, length, error);
	return read_checksums(survey, address, length, error) &&
	       tell(survey, (size_t)(length / survey->block_bytes),
		    extent_sums_of_zeros(survey->extents), error);
}

static bool note_met(EstimateSurvey *survey, uint64_t address, uint64_t length, GError **error)
{
	for (uint64_t i = 0; i < length; i += survey->block_bytes)
		if (!address_set_add(survey->met, address + i, error))
			return false;

	survey->result->data_bytes += length;
	survey->cluster_bytes += length;
	return true;
}

static void end_cluster(EstimateSurvey *survey)
{
	survey->squares += (double)survey->cluster_bytes * (double)survey->cluster_bytes;
	survey->cluster_bytes = 0;
}

static void begin_cluster(EstimateSurvey *survey, uint64_t cluster)
{
	if (cluster != survey->cluster)
		end_cluster(survey);
	survey->cluster = cluster;
}

/* The number of bytes from @address on, at most @most, that were all met before, or all not. */
static uint64_t count_alike(const EstimateSurvey *survey, uint64_t address, uint64_t most)
{
	bool is_met = address_set_has(survey->met, address);
	uint64_t length = survey->block_bytes;

	while (length < most && address_set_has(survey->met, address + length) == is_met)
		length += survey->block_bytes;
	return length;
}

/* Survey an uncompressed piece. */
static bool look_at_plain(EstimateSurvey *survey, const FilePiece *piece, GError **error)
{
	uint64_t end = piece->logical + piece->length;
	uint64_t length;

	for (uint64_t at = piece->logical; at < end; at += length) {
		uint64_t address = piece->position + (at - piece->logical);
		uint64_t cluster_end = (at / PIECE_BYTES + 1) * PIECE_BYTES;
		bool is_met = address_set_has(survey->met, address);

		if (atomic_load(survey->task->stop))
			return true;
		begin_cluster(survey, at / PIECE_BYTES);
		length = count_alike(survey, address, MIN(end, cluster_end) - at);
		if (is_met) {
			survey->result->shared_bytes += length;
			if (!skip(survey, ESTIMATE_BLOCK_UNKNOWN, length, error))
				return false;
			continue;
		}
		if (!note_met(survey, address, length, error) ||
		    !look_at_new(survey, at, length, address, error))
			return false;
	}

	return true;
}

static bool are_known(const uint64_t *sums, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (sums[i] == EXTENT_SUM_NONE)
			return false;
	return true;
}

/*
 * Report all of a compressed extent, which is matched as a whole, by its data on the disk.  So an extent with a
 * missing checksum equals nothing. btrfs makes no compressed extents of more than 128 KiB.
 */
static bool tell_compressed(EstimateSurvey *survey, const FilePiece *piece, GError **error)
{
	size_t n_blocks = (size_t)(piece->extent_bytes / survey->block_bytes);
	const uint64_t *sums = survey->piece_sums;

	if (piece->extent_bytes > PIECE_BYTES)
		return true;
	if (!read_checksums(survey, piece->extent, piece->extent_bytes, error))
		return false;
	if (!are_known(sums, n_blocks))
		return true;

	return estimate_blocks_add_compressed(
		survey->blocks, XXH3_64bits(sums, n_blocks * sizeof(sums[0])), n_blocks, error);
}

static bool look_at_compressed(EstimateSurvey *survey, const FilePiece *piece, GError **error)
{
	const CompressedPlace place = { piece->extent, piece->extent_bytes, survey->n_files };

	/* Without the trees, its address is not known. */
	if (!survey->extents)
		return skip(survey, ESTIMATE_BLOCK_UNKNOWN, piece->length, error);
	if (!sorter_add(survey->compressed, &place, error))
		return false;
	if (address_set_has(survey->met, piece->extent))
		return skip(survey, ESTIMATE_BLOCK_UNKNOWN, piece->length, error);

	return note_met(survey, piece->extent, piece->extent_bytes, error) &&
	       tell_compressed(survey, piece, error) &&
	       skip(survey, ESTIMATE_BLOCK_UNKNOWN, piece->length, error);
}

static bool look_at_piece(EstimateSurvey *survey, const FilePiece *piece, GError **error)
{
	if (piece->logical > survey->next &&
	    !skip(survey, ESTIMATE_BLOCK_HOLE, piece->logical - survey->next, error))
		return false;
	if (!file_piece_is_placed(piece))
		return skip(survey, ESTIMATE_BLOCK_UNKNOWN,
			    (piece->length + survey->block_bytes - 1) / survey->block_bytes *
				    survey->block_bytes,
			    error);
	return piece->flags & PIECE_ENCODED ? look_at_compressed(survey, piece, error)
					    : look_at_plain(survey, piece, error);
}

static bool look_at_pieces(EstimateSurvey *survey, GError **error)
{
	uint64_t block = survey->block_bytes;
	uint64_t end = (survey->file->stat.size_bytes + block - 1) / block * block;
	g_autoptr(GError) unmapped = NULL;
	g_autoptr(FilePieces) pieces = file_pieces_open(survey->file, false, &unmapped);
	const FilePiece *piece;

	while (pieces && estimate_goes_on(survey->task)) {
		if (!file_pieces_next(pieces, &piece, &unmapped) || !piece)
			break;
		if (!look_at_piece(survey, piece, error))
			return false;
	}

	survey->is_unread |= unmapped != NULL;
	return end <= survey->next ||
	       skip(survey, survey->is_unread ? ESTIMATE_BLOCK_UNKNOWN : ESTIMATE_BLOCK_HOLE,
		    end - survey->next, error);
}

static void add_unread(const EstimateSurvey *survey)
{
	g_autofree char *why = g_strdup_printf("cannot read all of %s", survey->file->text);

	estimate_add_unreadable(survey->result, why);
}

bool estimate_survey_look(EstimateSurvey *survey, const NamedFile *file, GError **error)
{
	bool looked;

	survey->file = file;
	survey->n_files++;
	survey->next = 0;
	survey->is_unread = false;
	estimate_blocks_begin_file(survey->blocks);
	looked = look_at_pieces(survey, error);
	end_cluster(survey);
	if (survey->is_unread)
		add_unread(survey);
	g_clear_pointer(&survey->reader, file_reader_free);

	return looked && estimate_blocks_end_file(survey->blocks, file->stat.size_bytes, error);
}

bool estimate_survey_end(EstimateSurvey *survey, GError **error)
{
	CompressedPlace last = { 0 };
	const CompressedPlace *place;

	if (!sorter_sort(survey->compressed, error))
		return false;
	while (true) {
		if (!sorter_next(survey->compressed, (const void **)&place, error))
			return false;
		if (!place)
			return true;

		/* Files share an extent with the first one that has it.  Their numbers begin with 1. */
		if (last.file > 0 && place->address == last.address && place->file != last.file)
			survey->result->shared_bytes += place->bytes;
		last = *place;
	}
}

SampleFrame estimate_survey_frame(const EstimateSurvey *survey)
{
	return (SampleFrame){
		.fraction = survey->task->fraction,
		.squares = survey->squares,
		.total_bytes = survey->result->data_bytes,
	};
}

uint64_t estimate_survey_zeros_bytes(const EstimateSurvey *survey)
{
	return survey->zeros_bytes;
}
