/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * The directories of the running system whose files boot loaders may read by block address: /boot, /boot/efi and
 * /efi.
 *
 * The pass skips them under any name, unless the user named them.
 *
 * Thread: any.
 */
#define BOOT_DIRECTORIES 3

/* Open the one with @number as O_PATH, which does not trigger an automount.  -1: none. */
int boot_directory_open(size_t number);

/* Whether the absolute @path is the one with @number, or lies in it, by its name. */
bool boot_directory_is_named(size_t number, const char *path);
