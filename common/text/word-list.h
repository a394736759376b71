/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * The alternatives as a text for people: "auto, hole or keep".  @words is NULL-terminated and has at least
 * one.  To be freed.
 *
 * Thread: any.
 */
char *word_list_text(const char *const *words);
