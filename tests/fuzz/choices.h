/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Choices - a fuzzer's input, read as a sequence of choices.
 *
 * A target builds a valid structure from them and damages a few of its fields, so that inputs get past the
 * first check.  The first byte says how many fields may be damaged; 0 leaves the structure valid.  Every choice
 * is 0, and nothing is damaged, when the input is at its end: loops that ask for more come to their end.
 *
 * Thread: main.
 */
typedef struct {
	const uint8_t *data;
	size_t size;
	size_t at;
	unsigned n_damages; /* that may still be done */
} Choices;

Choices choices_begin(const uint8_t *data, size_t size);

/* Whether the input has more. */
bool choices_are_left(const Choices *choices);

/* From 0 to @n - 1; @n is not 0. */
uint64_t choices_below(Choices *choices, uint64_t n);

/* From @least to @most, both included. */
uint64_t choices_from(Choices *choices, uint64_t least, uint64_t most);

bool choices_yes(Choices *choices);

/* A number at an edge: small, near a power of two, near the largest one; or any. */
uint64_t choices_edge(Choices *choices);

/* Whether to damage the field in hand: seldom, and never more often than the input's first byte allows. */
bool choices_damage(Choices *choices);

/* @valid, or, if it is damaged, another number: near it or at an edge. */
uint64_t choices_number(Choices *choices, uint64_t valid);

/* Damage @size bytes at one place, or leave them. */
void choices_bytes(Choices *choices, void *bytes, size_t size);

/* Copy as many bytes of the input as there are, @size at most; returns how many. */
size_t choices_take(Choices *choices, void *ret, size_t size);
