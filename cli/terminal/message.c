/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/terminal/message.h"

#include "common/config/config.h"
#include "common/text/name-text.h"

#include <stdio.h>
#include <string.h>

char *message_text(const char *text)
{
	if (!text)
		return g_strdup("");

	/* With the backslashes out of the way, any change is a character that needed escaping. */
	g_autofree char *plain = g_strdelimit(g_strdup(text), "\\", '/');
	g_autofree char *escaped = name_text(plain, strlen(plain));

	if (strcmp(plain, escaped) == 0)
		return g_strdup(text);
	return name_text(text, strlen(text));
}

char *message_terminal_text(const char *text)
{
	g_autofree char *safe = message_text(text);

	if (g_get_charset(NULL))
		return g_steal_pointer(&safe);

	GString *ascii = g_string_new(NULL);
	for (const char *at = safe; *at; at++) {
		if ((unsigned char)*at < 0x80)
			g_string_append_c(ascii, *at);
		else
			g_string_append_printf(ascii, "\\x%02x", (unsigned char)*at);
	}
	return g_string_free(ascii, FALSE);
}

char *message_join(const char *const *texts, size_t n, const char *separator)
{
	GString *joined = g_string_new(NULL);

	for (size_t i = 0; i < n; i++) {
		g_autofree char *text = message_text(texts[i]);

		g_string_append_printf(joined, "%s%s", i > 0 ? separator : "", text);
	}
	return g_string_free(joined, FALSE);
}

/* NULL: nothing is kept. */
static GString *held;

G_GNUC_PRINTF(1, 0) static void print(const char *format, va_list arguments)
{
	g_autofree char *message = g_strdup_vprintf(format, arguments);
	g_autofree char *text = message_terminal_text(message);

	if (held)
		g_string_append_printf(held, "dedupctl: %s\n", text);
	else
		fprintf(stderr, "dedupctl: %s\n", text);
}

void message_print(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	print(format, arguments);
	va_end(arguments);
}

ExitStatus message_fail(ExitStatus status, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	print(format, arguments);
	va_end(arguments);
	return status;
}

void message_print_error(const GError *error)
{
	/* Names in it are escaped already, so that each line is one. */
	if (g_error_matches(error, CONFIG_ERROR, CONFIG_ERROR_WRONG))
		message_print_lines(error->message);
	else
		message_print("%s", error->message);
}

ExitStatus message_fail_error(const GError *error)
{
	message_print_error(error);
	return EXIT_STATUS_FAILED;
}

void message_print_lines(const char *text)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

	for (char **line = lines; *line; line++)
		message_print("%s", *line);
}

void message_hold(void)
{
	held = g_string_new(NULL);
}

void message_release(void)
{
	fputs(held->str, stderr);
	g_string_free(g_steal_pointer(&held), TRUE);
}
