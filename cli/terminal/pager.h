/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Pager - a program that shows what is printed page by page, as systemctl has it.
 *
 * $DEDUPCTL_PAGER says which, else $PAGER, else one that is installed; "" and "cat" are none.  less is
 * told to end at once where all fits on the screen ($DEDUPCTL_LESS has it do otherwise), and to start no
 * other programs, as it may be root's: with rights that were lent by sudo or pkexec it alone is used.
 *
 * Thread: main.
 */
typedef struct Pager Pager;

/*
 * From now on standard output is what the pager shows, and messages wait until it has ended.  NULL:
 * standard output is no terminal that can be paged on, or there is no pager.
 */
Pager *pager_start(void);

/* Wait until who reads has seen enough. */
void pager_finish(Pager *pager);
