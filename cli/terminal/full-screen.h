/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>

/*
 * FullScreen - the terminal as one page that is drawn anew in place, and as it was before afterwards.
 *
 * It is the terminal's other page, without a cursor; what is typed is not shown.
 *
 * Thread: main.
 */
typedef struct FullScreen FullScreen;

/* Whether standard output is a terminal that can do that. */
bool full_screen_can_be(void);

FullScreen *full_screen_new(void);

/* Leaves it. */
void full_screen_free(FullScreen *screen);

/* To be undone and done again as the program is stopped and goes on. */
void full_screen_enter(FullScreen *screen);
void full_screen_leave(FullScreen *screen);

/* The lines fit, and are NULL-terminated. */
void full_screen_draw(FullScreen *screen, char *const *lines);
