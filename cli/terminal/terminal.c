/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/terminal/terminal.h"

#include "kernel-ioctl/call/fd.h"

#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define WIDTH_USUAL 80
#define WIDTH_LEAST 20
#define WIDTH_MOST  1000

#define HEIGHT_USUAL 24
#define HEIGHT_LEAST 2

/* The terminal where the output ends up. */
static int screen_fd = STDOUT_FILENO;

bool terminal_is(void)
{
	return isatty(screen_fd);
}

bool terminal_moves_cursor(void)
{
	const char *kind = g_getenv("TERM");

	return terminal_is() && kind && kind[0] != '\0' && strcmp(kind, "dumb") != 0;
}

bool terminal_can_page(void)
{
	return terminal_moves_cursor() && isatty(STDIN_FILENO);
}

void terminal_keep(void)
{
	screen_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

void terminal_give_back(void)
{
	dup2(screen_fd, STDOUT_FILENO);
	fd_close(&screen_fd);
	screen_fd = STDOUT_FILENO;
}

unsigned terminal_width(void)
{
	const char *columns = g_getenv("COLUMNS");
	struct winsize size;
	guint64 width;

	if (columns && g_ascii_string_to_unsigned(columns, 10, 1, WIDTH_MOST, &width, NULL))
		return (unsigned)MAX(width, WIDTH_LEAST);
	if (ioctl(screen_fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return CLAMP(size.ws_col, WIDTH_LEAST, WIDTH_MOST);
	return WIDTH_USUAL;
}

unsigned terminal_height(void)
{
	struct winsize size;

	if (ioctl(screen_fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 0)
		return MAX(size.ws_row, HEIGHT_LEAST);
	return HEIGHT_USUAL;
}

bool terminal_takes_utf8(void)
{
	return terminal_is() && g_get_charset(NULL);
}

bool terminal_takes_colours(void)
{
	const char *no_colour = g_getenv("NO_COLOR");

	return terminal_moves_cursor() && (!no_colour || no_colour[0] == '\0');
}
