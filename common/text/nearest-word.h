/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stddef.h>

/*
 * The one of @n_words words that @typed was most likely meant to be: one that begins with it, else the
 * one, out of those of at most 32 letters, with the fewest letters inserted, left out, replaced or
 * swapped, at most one for three letters typed.  NULL when none is near.
 *
 * Thread: any.
 */
const char *nearest_word(const char *typed, const char *const *words, size_t n_words);
