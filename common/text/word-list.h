/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stddef.h>

/*
 * The alternatives as a text for people: "auto, hole or keep".  @words is NULL-terminated and has at least
 * one.  To be freed.
 *
 * Thread: any.
 */
char *word_list_text(const char *const *words);

/* Compare texts by their bytes, for g_ptr_array_sort(): @a and @b are pointers to pointers. */
int word_compare(const void *a, const void *b);

/*
 * The one of @n_words words that the user probably meant by @typed; NULL: none is near.
 *
 * It is a word that begins with @typed, else the one with the fewest edits.  An edit inserts, removes,
 * replaces or swaps letters, and one is allowed per three letters typed.  Words of more than 32 letters are
 * ignored.
 *
 * Thread: any.
 */
const char *nearest_word(const char *typed, const char *const *words, size_t n_words);
