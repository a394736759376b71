/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/text/usage-error.h"

bool usage_error_set(GError **error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	g_propagate_error(error, g_error_new_valist(G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
						    format, arguments));
	va_end(arguments);
	return false;
}
