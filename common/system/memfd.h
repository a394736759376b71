/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Memfd - a text for another process as a descriptor, which the process may read slowly, and nobody can
 * change.
 *
 * Thread: any.
 */

/* A descriptor at the begin of @text, to be closed; negative errno. */
int memfd_new(const char *text);

/* Another descriptor of the same file, with a position of its own; negative errno. */
int memfd_reopen(int fd);
