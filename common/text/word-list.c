/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/text/word-list.h"

#include <glib.h>
#include <stdbool.h>
#include <string.h>

#define WORD_MAX 32

/* The edits from @a to @b, including swaps of neighbours (optimal string alignment). */
static unsigned count_edits(const char *a, const char *b)
{
	unsigned edits[WORD_MAX + 1][WORD_MAX + 1];
	size_t n_a = strlen(a), n_b = strlen(b);

	for (size_t i = 0; i <= n_a; i++)
		edits[i][0] = (unsigned)i;
	for (size_t j = 0; j <= n_b; j++)
		edits[0][j] = (unsigned)j;

	for (size_t i = 1; i <= n_a; i++) {
		for (size_t j = 1; j <= n_b; j++) {
			bool differs = a[i - 1] != b[j - 1];
			unsigned least = MIN(edits[i - 1][j], edits[i][j - 1]) + 1;

			least = MIN(least, edits[i - 1][j - 1] + differs);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				least = MIN(least, edits[i - 2][j - 2] + 1);
			edits[i][j] = least;
		}
	}

	return edits[n_a][n_b];
}

const char *nearest_word(const char *typed, const char *const *words, size_t n_words)
{
	const char *nearest = NULL;
	size_t length = strlen(typed);
	unsigned least = (unsigned)MAX(length / 3, 1) + 1;

	if (length > WORD_MAX)
		return NULL;

	for (size_t i = 0; i < n_words; i++)
		if (length > 0 && strncmp(words[i], typed, length) == 0)
			return words[i];

	for (size_t i = 0; i < n_words; i++) {
		unsigned edits;

		if (strlen(words[i]) > WORD_MAX)
			continue;
		edits = count_edits(typed, words[i]);
		if (edits >= least)
			continue;
		least = edits;
		nearest = words[i];
	}

	return nearest;
}

char *word_list_text(const char *const *words)
{
	guint n = g_strv_length((char **)words);
	GString *list = g_string_new(words[0]);

	for (guint i = 1; i < n; i++)
		g_string_append_printf(list, "%s%s", i + 1 < n ? ", " : " or ", words[i]);
	return g_string_free(list, false);
}

int word_compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}
