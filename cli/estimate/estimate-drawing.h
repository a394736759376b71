/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/estimate/estimate-table.h"

/*
 * What fixed blocks of each size would free, as a drawing on standard output.
 *
 * Thread: main.
 */
void estimate_drawing_print(const EstimateSubject *subject, const Estimate *estimate);
