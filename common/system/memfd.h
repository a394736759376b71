/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Memfd - a text that is handed to another process as a descriptor, to be read however slowly;
 * nobody can change it any more.
 *
 * Thread: any.
 */

/* A descriptor at the beginning of @text, to be closed; negative errno. */
int memfd_new(const char *text);

/* Another one of the same file, which is read independently; negative errno. */
int memfd_reopen(int fd);
