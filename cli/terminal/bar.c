/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/terminal/bar.h"

#define EIGHTHS 8

char *bar_text(uint64_t value, uint64_t largest, unsigned width, bool utf8)
{
	static const char *const ends[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	const unsigned grain = utf8 ? EIGHTHS : 1;
	GString *bar = g_string_new(NULL);
	unsigned length;

	if (value == 0)
		return g_string_free(bar, FALSE);

	length = (unsigned)((double)value / (double)largest * width * grain + 0.5);
	length = MAX(length, 1);
	for (unsigned i = 0; i < length / grain; i++)
		g_string_append(bar, utf8 ? "█" : "#");
	g_string_append(bar, ends[length % grain]);
	return g_string_free(bar, FALSE);
}
