/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Pager - a program that shows the output page by page, as in systemctl.
 *
 * $DEDUPCTL_PAGER names the program, else $PAGER; else an installed one is used.  "" and "cat" mean none. less
 * is told to end at once if all fits on the screen, unless $DEDUPCTL_LESS says otherwise.  It is also told to
 * start no other programs, since it may run as root.  With rights lent by sudo or pkexec, only less is used.
 *
 * Thread: main.
 */
typedef struct Pager Pager;

/*
 * Send standard output to a pager from now on; messages wait until it has ended.  NULL: standard output is not
 * a terminal suited to paging, or there is no pager.
 */
Pager *pager_start(void);

/* Wait until the user ends the pager. */
void pager_finish(Pager *pager);
