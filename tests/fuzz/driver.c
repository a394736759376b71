/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/fuzz/fuzz.h"

#include <glib.h>
#include <stdio.h>
#include <string.h>

#define SEED      1959
#define ROUNDS    3000
#define BYTES_MAX 4096

/* The input as an allocation of its own size, so that reading behind it shows. */
static void run(const void *data, size_t size)
{
	g_autofree uint8_t *copy = g_malloc(MAX(size, 1));

	memcpy(copy, data, size);
	LLVMFuzzerTestOneInput(copy, size);
}

static const char *any_seed(GRand *rand)
{
	size_t n = 0;

	while (fuzz_seeds[n])
		n++;
	return n ? fuzz_seeds[g_rand_int(rand) % n] : "";
}

static void add_noise(GRand *rand, GByteArray *input)
{
	guint length = 1 + g_rand_int(rand) % 40;

	for (guint i = 0; i < length; i++) {
		uint8_t byte = (uint8_t)g_rand_int(rand);

		g_byte_array_append(input, &byte, 1);
	}
}

static void add_again(GRand *rand, GByteArray *input)
{
	guint from = g_rand_int(rand) % input->len;
	guint length = 1 + g_rand_int(rand) % (input->len - from);
	g_autofree uint8_t *piece = g_memdup2(input->data + from, length);

	g_byte_array_append(input, piece, length);
}

/* Change the input a little in one of a few ways. */
static void mutate(GRand *rand, GByteArray *input)
{
	const char *seed = any_seed(rand);
	guint at = input->len ? g_rand_int(rand) % input->len : 0;

	switch (input->len ? g_rand_int(rand) % 7 : g_rand_int(rand) % 2) {
	case 0:
		g_byte_array_append(input, (const guint8 *)seed, (guint)strlen(seed));
		break;
	case 1:
		add_noise(rand, input);
		break;
	case 2:
		input->data[at] = (uint8_t)g_rand_int(rand);
		break;
	case 3:
		input->data[at] ^= (uint8_t)(1u << g_rand_int(rand) % 8);
		break;
	case 4:
		g_byte_array_remove_index(input, at);
		break;
	case 5:
		g_byte_array_set_size(input, at);
		break;
	default:
		add_again(rand, input);
	}

	if (input->len > BYTES_MAX)
		g_byte_array_set_size(input, BYTES_MAX);
}

static void run_made(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(SEED);
	g_autoptr(GByteArray) input = g_byte_array_new();

	run("", 0);
	for (size_t i = 0; fuzz_seeds[i]; i++)
		run(fuzz_seeds[i], strlen(fuzz_seeds[i]));

	for (int i = 0; i < ROUNDS; i++) {
		if (i % 20 == 0)
			g_byte_array_set_size(input, 0);
		mutate(rand, input);
		run(input->data, input->len);
	}
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		g_autofree char *content = NULL;
		g_autoptr(GError) error = NULL;
		gsize size;

		if (!g_file_get_contents(argv[i], &content, &size, &error)) {
			fprintf(stderr, "%s\n", error->message);
			return 1;
		}
		run(content, size);
	}

	if (argc == 1)
		run_made();
	return 0;
}
