/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>

/*
 * FullScreen - the terminal as one page that is redrawn in place.  The previous contents are restored
 * afterwards.
 *
 * It uses the terminal's alternate screen, without cursor and without echo.
 *
 * Thread: main.
 */
typedef struct FullScreen FullScreen;

/* Whether standard output is a terminal with this ability. */
bool full_screen_can_be(void);

FullScreen *full_screen_new(void);

/* Leaves the page. */
void full_screen_free(FullScreen *screen);

/* Leave the page when the program is stopped, and enter it again when it continues. */
void full_screen_enter(FullScreen *screen);
void full_screen_leave(FullScreen *screen);

/* The lines must fit, and are NULL-terminated. */
void full_screen_draw(FullScreen *screen, char *const *lines);
