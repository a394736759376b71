/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * The words of which one would be right, as a text for people: "auto, hole or keep".
 *
 * @words is NULL-terminated and has one at least.  Thread: any.
 */
char *word_list_text(const char *const *words);
