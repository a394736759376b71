/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/fuzz/choices.h"

#include <glib.h>
#include <string.h>

/* One field in so many is damaged. */
#define DAMAGE_EVERY 12

#define DAMAGES_MAX 4

Choices choices_begin(const uint8_t *data, size_t size)
{
	Choices choices = { .data = data, .size = size };

	choices.n_damages = (unsigned)choices_below(&choices, DAMAGES_MAX + 1);
	return choices;
}

bool choices_are_left(const Choices *choices)
{
	return choices->at < choices->size;
}

static uint8_t next_byte(Choices *choices)
{
	return choices_are_left(choices) ? choices->data[choices->at++] : 0;
}

uint64_t choices_below(Choices *choices, uint64_t n)
{
	uint64_t number = 0;

	for (uint64_t most = n - 1; most > 0; most >>= 8)
		number = number << 8 | next_byte(choices);
	return number % n;
}

uint64_t choices_from(Choices *choices, uint64_t least, uint64_t most)
{
	uint64_t n = most - least + 1;

	return n == 0 ? choices_below(choices, UINT64_MAX) : least + choices_below(choices, n);
}

bool choices_yes(Choices *choices)
{
	return next_byte(choices) & 1;
}

uint64_t choices_edge(Choices *choices)
{
	uint8_t kind = next_byte(choices);
	uint64_t near = (uint64_t)(kind >> 2 & 3) - 1;

	switch (kind & 3) {
	case 0:
		return next_byte(choices);
	case 1:
		return (UINT64_C(1) << (next_byte(choices) & 63)) + near;
	case 2:
		return near - 1 - next_byte(choices) / 16 * 4096;
	default:
		return choices_below(choices, UINT64_MAX);
	}
}

bool choices_damage(Choices *choices)
{
	if (choices->n_damages == 0 || !choices_are_left(choices) ||
	    next_byte(choices) % DAMAGE_EVERY != DAMAGE_EVERY - 1)
		return false;

	choices->n_damages--;
	return true;
}

uint64_t choices_number(Choices *choices, uint64_t valid)
{
	if (!choices_damage(choices))
		return valid;
	switch (choices_below(choices, 4)) {
	case 0:
		return valid + choices_from(choices, 0, 16) - 8;
	case 1:
		return valid ^ UINT64_C(1) << choices_below(choices, 64);
	default:
		return choices_edge(choices);
	}
}

void choices_bytes(Choices *choices, void *bytes, size_t size)
{
	uint8_t *at = bytes;

	if (size == 0 || !choices_damage(choices))
		return;
	at += choices_below(choices, size);
	*at ^= (uint8_t)(1 + choices_below(choices, 255));
}

size_t choices_take(Choices *choices, void *ret, size_t size)
{
	size_t n = MIN(size, choices->size - choices->at);

	if (n > 0)
		memcpy(ret, choices->data + choices->at, n);
	choices->at += n;
	return n;
}
