/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/content/object-sums.h"
#include "daemon/fingerprint/stand-ins.h"
#include "hashstore/hash-store.h"

/*
 * AnchorWriter - puts the anchors and runs of zeros of one object after another into the store.
 *
 * ObjectSums cannot be told that the store failed, so the writer keeps the first error until it is taken.
 *
 * Thread: the filesystem's worker.
 */
typedef struct {
	HashStore *store; /* borrowed */
	uint32_t object;  /* that the anchors belong to */
	StandIns *stands; /* borrowed; says which anchors are left out; NULL: none */
	uint32_t anchor_blocks;
	GError *failed;
} AnchorWriter;

/* The sink to give to ObjectSums. */
ObjectSumsSink anchor_sink(AnchorWriter *sink);

/* False, with the error, if something could not be put since the last call. */
bool anchor_writer_take_error(AnchorWriter *sink, GError **error) G_GNUC_WARN_UNUSED_RESULT;
