/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/text/word-list.h"

#include <glib.h>
#include <stdbool.h>

char *word_list_text(const char *const *words)
{
	guint n = g_strv_length((char **)words);
	GString *list = g_string_new(words[0]);

	for (guint i = 1; i < n; i++)
		g_string_append_printf(list, "%s%s", i + 1 < n ? ", " : " or ", words[i]);
	return g_string_free(list, false);
}
