/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Where dedupd is: beside this dedupctl as both are installed, in the same directory, in the
 * tree that both were built in, or where they were built to be installed.  To be freed with g_free(); NULL: there is none.
 *
 * Thread: any.
 */
char *dedupd_program_find(void);
