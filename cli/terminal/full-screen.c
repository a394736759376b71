/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/terminal/full-screen.h"

#include "cli/terminal/terminal.h"

#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

/* ECMA-48, and the private modes of xterm that all terminals have since. */
#define OTHER_PAGE  "\033[?1049h"
#define FIRST_PAGE  "\033[?1049l"
#define HIDE_CURSOR "\033[?25l"
#define SHOW_CURSOR "\033[?25h"
#define NO_WRAP     "\033[?7l"
#define WRAP        "\033[?7h"
#define TO_TOP      "\033[H"
#define ERASE_LINE  "\033[K"
#define ERASE_BELOW "\033[J"

struct FullScreen {
	bool is_entered;
	bool has_mode; /* of the terminal that is typed on */
	struct termios mode;
};

bool full_screen_can_be(void)
{
	return terminal_moves_cursor();
}

FullScreen *full_screen_new(void)
{
	FullScreen *screen = g_new0(FullScreen, 1);

	full_screen_enter(screen);
	return screen;
}

void full_screen_enter(FullScreen *screen)
{
	struct termios quiet;

	if (screen->is_entered)
		return;

	screen->is_entered = true;
	screen->has_mode = tcgetattr(STDIN_FILENO, &screen->mode) == 0;
	if (screen->has_mode) {
		quiet = screen->mode;
		quiet.c_lflag &= ~(tcflag_t)(ECHO | ICANON);
		tcsetattr(STDIN_FILENO, TCSANOW, &quiet);
	}
	fputs(OTHER_PAGE HIDE_CURSOR NO_WRAP, stdout);
	fflush(stdout);
}

void full_screen_leave(FullScreen *screen)
{
	if (!screen->is_entered)
		return;

	screen->is_entered = false;
	fputs(WRAP SHOW_CURSOR FIRST_PAGE, stdout);
	fflush(stdout);
	if (screen->has_mode)
		tcsetattr(STDIN_FILENO, TCSANOW, &screen->mode);
}

void full_screen_free(FullScreen *screen)
{
	if (!screen)
		return;

	full_screen_leave(screen);
	g_free(screen);
}

void full_screen_draw(FullScreen *screen, char *const *lines)
{
	g_autoptr(GString) page = g_string_new(TO_TOP);

	if (!screen->is_entered)
		return;
	/* No end of line after the last: a page that is full would move up. */
	for (size_t i = 0; lines[i]; i++)
		g_string_append_printf(page, "%s%s" ERASE_LINE, i > 0 ? "\r\n" : "", lines[i]);
	g_string_append(page, ERASE_BELOW);
	fwrite(page->str, 1, page->len, stdout);
	fflush(stdout);
}
