/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/export/export-format.h"

#include <inttypes.h>
#include <string.h>

json_t *export_digest_new(uint64_t digest)
{
	char text[17];

	g_snprintf(text, sizeof(text), "%016" PRIx64, digest);
	return json_string(text);
}

bool export_digest_read(const json_t *json, uint64_t *ret)
{
	const char *text = json_string_value(json);

	return text && strlen(text) == 16 && g_ascii_isxdigit(text[0]) &&
	       g_ascii_string_to_unsigned(text, 16, 0, UINT64_MAX, ret, NULL);
}

bool export_refuse(GError **error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	g_propagate_error(error,
			  g_error_new_valist(G_FILE_ERROR, G_FILE_ERROR_INVAL, format, arguments));
	va_end(arguments);
	return false;
}

bool export_set_wrong(const char *name, const char *wanted, GError **error)
{
	return export_refuse(error, "\"%s\" is not %s", name, wanted);
}

bool export_number_read(const json_t *line, const char *name, uint64_t most, uint64_t *ret,
			GError **error)
{
	const json_t *value = json_object_get(line, name);
	json_int_t number = json_integer_value(value);

	*ret = (uint64_t)number;
	if (!value || (json_is_integer(value) && number >= 0 && (uint64_t)number <= most))
		return true;

	return export_refuse(error, "\"%s\" is not a whole number from 0 to %" PRIu64, name, most);
}

const char *export_text_read(const json_t *line, const char *name, GError **error)
{
	const json_t *value = json_object_get(line, name);

	if (json_is_string(value))
		return json_string_value(value);

	export_set_wrong(name, value ? "text" : "there", error);
	return NULL;
}
