/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/estimate/address-set.h"
#include "cli/estimate/estimate-blocks.h"
#include "cli/estimate/estimate-files.h"

/*
 * EstimateSurvey - examines the blocks of files, one file after another: it reads them, or their checksums, and
 * classifies them.  A block of the disk is examined where it is met first.
 *
 * A sample is a share of the 1 MiB pieces of all files, chosen by a hash of inode and offset.  The disks'
 * budgets limit the reads, and no data is left in the page cache.
 *
 * Thread: one at a time.
 */
typedef struct EstimateSurvey EstimateSurvey;

/* All pointers are borrowed.  Examined blocks are added to @met. */
EstimateSurvey *estimate_survey_new(const EstimateTask *task, EstimateBlocks *blocks,
				    AddressSet *met, Estimate *result, GError **error);
void estimate_survey_free(EstimateSurvey *survey);

/* Examine one file.  If it cannot be read, it is counted, and the rest of it is skipped. */
bool estimate_survey_look(EstimateSurvey *survey, const NamedFile *file, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Call this after all files.  It counts what compressed extents share. */
bool estimate_survey_end(EstimateSurvey *survey, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The data from which the sample was taken. */
SampleFrame estimate_survey_frame(const EstimateSurvey *survey);

/* The zeros found. */
uint64_t estimate_survey_zeros_bytes(const EstimateSurvey *survey);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(EstimateSurvey, estimate_survey_free)
