/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/estimate-table.h"

/*
 * The curves of an estimate as a drawing.
 *
 * Thread: main.
 */

/* On standard output. */
void estimate_drawing_print(const EstimateSubject *subject, const Estimate *estimate);

/* As SVG: the text of the file, to be freed. */
char *estimate_drawing_svg(const EstimateSubject *subject, const Estimate *estimate);
