/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/terminal/bytes-text.h"

#include "common/text/size-text.h"

char *bytes_text(uint64_t bytes, bool in_bytes)
{
	return in_bytes ? g_strdup_printf("%" G_GUINT64_FORMAT, bytes) : size_text(bytes);
}

char *bytes_text_with_unit(uint64_t bytes, bool in_bytes)
{
	return in_bytes ? g_strdup_printf("%" G_GUINT64_FORMAT " B", bytes) : size_text(bytes);
}
