/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * racing-writers DIRECTORY SEED FIRST-NUMBER WRITERS OPERATIONS
 *
 * So many threads do so many operations each on files of their own, which they check as they go.  Then
 * "done" is printed, and nothing is held open.  For each line of standard input all is compared with
 * what it must be, and "same" is printed.
 *
 * Exits with 1, having printed why, as soon as anything is not as it must be.
 */

#include "tests/fs/programs/racing-writer.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { DIRECTORY = 1, SEED, FIRST_NUMBER, WRITERS, OPERATIONS, N_ARGUMENTS };

typedef struct {
	const char *directory;
	uint32_t seed;
	unsigned n_operations;
	const uint8_t *material;
	atomic_bool has_failed;
} Race;

typedef struct {
	Race *race;
	unsigned number;
	RacingWriter *writer;
	GThread *thread;
} Racer;

static void report(Racer *racer, const GError *error)
{
	static GMutex mutex;

	atomic_store(&racer->race->has_failed, true);
	g_mutex_lock(&mutex);
	if (racer->writer)
		racing_writer_print_last(racer->writer);
	g_printerr("seed %u, writer %u: %s\n", racer->race->seed, racer->number, error->message);
	g_mutex_unlock(&mutex);
}

static bool write_all(Racer *racer, GError **error)
{
	const Race *race = racer->race;

	racer->writer = racing_writer_new(race->directory, racer->number, race->seed,
					  race->material, error);
	if (!racer->writer)
		return false;

	for (unsigned i = 0; i < race->n_operations && !atomic_load(&race->has_failed); i++)
		if (!racing_writer_step(racer->writer, error))
			return false;
	return true;
}

static void *run(void *data)
{
	g_autoptr(GError) error = NULL;

	if (!write_all(data, &error))
		report(data, error);
	return NULL;
}

static bool check_all(Racer *racers, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		g_autoptr(GError) error = NULL;

		if (!racing_writer_check(racers[i].writer, &error)) {
			report(&racers[i], error);
			return false;
		}
	}

	return true;
}

static void say(const char *word)
{
	puts(word);
	fflush(stdout);
}

static bool race(Race *race, Racer *racers, unsigned first, unsigned n)
{
	char line[16];

	for (unsigned i = 0; i < n; i++) {
		racers[i] = (Racer){ .race = race, .number = first + i };
		racers[i].thread = g_thread_new("writer", run, &racers[i]);
	}
	for (unsigned i = 0; i < n; i++)
		g_thread_join(racers[i].thread);
	if (atomic_load(&race->has_failed) || !check_all(racers, n))
		return false;

	say("done");
	while (fgets(line, sizeof(line), stdin)) {
		if (!check_all(racers, n))
			return false;
		say("same");
	}

	return true;
}

int main(int argc, char **argv)
{
	g_autofree uint8_t *material = racing_writer_make_material();
	g_autofree Racer *racers = NULL;
	Race the_race = { .material = material };
	unsigned n;
	bool is_good;

	if (argc != N_ARGUMENTS) {
		g_printerr("usage: %s DIRECTORY SEED FIRST-NUMBER WRITERS OPERATIONS\n", argv[0]);
		return 2;
	}

	the_race.directory = argv[DIRECTORY];
	the_race.seed = (uint32_t)strtoul(argv[SEED], NULL, 10);
	the_race.n_operations = (unsigned)strtoul(argv[OPERATIONS], NULL, 10);
	n = (unsigned)strtoul(argv[WRITERS], NULL, 10);
	racers = g_new0(Racer, n);
	is_good = race(&the_race, racers, (unsigned)strtoul(argv[FIRST_NUMBER], NULL, 10), n);
	for (unsigned i = 0; i < n; i++)
		racing_writer_free(racers[i].writer);
	return is_good ? 0 : 1;
}
