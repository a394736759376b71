/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/estimate/address-set.h"
#include "cli/estimate/estimate-blocks.h"
#include "cli/estimate/estimate-files.h"
#include "common/disks/throttle.h"

/*
 * EstimateSurvey - looks at the blocks of files, one file after another: reads them, or their checksums,
 * and tells what they are.  A block of the disk is looked at where it is met first.
 *
 * Where only a sample is read, that is a share of the pieces of 1 MiB of all files, chosen by a hash of
 * inode and offset.  The disks' budgets hold for what is read, and nothing is left in the page cache.
 *
 * Thread: one at a time.
 */
typedef struct EstimateSurvey EstimateSurvey;

/* All is borrowed.  What is looked at is added to @met. */
EstimateSurvey *estimate_survey_new(const EstimateTask *task, Throttle *throttle,
				    EstimateBlocks *blocks, AddressSet *met, Estimate *result,
				    GError **error);
void estimate_survey_free(EstimateSurvey *survey);

/*
 * Look at one file.  One that cannot be read is counted, and left alone from there on.
 */
bool estimate_survey_look(EstimateSurvey *survey, const NamedFile *file, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* All files were looked at: what compressed extents share is counted now. */
bool estimate_survey_end(EstimateSurvey *survey, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* What the sample was taken from. */
SampleFrame estimate_survey_frame(const EstimateSurvey *survey);

/* Zeros that were seen. */
uint64_t estimate_survey_zeros_bytes(const EstimateSurvey *survey);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(EstimateSurvey, estimate_survey_free)
