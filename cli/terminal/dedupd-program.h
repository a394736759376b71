/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * The path of dedupd: beside this dedupctl, in the tree in which both were built, or in the
 * directory chosen at build time.  To be freed with g_free(); NULL: there is none.
 *
 * Thread: any.
 */
char *dedupd_program_find(void);
