/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/fuzz/fuzz.h"

#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SEED        1959
#define ROUNDS      3000
#define ROUNDS_USEC (3 * G_USEC_PER_SEC)
#define BYTES_MAX   4096

/* Of an input that is nothing but choices. */
#define CHOICES_MAX 1024

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

/* Choices, of which few make a small structure and the first ones matter most. */
static void choose(GRand *rand, GByteArray *input)
{
	guint length = 1 + g_rand_int(rand) % (1 + g_rand_int(rand) % CHOICES_MAX);

	g_byte_array_set_size(input, length);
	for (guint i = 0; i < length; i++)
		input->data[i] = (uint8_t)g_rand_int(rand);
}

/* ROUNDS inputs, or as many as there is time for. */
static void run_made(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(SEED);
	g_autoptr(GByteArray) input = g_byte_array_new();
	int64_t end_usec = g_get_monotonic_time() + ROUNDS_USEC;

	run("", 0);
	for (size_t i = 0; fuzz_seeds[i]; i++)
		run(fuzz_seeds[i], strlen(fuzz_seeds[i]));

	for (int i = 0; i < ROUNDS && g_get_monotonic_time() < end_usec; i++) {
		if (i % 20 == 0)
			g_byte_array_set_size(input, 0);
		if (fuzz_seeds[0])
			mutate(rand, input);
		else
			choose(rand, input);
		run(input->data, input->len);
	}
}

static bool run_file(const char *path)
{
	g_autofree char *content = NULL;
	g_autoptr(GError) error = NULL;
	gsize size;

	if (!g_file_get_contents(path, &content, &size, &error)) {
		fprintf(stderr, "%s\n", error->message);
		return false;
	}
	run(content, size);
	return true;
}

static bool run_directory(GDir *directory, const char *path)
{
	const char *name;

	while ((name = g_dir_read_name(directory))) {
		g_autofree char *file = g_build_filename(path, name, NULL);

		if (!run_file(file))
			return false;
	}

	return true;
}

int main(int argc, char **argv)
{
	bool makes = argc == 1;

	/* Stores are made by the hundred: in memory where that is possible. */
	if (access("/dev/shm", W_OK) == 0)
		g_setenv("TMPDIR", "/dev/shm", false);
	for (int i = 1; i < argc; i++) {
		g_autoptr(GDir) directory = g_dir_open(argv[i], 0, NULL);

		makes |= directory != NULL;
		if (!(directory ? run_directory(directory, argv[i]) : run_file(argv[i])))
			return 1;
	}

	if (makes)
		run_made();
	return 0;
}
