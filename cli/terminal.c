/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/terminal.h"

#include <glib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define WIDTH_USUAL 80
#define WIDTH_LEAST 20
#define WIDTH_MOST  1000

#define HEIGHT_USUAL 24
#define HEIGHT_LEAST 2

unsigned terminal_width(void)
{
	const char *columns = g_getenv("COLUMNS");
	struct winsize size;
	guint64 width;

	if (columns && g_ascii_string_to_unsigned(columns, 10, 1, WIDTH_MOST, &width, NULL))
		return (unsigned)MAX(width, WIDTH_LEAST);
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return CLAMP(size.ws_col, WIDTH_LEAST, WIDTH_MOST);
	return WIDTH_USUAL;
}

unsigned terminal_height(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0)
		return MAX(size.ws_row, HEIGHT_LEAST);
	return HEIGHT_USUAL;
}

bool terminal_takes_utf8(void)
{
	return isatty(STDOUT_FILENO) && g_get_charset(NULL);
}

bool terminal_takes_colours(void)
{
	const char *no_colour = g_getenv("NO_COLOR");
	const char *kind = g_getenv("TERM");

	return isatty(STDOUT_FILENO) && (!no_colour || no_colour[0] == '\0') && kind &&
	       kind[0] != '\0' && g_strcmp0(kind, "dumb") != 0;
}
